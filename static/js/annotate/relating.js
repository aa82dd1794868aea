// Makes a relation from the mark that is selected to another one.

import { act } from "./changes.js";
import { openPicker } from "./labelling.js";
import { newUid } from "./marks.js";
import { select, selectMark } from "./selection.js";
import { showMode } from "./showing.js";
import { marks, now, readOnly, recent, sayReadOnly, state, text, toast, wordsOf } from "./workspace.js";

export function relate() {
  if (!now.view.mark) return;
  if (readOnly()) return sayReadOnly();
  if (!state.hasRelations) return toast("This project has no relation labels.");
  if (marks.entity.size < 2) return toast("A relation needs two marks.");
  select({ relating: now.view.mark });
  showMode(`Relation from “${wordsOf(marks.entity.get(now.view.relating))}”: click the other mark, or choose it with Tab and Enter. Esc leaves.`);
}

export function chooseTarget(target) {
  const source = now.view.relating;
  if (!target || target === source) return;
  select({ relating: source, candidate: target });
  const ends = { source, target };
  const { start, end } = marks.entity.get(target);
  const against = now.judge?.forRelation(ends);
  const onPick = (label) => {
    const uid = marks.twin("relation", ends, label.uid)?.uid ?? newUid();
    act([{ kind: "relation", verb: "add", uid, ...ends, label: label.uid }]);
    select({ relation: uid });
  };
  const allowed = now.labels?.relation.all.filter((label) => label.active && !against(label)) ?? [];
  if (allowed.length === 1) {
    recent.relation.add(allowed[0].uid);
    onPick(allowed[0]);
  } else openPicker("relation", { rect: text.rectOf(start, end), title: "Find a relation", against, onPick });
}

/** A mark that is clicked: selected or, while a relation is being made, its other end. */
export const clickMark = (uid) => (now.view.relating ? chooseTarget(uid) : selectMark(uid));
