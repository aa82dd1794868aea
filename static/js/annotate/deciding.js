// Accepts and removes what is selected.

import { act } from "./changes.js";
import { refresh } from "./saving.js";
import { select } from "./selection.js";
import { LOADING, marks, now, readOnly, sayReadOnly, toast } from "./workspace.js";

export function accept() {
  if (readOnly()) return sayReadOnly();
  const { view } = now;
  const [kind, uid] = view.relation ? ["relation", view.relation] : ["entity", view.mark];
  const mark = marks[kind].get(uid);
  if (mark?.status !== "suggested") return;
  if (!now.labels) return toast(LOADING);
  const why = now.judge.againstTaking(kind, mark);
  if (!why) return act([{ kind, verb: "label", uid, label: mark.label }]);
  toast(why.sentence);
  refresh();
}

export function remove() {
  if (readOnly()) return sayReadOnly();
  const { view } = now;
  if (view.relation) return act([{ kind: "relation", verb: "remove", uid: view.relation }]);
  const mark = marks.entity.get(view.mark);
  if (!mark) return;
  act([{ kind: "entity", verb: "remove", uid: mark.uid }]);
  select({ words: { anchor: mark.start, focus: mark.end } });
}
