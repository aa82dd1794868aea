// Makes relations from one mark to others, and reverses them.

import { act } from "./changes.js";
import { hasFingers } from "./fingers.js";
import { openPicker } from "./labelling.js";
import { turned } from "./marks.js";
import { refresh } from "./saving.js";
import { select, selectMark } from "./selection.js";
import { labelAt, sayUnset } from "./shortcuts.js";
import { showMode } from "./showing.js";
import { allowedTargets, pointLine, targetOver, targetsAt, whyNot } from "./targets.js";
import { LOADING, marks, now, readOnly, recent, sayReadOnly, state, text, toast, wordsOf } from "./workspace.js";

/** Begin at the mark that is selected or, when it is a relation, once more at its source and with its label. */
export function relate() {
  const relation = marks.relation.get(now.view.relation);
  const source = relation?.source ?? now.view.mark;
  if (source) begin(source, relation?.label);
}

/** Let a relation start at a mark, if one can; whether it does. */
export function begin(source, label) {
  const why =
    !state.hasRelations ? "This project has no relation labels."
    : marks.entity.size < 2 ? "A relation needs two marks."
    : now.judge ? "" : LOADING;
  if (readOnly()) sayReadOnly();
  else if (why) toast(why);
  else {
    select({ relating: source, label });
    if (allowedTargets().length) return showPrompt(), true;
    select({ mark: source });
    toast(`No relation can lead from “${wordsOf(marks.entity.get(source))}” to another mark here.`);
    refresh(); // the rules may have been loosened
  }
  return false;
}

function showPrompt() {
  const { relating, label } = now.view;
  const name = label ? ` “${now.labels.relation.get(label).name}”` : "";
  const how = hasFingers() ? "tap the other mark. A tap beside the words leaves."
    : "click the other mark, type its number, or choose it with arrows and ↵. With Shift another one follows. Esc leaves.";
  showMode(`Relation${name} from “${wordsOf(marks.entity.get(relating))}”: ${how}`);
}

/** The label of the relations that start here, by a shortcut. */
export function relateAs(key) {
  const { relating, candidate } = now.view;
  const label = labelAt("relation", key);
  if (!label) return sayUnset(key);
  select({ relating, label: label.uid, candidate });
  if (candidate) chooseTarget(candidate);
  else showPrompt();
}

/** Point at a mark that may become the target, or at none; what is against it is said. */
export function pointAt(uid, event) {
  const target = uid === now.view.relating ? null : uid;
  pointLine(whyNot(target) ? null : target, event);
  if (whyNot(target)) showMode(whyNot(target).sentence);
  else showPrompt();
}

/** To the next target that is allowed, or to the one before. */
export function stepTarget(step) {
  const { relating, candidate } = now.view;
  const order = marks.inTextOrder().map(({ uid }) => uid).filter((uid) => uid === relating || !whyNot(uid));
  let at = order.indexOf(candidate ?? relating);
  do at = (at + step + order.length) % order.length;
  while (order[at] === relating);
  propose(order[at]);
}

const propose = (candidate, typed = "") => {
  const { relating, label } = now.view;
  select({ relating, label, candidate, typed });
  showPrompt();
};

/** A digit of a target's number: chosen as soon as no other number begins so. */
export function typeNumber(digit) {
  const before = now.view.typed ?? "";
  const typed = targetsAt(before + digit).length ? before + digit : digit;
  const [first, ...others] = targetsAt(typed);
  if (first && !others.length) chooseTarget(first.uid);
  else if (first) propose(first.uid, typed);
}

/** With `stays`, another relation from the same source follows. */
export function chooseTarget(target, { stays = false } = {}) {
  const { relating: source, label: repeated } = now.view;
  if (!target || target === source) return;
  if (whyNot(target)) {
    showMode(whyNot(target).sentence);
    return void refresh(); // the rules may have been loosened
  }
  propose(target);
  const against = now.judge.forRelation({ source, target });
  const onPick = (label) => {
    const { relating, candidate } = now.view; // the server may have told other uids of them
    const operation = marks.making("relation", { source: relating, target: candidate, label: label.uid });
    act([operation]);
    if (stays) begin(relating, repeated);
    else select({ relation: operation.uid });
  };
  const allowed = now.labels.relation.all.filter((label) => label.active && !against(label));
  const only = allowed.length === 1 ? allowed[0] : allowed.find(({ uid }) => uid === repeated);
  if (only) {
    recent.relation.add(only.uid);
    onPick(only);
  } else {
    const { start, end } = marks.entity.get(target);
    openPicker("relation", { rect: text.rectOf(start, end), title: "Find a relation", against, onPick });
  }
}

/** A mark that is clicked: selected or, while a relation is being made, its other end. */
export const clickMark = (uid, { shiftKey }) => (now.view.relating ? chooseTarget(uid, { stays: shiftKey }) : selectMark(uid));
export const clickTarget = (token, { shiftKey }) => chooseTarget(targetOver(token), { stays: shiftKey });

/** Let the relation that is selected lead the other way. */
export function reverse() {
  const relation = marks.relation.get(now.view.relation);
  if (!relation) return;
  if (readOnly()) return sayReadOnly();
  if (!now.judge) return toast(LOADING);
  const ends = turned(relation);
  const why = now.judge.againstReversing(relation);
  const label = now.labels.relation.get(relation.label);
  if (marks.twin("relation", { ...relation, ...ends }, relation.label)) return toast(`There is a relation “${label.name}” the other way already.`);
  if (!why) return act([{ kind: "relation", verb: "reverse", uid: relation.uid, ...ends }]);
  toast(why.sentence);
  refresh(); // the rules may have been loosened
}
