// What marks and relations look like: how wide their names are, specs, which say all that is drawn, and the elements for them.

import { make } from "../elements.js";
import { place, svg } from "./layers.js";

const RULE = 3; // height of the line below marked words
const EDGE = 2; // marks reach a little beyond their words

/** The name of a label as it is shown on a mark. */
export const nameOf = ({ name, active }, { status }) => name + (status === "suggested" ? " ?" : "") + (active ? "" : " off");

/** How wide names are, without putting them on the page. */
export class Ruler {
  #pen = document.createElement("canvas").getContext("2d");
  #known = new Map();

  /** In the font of an element. */
  constructor(element) {
    this.element = element;
  }

  width(name) {
    return Math.ceil(this.#measure(name).width) + 1;
  }

  /** How far letters rise. */
  rise(name) {
    return this.#measure(name).fontBoundingBoxAscent;
  }

  #measure(name) {
    if (!this.#known.size) this.#pen.font = getComputedStyle(this.element).font;
    if (!this.#known.has(name)) this.#known.set(name, this.#pen.measureText(name));
    return this.#known.get(name);
  }

  forget() {
    this.#known.clear();
  }
}

/** The parts of a mark; the first has its name. `height` is that of the letters, `fall` the way from them down to the lane. */
export function partsOf({ mark, pieces, name }, { label, words, height, fall, rtl, isBroken }) {
  const { uid, status } = mark;
  const states = `${status === "suggested" ? " suggested" : ""}${isBroken ? " broken" : ""}`;
  const title = `${label.name}${label.active ? "" : " (off)"}: ${words.slice(0, 200)}`;
  const spoken = [words, label.name, status === "suggested" && "suggested", !label.active && "switched off"].filter(Boolean).join(", ");
  return pieces.map(({ line, left, right }, at) => {
    const [before, after] = [at > 0, at < pieces.length - 1];
    const open = `${(rtl ? after : before) ? " open-left" : ""}${(rtl ? before : after) ? " open-right" : ""}`;
    const box = { left: left - EDGE, width: right - left + 2 * EDGE };
    const shown = at ? null : { ...name, text: label.name, note: nameOf(label, mark).slice(label.name.length), title, spoken };
    return { line, key: `${uid} ${at}`, uid, classes: states + open, color: label.color, box, height, fall, name: shown };
  });
}

const coloured = (element, { uid, color }) => {
  element.dataset.uid = uid;
  element.style.setProperty("--c", color);
  return element;
};

export function buildTint(spec) {
  const tint = place(make("div", `tint${spec.classes}`), { ...spec.box, height: spec.height + EDGE + spec.fall });
  tint.style.setProperty("--letters", `${spec.height + EDGE}px`);
  return [coloured(tint, spec)];
}

export function buildName(spec) {
  const top = spec.height + EDGE + spec.fall;
  const rule = coloured(place(make("div", `rule${spec.classes}`), { ...spec.box, top }), spec);
  if (!spec.name) return [rule];
  const { left, width, whole, text, note, title, spoken } = spec.name;
  const name = make("button", `mark-name label-name${spec.classes}${whole === null ? "" : " cut"}`, make("span", "", text), ...(note ? [make("small", "", note)] : []));
  Object.assign(name, { type: "button", tabIndex: -1, title, ariaLabel: spoken });
  if (whole !== null) name.style.setProperty("--shift", `${whole - left}px`);
  return [rule, coloured(place(name, { left, width, top: top + RULE }), spec)];
}

export function buildWords({ left, right, height, isHovered }) {
  if (isHovered) return [place(make("div", "hover-box"), { left, width: right - left, top: 0, height })];
  return [place(make("div", "word-box"), { left: left - 3, top: -1, width: right - left + 6, height: height + 3 })];
}

export function buildArc({ uid, name, path, head, x, y, suggested }) {
  const text = svg("text", { x, y, "text-anchor": "middle" }, name);
  const parts = [svg("path", { class: "reach", d: path }), svg("path", { class: "line", d: path })];
  if (head !== null) parts.push(svg("path", { class: "head", d: `M${head - 3.5} -7H${head + 3.5}L${head} -1Z` }));
  return [svg("g", { class: `arc${suggested ? " suggested" : ""}`, "data-uid": uid }, ...parts, text)];
}
