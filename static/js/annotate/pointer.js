// What the pointer does in the text.

import { accept, remove } from "./deciding.js";
import { pickForWords, relabel } from "./labelling.js";
import { chooseTarget, clickMark, relate } from "./relating.js";
import { escape, select, selectMark } from "./selection.js";
import { focusText, marks, now, picker, readOnly, sheet, text } from "./workspace.js";

function clickToken(token) {
  const { view } = now;
  const over = marks.over(token);
  if (view.relating) return over.length && chooseTarget(over.find((mark) => mark.uid !== view.relating)?.uid);
  // A second click on the same words goes on to the mark around.
  const next = over[(over.findIndex((mark) => mark.uid === view.mark) + 1) % over.length];
  if (next) return selectMark(next.uid);
  if (readOnly()) return select();
  select({ words: { anchor: token, focus: token } });
  pickForWords();
}

function press(event) {
  if (event.button) return;
  event.preventDefault();
  focusText();
  const token = text.tokenAt(event.target);
  if (token === null) return escape();
  const { words } = now.view;
  const anchor = event.shiftKey && words ? words.anchor : token;
  now.drag = { anchor, focus: token, moved: anchor !== token };
  if (now.drag.moved && !readOnly()) select({ words: { anchor, focus: token } });
}

function drag(event) {
  if (!now.drag || readOnly() || now.view.relating) return;
  const under = document.elementsFromPoint(event.clientX, event.clientY).map((element) => text.tokenAt(element)).find((i) => i !== null);
  if (under === undefined || under === now.drag.focus) return;
  Object.assign(now.drag, { focus: under, moved: true });
  select({ words: { anchor: now.drag.anchor, focus: under } });
}

function release() {
  if (!now.drag) return;
  const { moved, focus } = now.drag;
  now.drag = null;
  if (moved && !readOnly()) pickForWords();
  else clickToken(focus);
}

function doubleClick({ target }) {
  const token = text.tokenAt(target);
  if (token === null || readOnly() || now.view.relating) return;
  select({ words: { anchor: token, focus: token } });
  pickForWords();
}

function click({ target }) {
  const name = target.closest(".mark-name");
  const arc = target.closest(".arc");
  const action = target.closest("[data-do]")?.dataset.do;
  if (name) clickMark(name.dataset.uid);
  else if (arc) select({ relation: arc.dataset.uid });
  else if (action) ({ accept, relabel: () => relabel("entity", now.view.mark), relate, remove })[action]();
  else return;
  if (!picker.isOpen) focusText();
}

export function listenToPointer() {
  text.root.addEventListener("pointerdown", press);
  addEventListener("pointermove", drag);
  addEventListener("pointerup", release);
  addEventListener("pointercancel", () => (now.drag = null));
  text.root.addEventListener("dblclick", doubleClick);
  sheet.addEventListener("click", click);
}
