// Lets the mark that is selected cover more or fewer words: by keys, or by the handles at its ends. On the way it is only shown;
// where it ends, it is judged, saved, and undone in one step.

import { act } from "./changes.js";
import { follow } from "./dragging.js";
import { refresh } from "./saving.js";
import { say, showMode, showSelection } from "./showing.js";
import { placeOf } from "./toolbar.js";
import { LOADING, marks, now, readOnly, sayReadOnly, sheet, sheets, text, toast } from "./workspace.js";

const PAUSE = 400; // milliseconds after a key, in which the next one goes on
const HELD = ["Shift", "Control", "Alt", "Meta"];
let pause;

const selected = () => marks.entity.get(now.view.mark);

/** Move one end of the mark by so many tokens, or to where a function says. */
export function moveEdge(edge, step) {
  if (readOnly()) return sayReadOnly();
  const from = (now.stretch ?? selected())[edge];
  const to = typeof step === "function" ? step(from) : from + step;
  stretch(edge, Number.isFinite(to) ? to : from);
  text.scrollTo(now.stretch[edge]);
  clearTimeout(pause);
  pause = setTimeout(settle, PAUSE);
}

/** Show the mark as if this end were at a token; it stops at the other end. */
function stretch(edge, token) {
  const mark = selected();
  if (!mark) return;
  const { start, end } = now.stretch ?? mark;
  const inText = Math.max(0, Math.min(text.tokens.length - 1, token));
  now.stretch = edge === "start" ? { start: Math.min(inText, end), end } : { start, end: Math.max(inText, start) };
  showSelection();
  showMode(against(mark, now.stretch) ?? "");
  say(text.between(now.stretch.start, now.stretch.end));
}

/** Why a mark cannot cover a span, or null. */
function against(mark, { start, end }) {
  const { labels, judge } = now;
  if (!labels) return LOADING;
  const twin = marks.twin("entity", { ...mark, start, end }, mark.label);
  if (twin) return `“${text.between(start, end)}” is marked as “${labels.entity.get(mark.label).name}” already.`;
  return judge.againstResizing(mark, start, end)?.sentence ?? null;
}

/** Resize the mark to what is shown. */
export function settle() {
  const { stretch: span } = now;
  const mark = selected();
  giveUp();
  if (!span || !mark || (span.start === mark.start && span.end === mark.end)) return;
  const why = against(mark, span);
  if (!why) return act([{ kind: "entity", verb: "resize", uid: mark.uid, label: mark.label, ...span }]);
  toast(why);
  refresh(); // the rules may have been loosened
}

function giveUp() {
  clearTimeout(pause);
  if (!now.stretch) return;
  now.stretch = null;
  showMode();
  showSelection();
}

export function listenToResizing() {
  sheets.addEventListener("pointerdown", (event) => {
    const { edge } = event.target.dataset;
    if (!edge || event.button) return;
    event.preventDefault();
    const origin = sheet.getBoundingClientRect();
    const { x, y } = placeOf(edge, selected());
    follow(event, {
      held: { x: origin.left + x, y: origin.top + y },
      move: (token) => stretch(edge, token),
      drop: ({ type }) => (type === "pointercancel" ? giveUp() : settle()),
    });
  });
  // Whatever comes next finds the mark as it was shown.
  document.addEventListener("keydown", (event) => {
    const { key, shiftKey } = event;
    if (!now.stretch || HELD.includes(key) || (shiftKey && key.startsWith("Arrow"))) return;
    if (key !== "Escape") return settle();
    giveUp();
    event.stopPropagation();
  }, true);
  document.addEventListener("pointerdown", settle, true);
  document.addEventListener("leaving", settle);
  for (const name of ["blur", "beforeunload", "pagehide"]) addEventListener(name, settle, true);
}
