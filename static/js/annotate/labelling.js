// Finds a label, and gives it to words, to a mark or to a relation.

import { act } from "./changes.js";
import { newUid } from "./marks.js";
import { refresh } from "./saving.js";
import { select, selectMark } from "./selection.js";
import { showSelection } from "./showing.js";
import { $, LOADING, focusText, marks, now, pane, picker, precedents, readOnly, recent, relationList, sayReadOnly, span, text, toast } from "./workspace.js";

export function openPicker(kind, { onPick, onClose, ...how }) {
  const { labels } = now;
  if (!labels) return toast(LOADING);
  const back = document.activeElement === relationList?.root ? relationList.root : text.root;
  const focusBack = () => back.focus({ preventScroll: true });
  $("mark-actions").hidden = true;
  picker.open({
    ...how,
    labels: labels[kind],
    recent: recent[kind],
    hides: kind === "relation",
    onBarred: refresh, // the rules may have been loosened
    onPoint: (label) => pane.showCard(label, labels[kind].path(label)),
    onPick: (label) => {
      recent[kind].add(label.uid);
      onPick(label);
      focusBack();
    },
    onClose: ({ byPointer }) => {
      onClose?.();
      if (!byPointer) focusBack();
    },
  });
}

const usesOf = (start, end) => precedents.of(text.between(start, end));

export function markWords(label) {
  const [start, end] = span(now.view.words);
  const twin = marks.twin("entity", { start, end }, label.uid);
  const uid = twin?.uid ?? newUid();
  if (twin) toast(`These words are marked as “${label.name}” already.`);
  else act([{ kind: "entity", verb: "add", uid, start, end, label: label.uid }]);
  selectMark(uid, { actions: false });
}

export function pickForWords(query = "") {
  if (readOnly()) return sayReadOnly();
  const [start, end] = span(now.view.words);
  openPicker("entity", { rect: text.rectOf(start, end), query, title: "Find a label", against: now.judge?.forWords(start, end), uses: usesOf(start, end), onPick: markWords });
}

export function relabel(kind, uid, query = "") {
  if (readOnly()) return sayReadOnly();
  const mark = marks[kind].get(uid);
  if (!mark) return;
  const { start, end } = kind === "entity" ? mark : marks.entity.get(mark.target);
  openPicker(kind, {
    rect: text.rectOf(start, end),
    query,
    title: "Change the label",
    current: mark.label,
    uses: kind === "entity" ? usesOf(start, end) : {},
    against: kind === "entity" ? now.judge?.forEntity(mark) : now.judge?.forRelation(mark),
    onClose: showSelection,
    onPick: (label) => giveLabel(kind, uid, label),
  });
}

function giveLabel(kind, uid, label) {
  if (marks.twin(kind, marks[kind].get(uid), label.uid)) toast(`There is a mark “${label.name}” at this place already.`);
  else act([{ kind, verb: "label", uid, label: label.uid }]);
  select({ [kind === "entity" ? "mark" : "relation"]: uid });
}

/** A label that is clicked in the tree: given to the words or the mark that is selected. */
export function applyLabel(label) {
  pane.showCard(label, now.labels.entity.path(label));
  const { words, mark } = now.view;
  if (!words && !mark) return;
  if (readOnly()) return sayReadOnly();
  const against = words ? now.judge.forWords(...span(words)) : now.judge.forEntity(marks.entity.get(mark));
  const why = label.active ? against(label)?.sentence : `“${label.name}” is switched off and cannot be applied any more.`;
  if (why) {
    refresh();
    return toast(why);
  }
  recent.entity.add(label.uid);
  if (words) markWords(label);
  else giveLabel("entity", mark, label);
  focusText();
}
