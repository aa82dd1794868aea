// Finds a label, and gives it to words, to a mark or to a relation.

import { act } from "./changes.js";
import { refresh } from "./saving.js";
import { select, selectMark } from "./selection.js";
import { labelAt, sayUnset, setShortcut, shortcutOf } from "./shortcuts.js";
import { showSelection } from "./showing.js";
import { stick, stickyLabel } from "./sticky.js";
import { $, LOADING, chosen, focusText, marks, now, pane, picker, precedents, readOnly, recent, relationList, sayReadOnly, sheet, span, text, toast, tokensOf } from "./workspace.js";

/** Where a part of the text is, however the text is scrolled meanwhile. */
function following({ x, y, width, height }) {
  const before = sheet.getBoundingClientRect();
  return () => {
    const { left, top } = sheet.getBoundingClientRect();
    return new DOMRect(x + left - before.left, y + top - before.top, width, height);
  };
}

export function openPicker(kind, { rect, onPick, onClose, ...how }) {
  const { labels } = now;
  if (!labels) return toast(LOADING);
  const back = document.activeElement === relationList?.root ? relationList.root : text.root;
  const focusBack = () => back.focus({ preventScroll: true });
  $("mark-actions").hidden = true;
  picker.open({
    onStick: kind === "entity" ? stick : null,
    ...how,
    rect: following(rect),
    labels: labels[kind],
    recent: recent[kind],
    hides: kind === "relation",
    shortcutOf: shortcutOf(kind),
    labelAt: (key) => labelAt(kind, key),
    onUnset: sayUnset,
    onShortcut: (key, label) => setShortcut(kind, key, label),
    sticky: stickyLabel()?.uid,
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

const usesOf = (start, end) => precedents.of(tokensOf(start, end));

function markWords(label) {
  const [start, end] = span(now.view.words);
  const operation = marks.making("entity", { start, end, label: label.uid });
  if (!act([operation])) toast(`These words are marked as “${label.name}” already.`);
  selectMark(operation.uid, { actions: "beside" });
}

export function pickForWords(query = "") {
  if (readOnly()) return sayReadOnly();
  const sticky = query ? null : stickyLabel();
  if (sticky) return applyLabel(sticky);
  const [start, end] = span(now.view.words);
  openPicker("entity", { rect: text.rectOf(start, end), query, title: "Find a label", against: now.judge?.forWords(start, end), uses: usesOf(start, end), onPick: markWords });
}

/** With nothing selected: a label for every selection to come. */
export function pickSticky(query) {
  if (readOnly()) return sayReadOnly();
  const { cursor } = now;
  openPicker("entity", { rect: text.rectOf(cursor, cursor), query, title: "Find a label for every selection", purpose: "Nothing is selected: every selection to come is marked with the label, until Esc.", against: () => null, onPick: stick, onStick: null });
}

export function relabel(query = "") {
  if (readOnly()) return sayReadOnly();
  const { kind, uid } = chosen();
  const mark = marks[kind].get(uid);
  const { start, end } = kind === "entity" ? mark : marks.entity.get(mark.target);
  openPicker(kind, {
    rect: text.rectOf(start, end),
    query,
    title: "Change the label",
    current: mark.label,
    uses: kind === "entity" ? usesOf(start, end) : {},
    against: kind === "entity" ? now.judge?.forEntity(mark) : now.judge?.forRelation(mark),
    onClose: showSelection,
    onPick: giveLabel,
  });
}

/** To what is selected: while its list of labels was open, the server may have told another uid of it. */
function giveLabel(label) {
  const { kind, uid } = chosen();
  if (marks.twin(kind, marks[kind].get(uid), label.uid)) toast(`There is a mark “${label.name}” at this place already.`);
  else act([{ kind, verb: "label", uid, label: label.uid }]);
  select({ [kind === "entity" ? "mark" : "relation"]: uid, actions: "beside" });
}

/** A label that is chosen without the picker: given to what is selected, if it is allowed there. */
function applyLabel(label) {
  const { words, mark, relation } = now.view;
  const kind = relation ? "relation" : "entity";
  pane.showCard(label, now.labels[kind].path(label));
  if (readOnly()) return sayReadOnly();
  const against = words ? now.judge.forWords(...span(words)) : relation ? now.judge.forRelation(marks.relation.get(relation)) : now.judge.forEntity(marks.entity.get(mark));
  const why = label.active ? against(label)?.sentence : `“${label.name}” is switched off and cannot be applied any more.`;
  if (why) {
    refresh();
    return toast(why);
  }
  recent[kind].add(label.uid);
  if (words) markWords(label);
  else giveLabel(label);
  focusText();
}

/** A label that is clicked in the tree. */
export function clickLabel(label) {
  const { words, mark } = now.view;
  if (words || mark) applyLabel(label);
  else pane.showCard(label, now.labels.entity.path(label));
}

/** Every selection gets this label from now on, the words that are selected first; clicked again, none does. */
export function pin(label) {
  if (stickyLabel() === label) return stick(null);
  stick(label);
  if (now.view.words) applyLabel(label);
}

/** A digit with Alt: for what is selected or, with nothing selected, for every selection to come. */
export function applyShortcut(key) {
  const { view, labels } = now;
  if (!labels) return toast(LOADING);
  const label = labelAt(view.relation ? "relation" : "entity", key);
  if (!label) return sayUnset(key);
  if (view.words || view.mark || view.relation) applyLabel(label);
  else if (label.active) stick(label);
}
