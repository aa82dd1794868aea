// Layers over the text. What is drawn stands in a group for each line and stays as long as it would be drawn the same again. Only
// lines near the window are given: what stands on others is not in the page.

import { make } from "../elements.js";

export const svg = (tag, attributes, ...content) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...content);
  return element;
};

/** Put an element at a place, in pixels: left, top, width, height. */
export const place = (element, places) => {
  for (const [name, pixels] of Object.entries(places)) element.style[name] = `${pixels}px`;
  return element;
};

export class Layer {
  #lines = new Map();
  #build;

  /** `build` makes the elements for a spec: a plain object that says all that they show. */
  constructor(root, build) {
    this.root = root;
    this.#build = build;
  }

  /** Lines in their order: the number of each, its top, in pixels, and specs with different keys. */
  draw(lines) {
    const before = this.#lines;
    this.#lines = new Map(lines.map(({ at, top, specs }) => {
      const line = before.get(at) ?? this.#newLine();
      if (line.top !== top) this.#move(line, top);
      const drawn = new Map(specs.map((spec) => [spec.key, this.#drawn(spec, line.drawn)]));
      arrange(line.group, [...drawn.values()].flatMap(({ nodes }) => nodes));
      return [at, { ...line, top, drawn }];
    }));
    arrange(this.root, [...this.#lines.values()].map(({ group }) => group));
  }

  #drawn(spec, before) {
    const known = before.get(spec.key);
    if (known?.spec === spec) return known;
    const written = JSON.stringify(spec);
    return { spec, written, nodes: known?.written === written ? known.nodes : this.#build(spec) };
  }

  #newLine() {
    const group = this.root instanceof SVGElement ? svg("g", { class: "line" }) : make("div", "line");
    return { group, drawn: new Map() };
  }

  #move({ group }, top) {
    if (group instanceof SVGElement) group.setAttribute("transform", `translate(0 ${top})`);
    else group.style.top = `${top}px`;
  }
}

/** Give an element these children; those that stand where they belong are not touched. */
export function arrange(group, nodes) {
  const kept = new Set(nodes);
  for (const node of [...group.childNodes]) if (!kept.has(node)) node.remove();
  let next = group.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else group.insertBefore(node, next);
  }
}
