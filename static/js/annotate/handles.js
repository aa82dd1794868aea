// Handles at both ends of the mark that is selected.

import { $, sheet, text } from "./workspace.js";

const EDGES = { start: $("start-handle"), end: $("end-handle") };

/** Put them at the ends of a span, or away. */
export function placeHandles(span) {
  for (const handle of Object.values(EDGES)) handle.hidden = !span;
  if (!span) return;
  const origin = sheet.getBoundingClientRect();
  const place = (edge, token, side) => {
    const rect = text.rectOf(token, token);
    EDGES[edge].style.left = `${rect[side] - origin.left}px`;
    EDGES[edge].style.top = `${rect.top - origin.top}px`;
  };
  place("start", span.start, text.rtl ? "right" : "left");
  place("end", span.end, text.rtl ? "left" : "right");
}
