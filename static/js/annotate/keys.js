// What keys do, by what is selected.

import { redo, undo } from "./changes.js";
import { accept, remove } from "./deciding.js";
import { finish, setDone, showOriginal } from "./item.js";
import { pickForWords, relabel } from "./labelling.js";
import { chooseTarget, relate } from "./relating.js";
import { leave } from "./saving.js";
import { escape, moveCursor, stepMark } from "./selection.js";
import { $, marks, now, picker, sheet, span, state, text } from "./workspace.js";

const COMMANDS = { n: () => leave(state.urls.next), p: () => leave(state.urls.previous), o: () => setDone(false), t: showOriginal, r: relate, a: accept };

/** Open the labels for whatever is selected. */
function choose() {
  const { view } = now;
  if (view.relating) chooseTarget(view.candidate);
  else if (view.relation) relabel("relation", view.relation);
  else if (view.mark) relabel("entity", view.mark);
  else if (view.words) pickForWords();
}

function handlerOf(event) {
  const { key, shiftKey } = event;
  const { view } = now;
  if (event.ctrlKey || event.metaKey) return { Enter: finish, z: shiftKey ? redo : undo, Z: redo, y: redo }[key];
  const anywhere = { PageDown: COMMANDS.n, PageUp: COMMANDS.p, "?": () => $("keys").showModal(), Escape: escape }[key];
  if (anywhere) return anywhere;
  const here = document.activeElement;
  if (here && here !== document.body && here.id !== "main" && !sheet.contains(here)) return null;
  if (here?.closest("#mark-actions") && ["Enter", " "].includes(key)) return null;
  const inText = {
    ArrowLeft: () => moveCursor(text.rtl ? 1 : -1, shiftKey),
    ArrowRight: () => moveCursor(text.rtl ? -1 : 1, shiftKey),
    ArrowUp: () => moveCursor((from) => text.vertical(from, -1), shiftKey),
    ArrowDown: () => moveCursor((from) => text.vertical(from, 1), shiftKey),
    Home: () => moveCursor(() => 0, shiftKey),
    End: () => moveCursor(() => text.tokens.length - 1, shiftKey),
    Enter: choose,
    Delete: remove,
    Backspace: remove,
  }[key];
  if (inText) return inText;
  if (key === "Tab") return stepMark(shiftKey ? -1 : 1) ? () => {} : null;
  if (view.words && /^[\p{L}\p{N}]$/u.test(key)) return () => pickForWords(key);
  if (view.mark && /^[1-9]$/.test(key)) return () => relabel("entity", view.mark, key);
  return view.words ? null : COMMANDS[key];
}

export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.isComposing || picker.isOpen) return;
    if (document.querySelector("dialog[open], details.menu[open]") || event.target.closest?.("input, textarea, select")) return;
    const handler = handlerOf(event);
    if (!handler) return;
    event.preventDefault();
    handler();
  });

  document.addEventListener("copy", (event) => {
    const { view } = now;
    const mark = marks.entity.get(view.mark);
    if (document.activeElement !== text.root || !(view.words || mark)) return;
    event.clipboardData.setData("text/plain", text.between(...(mark ? [mark.start, mark.end] : span(view.words))));
    event.preventDefault();
  });
}
