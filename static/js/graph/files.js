// The picture as a file.

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
const places = (number) => number.toFixed(1);

/** All of it, as text that scales. */
export function svg(cy, { ink, soft, edge, panel }) {
  const box = cy.elements().boundingBox();
  const lines = cy.edges().map((each) => {
    const [from, to] = [each.source().position(), each.target().position()];
    const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
    return `<line x1="${places(from.x)}" y1="${places(from.y)}" x2="${places(to.x)}" y2="${places(to.y)}" stroke="${edge}" stroke-width="${places(each.data("width"))}" marker-end="url(#to)"/>
<text x="${places(x)}" y="${places(y)}" fill="${soft}" font-size="9" text-anchor="middle">${escaped(each.data("label"))}</text>`;
  });
  const circles = cy.nodes().map((each) => {
    const { x, y } = each.position();
    const { size, color, words } = each.data();
    return `<circle cx="${places(x)}" cy="${places(y)}" r="${places(size / 2)}" fill="${color}" fill-opacity="0.25" stroke="${color}" stroke-width="2"/>
<text x="${places(x)}" y="${places(y + size / 2 + 13)}" fill="${ink}" font-size="11" text-anchor="middle">${escaped(words)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${[box.x1 - 20, box.y1 - 20, box.w + 40, box.h + 40].map(places).join(" ")}" font-family="sans-serif">
<defs><marker id="to" viewBox="0 0 8 8" refX="14" refY="4" markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0 8 4 0 8Z" fill="${edge}"/></marker></defs>
<rect x="${places(box.x1 - 20)}" y="${places(box.y1 - 20)}" width="100%" height="100%" fill="${panel}"/>
${[...lines, ...circles].join("\n")}
</svg>`;
}

export function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
