// The item as a whole: done, reopened, its original.

import { act } from "./changes.js";
import { leave } from "./saving.js";
import { select } from "./selection.js";
import { DONE, NOT_SAVED, dismiss, original, state, toast } from "./workspace.js";

function setDone(done) {
  if (state.reading || !act([{ kind: "item", verb: "done", done }])) return;
  select();
  if (!done) dismiss(DONE, NOT_SAVED + DONE);
}

export const reopen = () => setDone(false);

export function finish() {
  if (state.reading) return;
  setDone(true);
  leave(state.urls.undone);
}

export function showOriginal() {
  if (!original.toggle()) toast("This is the original text: nothing in it was changed.");
}
