// What keys do, by what is selected. Letters and digits search a label for it; commands are keys with a name, or held with another.

import { findAlike } from "./alike.js";
import { redo, undo } from "./changes.js";
import { accept, nextSuggestion, remove } from "./deciding.js";
import { goTo, nextUndone, openItems, skip } from "./finding.js";
import { acceptAndFinish, finishUnlessUndecided, reopen } from "./finishing.js";
import { openFlags } from "./flags.js";
import { goToHit } from "./hits.js";
import { jump, typeJump } from "./jumping.js";
import { applyShortcut, pickForWords, pickSticky, relabel } from "./labelling.js";
import { chooseTarget, relate, relateAs, reverse, stepTarget, typeNumber } from "./relating.js";
import { moveEdge } from "./resizing.js";
import { escape, moveCursor, moveRegion, selectAll, stepMark, stepUnmarked } from "./selection.js";
import { say } from "./showing.js";
import { stick } from "./sticky.js";
import { comment } from "./talking.js";
import { $, chosen, marks, now, original, picker, sheet, span, state, text, toast } from "./workspace.js";

/** Wherever the focus is. */
const ANYWHERE = {
  "Ctrl+Enter": finishUnlessUndecided,
  "Ctrl+Shift+Enter": acceptAndFinish,
  "Alt+Enter": reopen,
  "Ctrl+z": undo,
  "Ctrl+Shift+z": redo,
  "Ctrl+y": redo,
  PageDown: () => goTo(1),
  PageUp: () => goTo(-1),
  "Shift+PageDown": () => nextUndone(),
  "Alt+PageDown": skip,
  "/": () => openItems(),
  "#": () => openItems("number"),
  ".": () => showOriginal(),
  F3: () => goToHit(1),
  "Shift+F3": () => goToHit(-1),
  "?": () => $("keys").showModal(),
  "Alt+f": () => openFlags(),
  "Alt+c": comment,
  F6: () => moveRegion(1),
  "Shift+F6": () => moveRegion(-1),
  Escape: () => leaveSelection(),
};

const IN_TEXT = {
  Enter: () => choose(),
  Space: () => accept(),
  "Shift+Space": () => accept("item"),
  "Ctrl+Space": () => accept("label"),
  Delete: () => remove(),
  "Shift+Delete": () => remove("item"),
  "Ctrl+Delete": () => remove("label"),
  Backspace: () => remove(),
  "Alt+ArrowDown": () => nextSuggestion(1),
  "Alt+ArrowUp": () => nextSuggestion(-1),
  "Ctrl+ArrowRight": () => goUnmarked(text.rtl ? -1 : 1),
  "Ctrl+ArrowLeft": () => goUnmarked(text.rtl ? 1 : -1),
  ",": jump,
  "Ctrl+a": selectAll,
  "*": () => findAlike(),
};

/** While the target of a relation is chosen. */
const RELATING = {
  Enter: () => chooseTarget(now.view.candidate),
  "Shift+Enter": () => chooseTarget(now.view.candidate, { stays: true }),
  ArrowRight: () => stepTarget(text.rtl ? -1 : 1),
  ArrowLeft: () => stepTarget(text.rtl ? 1 : -1),
  ArrowDown: () => stepTarget(1),
  ArrowUp: () => stepTarget(-1),
  Tab: () => stepTarget(1),
  "Shift+Tab": () => stepTarget(-1),
};

/** Where a key leads from a token: so many tokens further, or what a function says. */
const STEPS = {
  ArrowLeft: () => (text.rtl ? 1 : -1),
  ArrowRight: () => (text.rtl ? -1 : 1),
  ArrowUp: () => (from) => text.vertical(from, -1),
  ArrowDown: () => (from) => text.vertical(from, 1),
  Home: () => () => 0,
  End: () => () => text.tokens.length - 1,
};

/** The end of a mark that arrows move, by what is held. */
const EDGES = { Shift: "end", "Ctrl+Shift": "start", "Alt+Shift": "start" };

