// Done, with a question before it when suggestions are left undecided.

import { plural } from "../words.js";
import { accept, remove } from "./deciding.js";
import { finish } from "./item.js";
import { $, focusText, marks, readOnly } from "./workspace.js";

const dialog = $("undecided-dialog");

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

export function listenToDialog() {
  dialog?.addEventListener("close", () => {
    focusText();
    ANSWERS[dialog.returnValue]?.();
  });
}
