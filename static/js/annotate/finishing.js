// Done, with a question before it when suggestions are left undecided; reopened.

import { plural } from "../words.js";
import { act } from "./changes.js";
import { accept, remove } from "./deciding.js";
import { nextUndone } from "./finding.js";
import { load } from "./saving.js";
import { select } from "./selection.js";
import { $, DONE, NOT_SAVED, dismiss, focusText, marks, readOnly, state } from "./workspace.js";

const dialog = $("undecided-dialog");

function setDone(done) {
  if (state.reading || state.gold || !act([{ kind: "item", verb: "done", done }])) return;
  select();
  if (!done) dismiss(DONE, NOT_SAVED + DONE);
}

export const reopen = () => setDone(false);

function finish() {
  if (state.reading) return;
  if (state.gold) return load(state.gold);
  setDone(true);
  nextUndone({ wraps: true });
}

export function finishUnlessUndecided() {
  const count = marks.undecided.length;
  if (!count || readOnly()) return finish();
  $("undecided-head").textContent = `${plural(count, "suggestion is", "suggestions are")} undecided`;
  dialog.returnValue = "";
  dialog.showModal();
}

const ANSWERS = {
  leave: finish,
  reject() {
    remove("item");
    finish();
  },
  // What is not allowed stays a suggestion, and is told here.
  accept() {
    if (accept("item")) finish();
  },
};

/** Accept all that is suggested, done, and on to the next item. */
export const acceptAndFinish = () => (marks.undecided.length && !readOnly() ? ANSWERS.accept() : finish());

export function listenToDialog() {
  // The key that opened it may still be held.
  dialog?.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault());
  dialog?.addEventListener("close", () => {
    focusText();
    ANSWERS[dialog.returnValue]?.();
  });
}
