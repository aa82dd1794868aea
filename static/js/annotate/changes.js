// Every change of the item goes through here: applied at once, sent, and remembered for undo.

import { plural } from "../words.js";
import { redoBatch, undoBatch } from "./batches.js";
import { enter } from "./entering.js";
import { dropItem, future, past, remember, takeWish, wish } from "./history.js";
import { wordsOfChange } from "./not-saved.js";
import { leave, save } from "./saving.js";
import { dropGone, select, selectMark } from "./selection.js";
import { show } from "./showing.js";
import { $, active, dismissOfStep, focusText, here, marks, onPage, precedents, progress, readOnly, state, tellOfStep, toast } from "./workspace.js";

/** Apply operations and send them; whether any of them changed something. */
export function act(operations) {
  const step = perform(operations);
  if (step.redo.length) remember(step);
  show();
  return step.redo.length > 0;
}

function perform(operations) {
  const step = { item: here, textVersion: active.textVersion, undo: [], redo: [] };
  for (const operation of operations) {
    const inverse = marks.apply(operation);
    if (!inverse) continue;
    if (operation.verb === "done") progress.count(operation.done ? 1 : -1);
    step.redo.push(operation);
    step.undo.unshift(...inverse);
    save(operation, inverse);
  }
  if (step.redo.length) {
    precedents.forget();
    dismissOfStep();
  }
  dropGone();
  return step;
}

const isHere = ({ item }) => item.url === here.url;

/** Whether these operations change something, and those that they take back lead to what is there now. */
function fits(operations, back) {
  const tried = marks.copy();
  const isApplied = operations.every((operation) => tried.apply(operation));
  back.forEach((operation) => tried.apply(operation));
  return isApplied && tried.same(marks);
}

/** What a step did, or how much of it there is. */
function wordsOfStep({ undo, redo }) {
  const [first, ...others] = redo;
  const mark = [...undo, ...redo].find(({ kind, verb, uid }) => verb === "add" && kind === first.kind && uid === first.uid);
  const words = wordsOfChange(first, [mark ?? first]);
  return others.length ? `${words} and ${plural(others.length, "more change", "more changes")}` : words;
}

/** Whether a step was taken back: one of another item is taken back there, on this page or on its own. */
function takeBack(from, to, way, back) {
  if (state.reading) return;
  if (from.at(-1)?.batch) return void (way === "undo" ? undoBatch : redoBatch)(from.at(-1));
  const itsItem = from.length && onPage(from.at(-1).item);
  if (itsItem) enter(itsItem);
  const dropped = [];
  const isOfNow = (step) => step.textVersion === active.textVersion && fits(step[way], step[back]);
  while (from.length && isHere(from.at(-1)) && !isOfNow(from.at(-1))) {
    dropped.push(wordsOfStep(from.pop()));
  }
  if (dropped.length) toast(`${plural(dropped.length, "change", "changes")} cannot be ${way === "undo" ? "undone" : "done again"} any more, because the marks were changed elsewhere meanwhile: ${dropped.join("; ")}.`);
  const step = from.at(-1);
  if (dropped.length || !step) return void show();
  if (!isHere(step)) return void leave(step.item.page, () => wish(way));
  if (readOnly() && step[way].every(({ kind }) => kind !== "item")) return void ask(step, from, way, back);
  perform(step[way]);
  from.pop();
  to.push(step);
  show();
  selectTouched(step[way], step[back]);
  return true;
}

const dialog = $("done-dialog");
let answer = {}; // what each button of the dialog does

/** The item of a step was done elsewhere: reopen it and go on, or leave the step out. */
function ask(step, from, way, back) {
  const again = ({ undo, redo })[way];
  const skip = () => {
    if (from.at(-1) === step) from.pop();
    show();
    again();
  };
  const reopen = () => {
    if (marks.done) {
      step[way].unshift({ kind: "item", verb: "done", done: false });
      step[back].push({ kind: "item", verb: "done", done: true });
    }
    again();
  };
  answer = { skip, reopen };
  const words = wordsOfStep(step);
  dialog.querySelector("[data-step]").textContent = words;
  dialog.querySelector("[value=skip]").textContent = `Skip ${words}`;
  dialog.querySelector("[value=reopen]").textContent = `Reopen and ${way === "undo" ? "undo" : "do again"}`;
  dialog.returnValue = "";
  dialog.showModal();
}

dialog?.addEventListener("close", () => {
  focusText();
  answer[dialog.returnValue]?.();
});

/** What came back or, where a mark went, its words. */
function selectTouched(operations, opposite) {
  const found = operations.find(({ kind, uid }) => marks[kind]?.has?.(uid));
  const words = opposite.find(({ kind, verb }) => kind === "entity" && verb === "add");
  if (found?.kind === "entity") selectMark(found.uid, { actions: false });
  else if (found) select({ relation: found.uid });
  else if (words) select({ words: { anchor: words.start, focus: words.end } });
}

export const undo = () => takeBack(past, future, "undo", "redo");
export const redo = () => takeBack(future, past, "redo", "undo");

/** Undo or redo what a page of another item left to this one. */
export function resume() {
  const way = takeWish();
  const steps = { undo: past, redo: future }[way];
  const step = steps?.at(-1);
  if (!step) return;
  if (!onPage(step.item)) {
    dropItem(step.item);
    toast(`Item ${step.item.number} is not there any more: what you did in it cannot be taken back.`);
    return show();
  }
  if (({ undo, redo })[way]()) tellOfStep(`${way === "undo" ? "Undone" : "Done again"} in item ${here.number}, where you were before.`);
}
