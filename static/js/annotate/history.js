// What can be undone and redone in this tab, over all items of the project: steps of an item, each with the operations that take it
// back and those that do it again.

import { renamed } from "./marks.js";
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
    for (const way of ["undo", "redo"]) step[way] = step[way].map((operation) => renamed(operation, kind, old, uid));
  }
}

const dropWhere = (isGone) => [past, future].forEach((steps) => steps.splice(0, Infinity, ...steps.filter((step) => !isGone(step))));

export const dropItem = ({ url }) => dropWhere(({ item }) => item.url === url);

/** What was refused is neither undone nor done again. */
export const dropSteps = (operations) => dropWhere(({ undo, redo }) => [...undo, ...redo].some((each) => operations.includes(each)));

addEventListener("pagehide", keep);
document.addEventListener("visibilitychange", () => document.hidden && keep());