/** Keys that may be held to go on and on. Of every other one only the press counts: the next item, or the next suggestion, is to be
    seen before it is decided. */
const MAY_REPEAT = /^(Arrow|Tab$|Page|Home$|End$|[zy]$)/i;

/** A key together with those that are held. Which keys make a character is the keyboard's business, but for what Alt makes of a
    letter on some. */
function chordOf({ key, code, ctrlKey, metaKey, altKey, shiftKey }) {
  const letter = altKey && !/^[a-z]$/i.test(key) && /^Key([A-Z])$/.exec(code)?.[1];
  const name = key === " " ? "Space" : letter ? letter.toLowerCase() : key.length > 1 ? key : key.toLowerCase();
  const holds = { Ctrl: ctrlKey || metaKey, Alt: altKey, Shift: shiftKey && (name.length > 1 || ctrlKey || metaKey) };
  return [...Object.keys(holds).filter((held) => holds[held]), name].join("+");
}

/** Search a label for whatever is selected. */
function choose(query = "") {
  const { view } = now;
  if (state.reading) return;
  if (chosen()) relabel(query);
  else if (view.words) pickForWords(query);
  else if (query) pickSticky(query);
}

function goUnmarked(step) {
  if (!stepUnmarked(step)) say(`Every word is marked from here to the ${step > 0 ? "end" : "beginning"}.`);
}

function showOriginal() {
  if (!original.toggle()) toast("This is the original text: nothing in it was changed.");
}

/** A sticky label ends, too, unless something else is left first. */
function leaveSelection() {
  if (!now.view.relating && !now.view.jumping) stick(null);
  escape();
}

function handlerOf(event) {
  const { key, shiftKey } = event;
  const { view } = now;
  const chord = chordOf(event);
  if (ANYWHERE[chord]) return ANYWHERE[chord];
  // Which character Alt makes of a digit differs from keyboard to keyboard.
  const digit = /^Alt\+./.test(chord) && /^Digit(\d)$/.exec(event.code)?.[1];
  if (digit) return () => (view.relating ? relateAs : applyShortcut)(digit);
  const here = document.activeElement;
  if (here && here !== document.body && !["main", "relations"].includes(here.id) && !sheet.contains(here)) return null;
  if (here?.closest("#mark-actions") && ["Enter", "Space"].includes(chord)) return null;
  if (view.jumping && /^([\p{L}\p{N}]|Enter)$/u.test(chord)) return () => typeJump(chord);
  if (view.relating) return RELATING[chord] ?? (/^[0-9]$/.test(chord) ? () => typeNumber(chord) : null);
  if (IN_TEXT[chord]) return IN_TEXT[chord];
  const edge = view.mark && key.startsWith("Arrow") && EDGES[chord.replace(`+${key}`, "")];
  if (edge) return () => moveEdge(edge, STEPS[key]());
  if ([key, `Shift+${key}`].includes(chord) && STEPS[key]) return () => moveCursor(STEPS[key](), shiftKey);
  if (key === "Tab") return stepMark(shiftKey ? -1 : 1) ? () => {} : null;
  if (!/^[\p{L}\p{N}]$/u.test(chord)) return null;
  if (chord !== "r" || (!view.mark && !view.relation)) return () => choose(key);
  return shiftKey && view.relation ? reverse : relate;
}

export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || picker.isOpen) return;
    if (document.querySelector("dialog[open], details.menu[open]") || event.target.closest?.("input, textarea, select")) return;
    const handler = handlerOf(event);
    if (!handler) return;
    event.preventDefault();
    if (!event.repeat || MAY_REPEAT.test(event.key)) handler();
  });

  document.addEventListener("copy", (event) => {
    const { view } = now;
    const mark = marks.entity.get(view.mark);
    if (document.activeElement !== text.root || !(view.words || mark)) return;
    event.clipboardData.setData("text/plain", text.between(...(mark ? [mark.start, mark.end] : span(view.words))));
    event.preventDefault();
  });
}
