// Draws a row of the picker: what to type, the label with what is above it, what is known of it here, and its shortcut.

import { make } from "../elements.js";
import { number } from "../words.js";
import { fold } from "./search.js";

/** `typed` are the digits so far; `facts` are words about the label; `shortcut` is a digit. */
export function drawOption(row, { at, typed, facts, shortcut, canStick, isSticky }) {
  const { label, deeper, dim, hidesParent, isLevel, isLastBefore } = row;
  const path = hidesParent ? [] : drawPath(label);
  const swatch = make("span", "swatch");
  swatch.style.setProperty("--c", label.color);
  const name = make("span", "name", ...boldName(label.name, row.query));
  const item = make("li", "option", drawKey(row, typed), swatch, name, ...path, make("span", "note", facts));
  if (deeper) item.append(make("span", "deeper", `${number(label.size)} ▸`));
  if (shortcut) item.append(make("kbd", "shortcut", `Alt ${shortcut}`));
  if (canStick) item.append(drawPin(label, isSticky));
  const classes = { dim, level: isLevel, "last-before": isLastBefore, apart: typed && !row.number?.startsWith(typed) };
  for (const [className, isSo] of Object.entries(classes)) item.classList.toggle(className, Boolean(isSo));
  Object.assign(item, { id: `option-${at}`, role: "option", title: [...namesAbove(label), label.name].join(" / ") });
  item.dataset.at = at;
  if (dim) item.ariaDisabled = "true";
  return item;
}

/** For the mouse; keys have their own way. */
function drawPin(label, isSticky) {
  const pin = make("span", `pin${isSticky ? " pinned" : ""}`, isSticky ? "pinned" : "pin");
  pin.title = `Mark every selection with ${label.name} (Ctrl+Enter)`;
  return pin;
}

function drawKey({ number: digits, isLevel }, typed) {
  if (isLevel) return make("kbd", "", "↵");
  if (!digits) return make("span", "no-key");
  return digits.startsWith(typed) ? make("kbd", "", make("b", "", typed), digits.slice(typed.length)) : make("kbd", "", digits);
}

const namesAbove = (label) => (label.parent ? [...namesAbove(label.parent), label.parent.name] : []);

/** What is above a label. Of a long path the middle is left out, the parent never. */
function drawPath(label) {
  const above = namesAbove(label);
  if (!above.length) return [];
  const parent = above.pop();
  const rest = above.length > 1 ? `${above[0]} / … / ` : above.map((name) => `${name} / `).join("");
  return [make("span", "above", rest), make("span", "parent", parent)];
}

/** The name as nodes, with what was typed in bold. */
function boldName(name, query = "") {
  const folded = fold(name);
  // Folding may change the length of a name; then there is no certain place to point at.
  if (folded.length !== name.length) return [name];
  const bold = new Array(name.length).fill(false);
  for (const word of query.split(/[\s/]+/).filter(Boolean)) {
    const pieces = folded.includes(fold(word)) ? [word] : word.split(/(?=\p{Lu})/u);
    let from = 0;
    for (const piece of pieces.map(fold)) {
      const at = folded.indexOf(piece, from);
      if (at < 0) break;
      from = at + piece.length;
      bold.fill(true, at, from);
    }
  }
  const nodes = [];
  for (let from = 0, to; from < name.length; from = to) {
    for (to = from + 1; to < name.length && bold[to] === bold[from]; ) to += 1;
    nodes.push(bold[from] ? make("b", "", name.slice(from, to)) : name.slice(from, to));
  }
  return nodes;
}
