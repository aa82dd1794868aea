// What can be undone and redone in this tab, over all items of the project: steps of an item and of a version of its text, each with
// the operations that take it back and those that do it again.

import { renamed } from "./marks.js";
import { proofKey } from "./queue.js";
import { state } from "./workspace.js";

const MOST = 200;
const KEY = `steps ${state.project} ${state.annotator}`;

function stored() {
  try { return JSON.parse(sessionStorage.getItem(KEY)) ?? {}; } catch { return {}; }
}

const kept = stored();
export const past = kept.past ?? [];
export const future = kept.future ?? [];
/** What brings a mark back with a label that was switched off meanwhile. */
export const proofs = new Map(kept.proofs);
for (const step of [...past, ...future]) step.textVersion ??= 1; // from before texts could be corrected
let coming = kept.coming; // what the page that was asked for is to do: “undo” or “redo”

/** For the next page of this tab. */
export function keep() {
  const values = { past, future, coming, proofs: [...proofs].slice(-MOST) };
  try { sessionStorage.setItem(KEY, JSON.stringify(values)); } catch { /* storage may be off or full: undo ends with the page then */ }
}

export function remember(step) {
  past.push(step);
  past.splice(0, past.length - MOST);
  future.length = 0;
}

/** Leave a wish for the next page. */
export function wish(way) {
  coming = way;
}

export function takeWish() {
  const way = coming;
  coming = undefined;
  return way;
}

/** The server knew this mark under another uid already. */
export function renameInSteps(item, kind, old, uid) {
  for (const step of [...past, ...future].filter((each) => each.item.url === item.url)) {
    for (const way of WAYS) step[way] = step[way].map((operation) => renamed(operation, kind, old, uid));
  }
}

const WAYS = ["undo", "redo"];
const isPlaced = ({ start }) => start !== undefined;

/** Steps of an item that are about another version of its text than this one. */
export const stepsBeside = ({ here }, textVersion) =>
  [...past, ...future].filter((step) => step.item.url === here.url && !step.batch && step.textVersion !== textVersion);

/** What steps are about: each time the version of the text, the first and the last token. */
export const spansOf = (steps) =>
  steps.flatMap(({ textVersion, undo, redo }) => [...undo, ...redo].filter(isPlaced).map(({ start, end }) => [textVersion, start, end]));

/** Let steps be about this text: in their order, `spans` are where the same words stand there. Steps whose words are gone (null) go; how many? */
export function moveSteps(steps, textVersion, spans) {
  const places = spans.values();
  const gone = new Set();
  const moved = (step, operation) => {
    if (!isPlaced(operation)) return operation;
    const [start, end] = places.next().value ?? (gone.add(step), []);
    const there = { ...operation, start, end };
    const proof = proofs.get(proofKey(step.item, operation));
    if (proof) proofs.set(proofKey(step.item, there), proof);
    return there;
  };
  for (const step of steps) {
    for (const way of WAYS) step[way] = step[way].map((operation) => moved(step, operation));
    step.textVersion = textVersion;
  }
  dropWhere((step) => gone.has(step));
  return gone.size;
}

const dropWhere = (isGone) => [past, future].forEach((steps) => steps.splice(0, Infinity, ...steps.filter((step) => !isGone(step))));

export const dropItem = ({ url }) => dropWhere(({ item }) => item.url === url);

/** What was refused is neither undone nor done again. */
export const dropSteps = (operations) => dropWhere(({ undo, redo }) => [...undo, ...redo].some((each) => operations.includes(each)));

addEventListener("pagehide", keep);
document.addEventListener("visibilitychange", () => document.hidden && keep());
