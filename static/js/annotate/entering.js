// Goes from one item of the page to another: the one that was entered last is what everything acts on. Those who show something of
// it are told by the events `leaving` and `entered` of the document.

import { Judge } from "./judge.js";
import { say, show, showChosen, showMode, showSelection } from "./showing.js";
import { active, focusText, items, marks, now, sheets, text, toast, workOn } from "./workspace.js";

/** The item before or after, if it is on the page. */
export const neighbour = (step) => items[items.indexOf(active) + step];

/** With nothing selected, and the cursor at its first word. `scrolls` is false for what is seen already. */
export function enter(item, { scrolls = true } = {}) {
  if (item === active) return;
  document.dispatchEvent(new Event("leaving"));
  now.view = {};
  now.cursor = 0;
  showMode();
  showChosen();
  showSelection();
  text.pointAt({});
  workOn(item);
  if (now.rules) now.judge = new Judge(now.rules, marks);
  show();
  // Whoever searches in the texts goes on typing.
  if (!document.activeElement?.closest("form")) focusText();
  if (scrolls) item.root.scrollIntoView({ block: "nearest", behavior: "instant" });
  say(item.inWords);
  document.dispatchEvent(new Event("entered"));
}

/** Enter the item under the pointer; false if a relation is being made in another one, which it would end. */
export function enterPointed({ target }) {
  const item = items.find(({ root }) => root.contains(target)) ?? active;
  const isBarred = now.view.relating && item !== active;
  if (isBarred) toast("A relation stays within its item. Esc ends it.");
  else enter(item, { scrolls: false });
  return !isBarred;
}

/** Before anything else is done there. A finger that goes down may only scroll. */
function enterFirst(event) {
  if (event.type === "pointerdown" && event.pointerType === "touch") return;
  const isBarred = !enterPointed(event);
  if (isBarred) event.stopPropagation();
  if (isBarred || event.target.closest(".page-item-head")) event.preventDefault(); // the text keeps the focus
}

export function listenToEntering() {
  for (const name of ["pointerdown", "click"]) sheets.addEventListener(name, enterFirst, true);
  sheets.addEventListener("focusin", ({ target }) => {
    const item = items.find((each) => each.text.root === target);
    if (item) enter(item);
  });
}
