// The buttons beside the mark or the relation that is selected, and the handles at both ends of a mark.

import { plural } from "../words.js";
import { $, chosen, marks, now, readOnly, sheet, text } from "./workspace.js";

const GAP = 4;
const EDGES = { start: $("start-handle"), end: $("end-handle") };

export function showToolbar() {
  const bar = $("mark-actions");
  const { kind, uid } = chosen() ?? {};
  const mark = marks[kind]?.get(uid);
  bar.hidden = Boolean(!mark || !now.view.actions || now.stretch || readOnly());
  if (bar.hidden) return;
  const isSuggested = mark.status === "suggested";
  const alike = marks.undecided.filter((other) => other.kind === kind && other.label === mark.label).length;
  const label = now.labels[kind].get(mark.label);
  bar.setAttribute("aria-label", kind === "entity" ? "The selected mark" : "The selected relation");
  for (const button of bar.querySelectorAll("[data-for]")) button.hidden = button.dataset.for !== kind;
  bar.querySelector("[data-do=remove] span").textContent = isSuggested ? "Reject" : "Remove";
  bar.querySelector("[data-do=accept]").hidden = !isSuggested || !label.active;
  const several = bar.querySelector(".alike");
  several.hidden = !isSuggested || alike < 2;
  several.firstElementChild.textContent = `${plural(alike, "suggestion", "suggestions")} “${label.name}”`;
  put(bar, kind === "entity" ? belowMark(mark) : atArc(mark, bar.offsetHeight));
}

function put(bar, { left, top }) {
  bar.style.left = `${Math.max(0, Math.min(left, sheet.clientWidth - bar.offsetWidth))}px`;
  bar.style.top = `${top}px`;
}

function belowMark({ uid, start }) {
  const name = sheet.querySelector(`.mark-name[data-uid="${CSS.escape(uid)}"]`);
  return { left: name?.offsetLeft ?? 0, top: text.floor(start) };
}

/** Above the name of the arc; without room there, or without an arc, below the line of the source. */
function atArc({ uid, source }, height) {
  const below = belowMark(marks.entity.get(source));
  const box = text.arcRect(uid);
  if (!box) return below;
  const origin = sheet.getBoundingClientRect();
  const above = box.top - origin.top - height - GAP;
  return { left: box.left - origin.left, top: above < -2 * GAP ? below.top : above };
}

/** Put the handles at the ends of a span, or away. */
export function placeHandles(span) {
  for (const handle of Object.values(EDGES)) handle.hidden = !span;
  if (!span) return;
  const origin = sheet.getBoundingClientRect();
  for (const [edge, handle] of Object.entries(EDGES)) {
    const { x, top } = placeOf(edge, span);
    handle.style.left = `${x - origin.left}px`;
    handle.style.top = `${top - origin.top}px`;
  }
}

/** Where an end of a span is in the window. */
export function placeOf(edge, span) {
  const rect = text.rectOf(span[edge], span[edge]);
  const isLeft = (edge === "start") !== text.rtl;
  return { x: isLeft ? rect.left : rect.right, top: rect.top, y: rect.top + rect.height / 2 };
}
