// Labels under keys of one's own: Alt with a digit. The server keeps them for each person and project.

import { post } from "./post.js";
import { now, pane, state, toast } from "./workspace.js";

let shortcuts = state.shortcuts ?? { entity: {}, relation: {} };

/** The digit of a label, if it has one. */
export const shortcutOf = (kind) => (uid) => Object.keys(shortcuts[kind]).find((key) => shortcuts[kind][key] === uid);

/** The label under a digit, if it is there still. */
export const labelAt = (kind, key) => now.labels[kind].byUid.get(shortcuts[kind][key]);

export const sayUnset = (key) => toast(`Alt+${key} has no label yet: go to one in the list of labels, and press Alt+Shift+${key} there.`);

/** Put a label under a digit, and nowhere else; where it is already, it is taken away. */
export async function setShortcut(kind, key, label) {
  const before = shortcuts;
  const old = labelAt(kind, key);
  const isTaken = old === label;
  const others = Object.entries(before[kind]).filter(([each, uid]) => each !== key && uid !== label.uid);
  shortcuts = { ...before, [kind]: { ...Object.fromEntries(others), ...(isTaken ? {} : { [key]: label.uid }) } };
  pane.showShortcuts(shortcutOf("entity"));
  const sentence = isTaken ? `Alt+${key} has no label any more.` : `Alt+${key} is now ${label.name}.${old ? ` It was ${old.name}.` : ""}`;
  const why = await send({ kind, key, label: isTaken ? "" : label.uid });
  if (!why) return toast(sentence);
  shortcuts = before;
  pane.showShortcuts(shortcutOf("entity"));
  toast(`The shortcut was not kept: ${why}`, "error");
}

/** Why it was refused, if it was. */
async function send(body) {
  const response = await post(state.urls.shortcuts, state.annotator, body).catch(() => null);
  if (response?.ok) return "";
  const { error } = (await response?.json().catch(() => null)) ?? {};
  return error ?? "the server cannot be reached. Try again in a moment.";
}
