// The buttons beside the mark or the relation that is selected, and the handles at both ends of a mark.

import { plural } from "../words.js";
import { sourceOf } from "./marks.js";
import { $, chosen, marks, now, readOnly, sheet, text } from "./workspace.js";

const GAP = 4;
const BESIDE = 24; // pixels to the text beside it, more than a handle needs
const NARROW = 200; // pixels into which no buttons fit, without measuring them
const SMALL = matchMedia("(width < 1024px), (height < 600px)"); // windows, also large ones in which all is shown twice as large
const EDGES = { start: $("start-handle"), end: $("end-handle") };

export function showToolbar() {
  const bar = $("mark-actions");
  const { kind, uid } = chosen() ?? {};
  const mark = marks[kind]?.get(uid);
  const free = mark && kind === "entity" ? text.freeBeside(mark.start) : { width: 0 };
  // After it was only just made, the text is left free for the next words.
  const isWanted = now.view.actions === "beside" ? free.width > NARROW : now.view.actions;
  bar.hidden = Boolean(!mark || !isWanted || now.stretch || readOnly());
  if (bar.hidden) return;
  const isSuggested = mark.status === "suggested";
  const alike = marks.undecided.filter((other) => other.kind === kind && other.label === mark.label).length;
  const label = now.labels[kind].get(mark.label);
  bar.setAttribute("aria-label", kind === "entity" ? "The selected mark" : "The selected relation");
  for (const button of bar.querySelectorAll("[data-for]")) button.hidden = button.dataset.for !== kind;
  bar.querySelector("[data-do=remove] span").textContent = isSuggested ? "Reject" : "Remove";
  bar.querySelector("[data-do=accept]").hidden = !isSuggested || !label.active;
  const source = bar.querySelector(".source");
  source.textContent = sourceOf(mark);
  source.hidden = !source.textContent;
  const several = bar.querySelector(".alike");
  several.hidden = !isSuggested || alike < 2;
  several.firstElementChild.textContent = `${plural(alike, "suggestion", "suggestions")} “${label.name}”`;
  bar.classList.remove("docked");
  if (free.width >= bar.offsetWidth + BESIDE) return put(bar, beside(free, bar));
  bar.hidden = now.view.actions === "beside";
  if (!bar.hidden) put(bar, kind === "entity" ? belowMark(mark) : atArc(mark, bar.offsetHeight));
}

/** In a small window, at its lower edge if words would be covered: there they would be most of what is seen. */
function put(bar, { left, top }) {
  const { offsetWidth: width, offsetHeight: height } = bar;
  const place = { left: Math.max(0, Math.min(left, sheet.clientWidth - width)), top };
  const isDocked = SMALL.matches && text.covers({ ...place, width, height });
  bar.classList.toggle("docked", isDocked);
  for (const side of ["left", "top"]) bar.style[side] = isDocked ? "" : `${place[side]}px`;
}

/** On the line of the mark, where nothing is covered. */
function beside({ left, width, middle }, { offsetHeight, offsetWidth }) {
  return { left: text.rtl ? left + width - BESIDE - offsetWidth : left + BESIDE, top: middle - offsetHeight / 2 };
}

function belowMark({ uid, start }) {
  return { left: text.nameLeft(uid), top: text.floor(start) };
}

/** Above the name of the arc; without room there, or without an arc, below the line of the source. */
function atArc({ uid, source }, height) {
  const below = belowMark(marks.entity.get(source));
  const name = text.arcName(uid);
  if (!name) return below;
  const above = name.top - height - GAP;
  return { left: name.left, top: above < -2 * GAP ? below.top : above };
}

/** Put the handles at the ends of a span, or away. */
export function placeHandles(span) {
  for (const [edge, handle] of Object.entries(EDGES)) {
    handle.hidden = !span;
    if (!span) continue;
    const { x, top } = placeOf(edge, span);
    handle.style.left = `${x}px`;
    handle.style.top = `${top}px`;
  }
}

/** Where an end of a span is on the sheet. */
export function placeOf(edge, span) {
  const box = text.boxOf(span[edge], span[edge]);
  const isLeft = (edge === "start") !== text.rtl;
  return { x: isLeft ? box.left : box.right, top: box.top, y: box.top + box.height / 2 };
}
