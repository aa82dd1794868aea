// The item as a whole: done, reopened, its original.

import { act } from "./changes.js";
import { forget } from "./history.js";
import { leave } from "./saving.js";
import { select } from "./selection.js";
import { show } from "./showing.js";
import { DONE, NOT_SAVED, dismiss, original, progress, state, toast } from "./workspace.js";

function setDone(done) {
  if (state.reading || !act([{ kind: "item", verb: "done", done }], { undoable: false })) return;
  forget();
  select();
  if (!done) dismiss(DONE, NOT_SAVED + DONE);
  progress.count(done ? 1 : -1);
  show();
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
