// Handles at both ends of the mark that is selected.

import { $, sheet, text } from "./workspace.js";

const EDGES = { start: $("start-handle"), end: $("end-handle") };

/** Put them at the ends of a span, or away. */
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
