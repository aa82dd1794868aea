// The picture as a file: what cytoscape.js has drawn, with its places, bends and colours.

import { LINE } from "./arrange.js";

const MARGIN = 30;
const MOST_PIXELS = 8000; // of a side: browsers have no larger canvas everywhere
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
const point = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
const between = (one, other) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });

/** All of it, as text that scales. */
export function svg(cy, panel) {
  const { x1, y1, w, h } = cy.elements().boundingBox();
  const [x, y, width, height] = [x1 - MARGIN, y1 - MARGIN, w + 2 * MARGIN, h + 2 * MARGIN].map(Math.round);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${x} ${y} ${width} ${height}"
  font-family="Helvetica Neue, Helvetica, Arial, sans-serif" text-anchor="middle" stroke-linejoin="round">
<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${panel}"/>
${[...cy.edges().map(line), ...cy.nodes().map(circle)].join("\n")}
</svg>`;
}

function stroke(element, kind, width) {
  const dashes = element.style(`${kind}-style`) === "dashed" ? element.style(`${kind}-dash-pattern`) : "none";
  return `stroke="${element.style(`${kind}-color`)}" stroke-width="${width}" stroke-dasharray="${dashes}"`;
}

/** An edge with its arrow head, in whose middle the line ends. */
function line(edge) {
  const [bends, from, tip] = [edge.controlPoints() ?? [], edge.sourceEndpoint(), edge.targetEndpoint()];
  const last = bends.at(-1) ?? from;
  const long = Math.hypot(tip.x - last.x, tip.y - last.y) || 1;
  const [x, y] = [(tip.x - last.x) / long, (tip.y - last.y) / long]; // where it goes at its end
  const width = edge.numericStyle("width");
  const head = 0.3 * edge.numericStyle("arrow-scale") * Math.max(29, (13.37 * width) ** 0.9); // as cytoscape.js draws it
  const back = (much, aside) => ({ x: tip.x - head * (much * x + aside * y), y: tip.y - head * (much * y - aside * x) });
  const end = back(0.5, 0);
  const curves = bends.map((bend, place) => `Q${point(bend)} ${point(place + 1 < bends.length ? between(bend, bends[place + 1]) : end)}`);
  const path = `M${point(from)}${curves.join("") || `L${point(end)}`}`;
  return `<path d="${path}" fill="none" ${stroke(edge, "line", width)} stroke-opacity="${edge.style("line-opacity")}"/>
<path d="M${point(tip)}L${point(back(1, 0.5))}L${point(back(1, -0.5))}Z" fill="${edge.style("target-arrow-color")}"/>
${words(edge, edge.midpoint(), 3)}`;
}

function circle(node) {
  const { x, y } = node.position();
  const radius = node.data("size") / 2;
  const place = `cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius.toFixed(1)}"`;
  return `<circle ${place} fill="${node.style("background-color")}" ${stroke(node, "border", node.numericStyle("border-width"))}/>
${words(node, { x, y: y + radius }, LINE)}`;
}

/** What stands at a node or an edge, with what sets it off from lines; the first line so much below a point. */
function words(element, { x, y }, below) {
  const lines = element.data(element.isNode() ? "words" : "label").split("\n");
  const spans = lines.map((each, place) => `<tspan x="${x.toFixed(1)}" y="${(y + below + place * LINE).toFixed(1)}">${escaped(each)}</tspan>`);
  const halo = `stroke="${element.style("text-outline-color")}" stroke-width="4" paint-order="stroke"`;
  return `<text font-size="${element.numericStyle("font-size")}" fill="${element.style("color")}" ${halo}>${spans.join("")}</text>`;
}

/** The same in pixels, two for each of the picture's if that is possible. */
export async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.min(2, MOST_PIXELS / Math.max(image.width, image.height));
  const canvas = Object.assign(document.createElement("canvas"), { width: scale * image.width, height: scale * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((taken) => canvas.toBlob(taken));
}

export function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
