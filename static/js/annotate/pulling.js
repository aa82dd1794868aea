// Draws a relation with the pointer: from the name of a mark or, when the mark is selected, from its words. Fingers scroll instead,
// and tap.

import { begin, chooseTarget, pointAt } from "./relating.js";
import { select } from "./selection.js";
import { targetOver, whyNot } from "./targets.js";
import { focusText, marks, now, readOnly, sheet, state, text, toast } from "./workspace.js";

const SLACK = 5; // pixels that a click may move
let from = null; // where the pointer went down: {source, x, y, isName}
let isPulling = false;

/** The mark under the pointer; for tokens that `isOut` leaves out, none. */
function markUnder({ clientX, clientY }, isOut = () => false) {
  for (const element of document.elementsFromPoint(clientX, clientY)) {
    const name = element.closest(".mark-name");
    if (name && sheet.contains(name)) return name.dataset.uid;
    const token = text.tokenAt(element);
    if (token !== null) return isOut(token) ? undefined : targetOver(token);
  }
  return undefined;
}

/** Inside the mark from whose words it is drawn, words are selected. */
const targetUnder = (event) => markUnder(event, (token) => !from.isName && marks.over(token).some(({ uid }) => uid === from.source));

export function beginPull(event) {
  from = null;
  if (event.button || event.pointerType === "touch" || readOnly() || now.view.relating || !state.hasRelations) return;
  const name = event.target.closest(".mark-name");
  const selected = marks.entity.get(now.view.mark);
  const token = text.tokenAt(event.target);
  // Words of a mark that was only just made may begin another one.
  const isOwn = selected && now.view.actions === true && token !== null && selected.start <= token && token <= selected.end;
  if (name || isOwn) from = { source: name?.dataset.uid ?? selected.uid, x: event.clientX, y: event.clientY, isName: Boolean(name) };
}

/** While a target is chosen by a click, the line follows the pointer, too. */
export function pointTarget(event) {
  if (now.view.relating && !isPulling && event.pointerType !== "touch") pointAt(markUnder(event), event);
}

/** Whether the pointer draws a relation, not a selection of words. */
export function pull(event) {
  if (!from || !marks.entity.has(from.source)) return false;
  const target = targetUnder(event);
  const isFar = Math.hypot(event.clientX - from.x, event.clientY - from.y) > SLACK;
  const wanted = from.isName ? isPulling || isFar : Boolean(target) && target !== from.source;
  if (wanted && !isPulling && !begin(from.source)) return (from = null), false;
  if (isPulling && !wanted) select({ mark: from.source });
  isPulling = wanted;
  sheet.classList.toggle("pulling", isPulling);
  if (isPulling) pointAt(target, event);
  return isPulling;
}

/** Whether that was a relation. */
export function endPull(event) {
  const [was, source] = [isPulling, from?.source];
  const target = was && marks.entity.has(source) ? targetUnder(event) : null;
  dropPull();
  if (!was) return false;
  focusText(); // the name had it
  const why = whyNot(target);
  if (!target || target === source || why) select({ mark: source });
  else chooseTarget(target, { stays: event.shiftKey });
  if (why) toast(why.sentence);
  return true;
}

export function dropPull() {
  from = null;
  isPulling = false;
  sheet.classList.remove("pulling");
}
