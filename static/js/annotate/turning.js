// Another page of the same way takes the place of the one that is shown, without the browser loading it. The event `turned` tells of it.

import { Judge } from "./judge.js";
import { leaveFor } from "./pages.js";
import { stepUnmarked } from "./selection.js";
import { say, show, showMode } from "./showing.js";
import { $, DONE, active, chosen, dismiss, focusText, items, marks, now, picker, sheets, state, takeItems, text, workOn } from "./workspace.js";

/** Go to an item by its address, or to the first one of the page. `isBack` is true where the browser has the address already. */
export function turn(page, address, isBack) {
  delete document.documentElement.dataset.ready;
  document.dispatchEvent(new Event("leaving"));
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close(""); // what is asked there is about an item that goes
  picker.close();
  showMode();
  dismiss(DONE);
  leaveFor(page);
  Object.assign(now, { view: {}, cursor: 0, stretch: null });
  putIn(page);
  if (!isBack && page.url !== location.pathname + location.search) history.pushState(null, "", page.url);
  document.title = page.title;
  workOn(items.find(({ here }) => here.page === address) ?? active);
  if (now.rules) now.judge = new Judge(now.rules, marks);
  show();
  focusText();
  text.scroller.scrollTo({ top: 0, behavior: "instant" });
  if (active !== items[0]) active.root.scrollIntoView({ block: "nearest", behavior: "instant" });
  document.dispatchEvent(new Event("turned"));
  document.dispatchEvent(new Event("entered"));
  // Whoever goes on by keys marks the first word next, or goes on from it, unless a step of undo led here.
  const isFree = !now.view.words && !chosen() && !marks.undecided.length;
  const isAtWord = isFree && text.root.matches(":focus-visible") && stepUnmarked(1);
  say(`${$("where").textContent.trim().replace(/\s+/g, " ")}. ${active.inWords}${isAtWord ? ` ${$("said").textContent}` : ""}`);
}

function putIn({ parts: { sheets: texts, ...parts }, state: { items: states, urls: { previous, next } }, max }) {
  const [left, elements] = [items, [...sheets.children]];
  for (const [id, part] of Object.entries(parts)) Object.assign($(id) ?? {}, part);
  document.querySelector(".work-bar progress").max = max;
  Object.assign(state.urls, { previous, next });
  sheets.insertAdjacentHTML("beforeend", texts.innerHTML);
  const entered = [...sheets.children].slice(elements.length);
  for (const sheet of sheets.querySelectorAll(".sheet")) Object.assign(sheet.dataset, state.comfort);
  takeItems(states, entered);
  for (const { text } of left) text.end();
  for (const element of elements) element.remove();
  window.htmx.process($("talks"));
  window.htmx.trigger($("talks"), "htmx:load", { elt: $("talks") }); // brings drafts back
}
