// Decides suggestions: the one that is selected, all of the item, or all of the item that have the same label. Removes marks.

import { plural } from "../words.js";
import { act } from "./changes.js";
import { enter } from "./entering.js";
import { refresh } from "./saving.js";
import { select, selectMark } from "./selection.js";
import { say } from "./showing.js";
import { LOADING, active, chosen, items, marks, now, readOnly, sayReadOnly, tellOfStep, toast } from "./workspace.js";

const NONE = { item: "Nothing is suggested in this item.", label: "Select a suggestion first: all that have its label are accepted." };
const isSame = (one, other) => one.kind === other?.kind && one.uid === other?.uid;
const isUndecided = ({ kind, uid }) => marks[kind].get(uid)?.status === "suggested";

/** @param {"one"|"label"|"item"} scope */
function suggestions(scope) {
  const one = marks.undecided.find((mark) => isSame(mark, chosen()));
  if (scope === "item") return marks.undecided;
  if (scope === "label") return one ? marks.undecided.filter(({ kind, label }) => kind === one.kind && label === one.label) : [];
  return one ? [one] : [];
}

/** All that is undecided, in the order in which it is gone through from what is selected or, without that, from the cursor. */
function ahead(step) {
  const order = step > 0 ? marks.undecided : marks.undecided.reverse();
  const isAhead = ({ kind, uid }) => (kind === "relation" || marks.entity.get(uid).start >= now.cursor) === step > 0;
  let at = order.findIndex((mark) => isSame(mark, chosen())) + 1;
  if (!at) at = Math.max(0, order.findIndex(isAhead));
  return [...order.slice(at), ...order.slice(0, at)];
}

function goOn(order) {
  const next = order.find(isUndecided);
  if (!next) return say("No suggestions are left.");
  if (next.kind === "entity") selectMark(next.uid);
  else select({ relation: next.uid, actions: true });
}

/** Behind the last one of the item comes the first one of the next item of the page that has any. */
export function nextSuggestion(step = 1) {
  const at = items.indexOf(active);
  const others = [...items.slice(at + 1), ...items.slice(0, at)];
  const isLast = !marks.undecided.length || isSame(marks.undecided.at(step > 0 ? -1 : 0), chosen());
  const item = isLast && (step > 0 ? others : others.reverse()).find((each) => each.marks.undecided.length);
  if (item) enter(item);
  goOn(ahead(step));
}

/** Accept what is suggested and go on to the next; whether all of it could be. */
export function accept(scope = "one") {
  if (readOnly()) return sayReadOnly();
  if (!now.labels) return toast(LOADING);
  const order = ahead(1);
  const wanted = suggestions(scope);
  if (NONE[scope] && !wanted.length) {
    toast(NONE[scope]);
    return true;
  }
  const before = marks.undecided.length;
  const forbidden = [];
  // One by one: what is accepted first may forbid what follows.
  act((function* () {
    for (const { kind, uid } of wanted) {
      const mark = marks[kind].get(uid);
      if (mark.status !== "suggested") continue; // accepted with its relation
      const why = now.judge.againstTaking(kind, mark);
      if (why) forbidden.push(why);
      else yield { kind, verb: "label", uid, label: mark.label };
    }
  })());
  if (scope !== "one") tellOfStep(sumOf(before - marks.undecided.length, forbidden.length));
  else if (forbidden.length) toast(forbidden[0].sentence);
  if (forbidden.length) refresh(); // the rules may have been loosened
  else if (scope !== "item") goOn(order);
  return !forbidden.length;
}

function sumOf(accepted, forbidden) {
  const rest = forbidden ? `, ${forbidden} not allowed: ${forbidden === 1 ? "it stays a suggestion" : "they stay suggestions"}` : "";
  return `${plural(accepted, "suggestion", "suggestions")} accepted${rest}.`;
}

/** Reject what is suggested and go on to the next; remove what is not. */
export function remove(scope = "one") {
  if (readOnly()) return sayReadOnly();
  const { kind, uid } = chosen() ?? {};
  const mark = marks[kind]?.get(uid);
  const order = ahead(1);
  const wanted = suggestions(scope);
  if (wanted.length) act(wanted.map(({ kind, uid }) => ({ kind, verb: "remove", uid })));
  else if (mark && scope === "one") act([{ kind, verb: "remove", uid }]);
  else return;
  if (scope !== "one") tellOfStep(`${plural(wanted.length, "suggestion", "suggestions")} rejected.`);
  if (scope !== "item" && wanted.length && order.some(isUndecided)) goOn(order);
  else if (mark && kind === "entity" && !marks.entity.has(uid)) select({ words: { anchor: mark.start, focus: mark.end } });
}
