// Every change of the item goes through here: applied at once, sent, and remembered for undo.

import { future, past, remember } from "./history.js";
import { save } from "./saving.js";
import { dropGone } from "./selection.js";
import { show } from "./showing.js";
import { marks, precedents, readOnly } from "./workspace.js";

/** Apply operations and send them; whether any of them changed something. */
export function act(operations, { undoable = true } = {}) {
  const performed = [];
  const undo = [];
  for (const operation of operations) {
    const inverse = marks.apply(operation);
    if (!inverse) continue;
    performed.push(operation);
    undo.unshift(...inverse);
    save(operation, inverse);
  }
  if (performed.length) precedents.forget();
  if (undoable && performed.length) remember({ undo, redo: performed });
  dropGone();
  show();
  return performed.length > 0;
}

function takeBack(from, to, which) {
  if (readOnly() || !from.length) return;
  const entry = from.pop();
  act(entry[which], { undoable: false });
  to.push(entry);
  show();
}

export const undo = () => takeBack(past, future, "undo");
export const redo = () => takeBack(future, past, "redo");
