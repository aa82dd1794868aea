// What the parts of the annotation screen share: the items, the one that is worked on and its marks, what is selected, and what is on
// the page.

import { Item } from "./item.js";
import { Marks } from "./marks.js";
import { first } from "./page.js";
import { Pane } from "./pane.js";
import { Picker } from "./picker.js";
import { Precedents } from "./precedents.js";
import { Progress } from "./progress.js";
import { Recent } from "./ranking.js";
import { RelationList } from "./relation-list.js";

export const $ = (id) => document.getElementById(id);
export const state = { ...first.state, urls: { ...first.state.urls } }; // those of the steps change from page to page
export const sheets = $("sheets");
/** Those of the page that is shown. */
export let items;
/** The item that is worked on, and what it is made of: who imports them sees those of the item that was entered last. */
export let active;
export let here, marks, original, sheet, text;
export const recent = Object.fromEntries(["entity", "relation"].map((kind) => [kind, new Recent(`${kind} labels ${state.project} ${state.annotator}`)]));
export const precedents = new Precedents(state.urls.words);
export const progress = new Progress(state);
export const picker = new Picker($("picker"));
export const relationList = state.hasRelations ? new RelationList($("relations")) : null;
export const pane = new Pane($("pane"), `open labels ${state.project}`);

const takers = [];

/** Show these items, each in its element. */
export function takeItems(states, elements) {
  items = states.map((values, at) => new Item(values, elements[at]));
  for (const take of takers) items.forEach(take);
  workOn(items[0]);
}

Marks.least = (state.comfort?.sureness ?? 0) / 100;
takeItems(state.items, [...sheets.children]);

/** Do something with each item of the page, and with those of the pages to come. */
export function withItems(take) {
  takers.push(take);
  items.forEach(take);
}

export function workOn(item) {
  active = item;
  ({ here, marks, original, sheet, text } = item);
  sheet.append($("over-text"));
  for (const each of items) {
    const isActive = each === active;
    each.root.ariaCurrent = isActive ? "true" : null;
    each.text.root.tabIndex = isActive ? 0 : -1; // Tab goes from mark to mark, and leaves the items together
  }
}

export const onPage = ({ url }) => items.find((item) => item.here.url === url);

/** What is so at the moment. `view` is what is selected: words (token numbers) or a mark or a relation; `relating` is the mark from
    which a relation starts, and `candidate` the one to which it may lead. `cursor` is a token, `stretch` what
    the selected mark covers while it is being resized, `hits` the words that were found, and `drag` whether a pointer is followed over the text. */
export const now = { view: {}, cursor: 0, stretch: null, hits: [], drag: false, labels: null, rules: null, judge: null };

export const SIGNED_OUT = "You were signed out. Sign in again in a new tab; what you did here is kept and saved then.";
export const LOADING = "The labels are still being loaded.";
export const DONE = "This item is done. Reopen it to change its marks.";
export const NOT_SAVED = "Not saved: ";

export const readOnly = () => state.reading || marks.done;
export const span = ({ anchor, focus }) => [Math.min(anchor, focus), Math.max(anchor, focus)];
/** The mark or the relation that is selected. */
export const chosen = () => (now.view.relation ? { kind: "relation", uid: now.view.relation } : now.view.mark && { kind: "entity", uid: now.view.mark });
export const tokensOf = (start, end) => active.tokens.slice(start, end + 1).join(" ");
export const wordsOf = (mark) => {
  const words = mark ? text.between(mark.start, mark.end) : "";
  return words.length > 60 ? `${words.slice(0, 58).trimEnd()}…` : words;
};
export const focusText = () => text.root.focus({ preventScroll: true });

export const toast = (words, kind = "info", action) => document.dispatchEvent(new CustomEvent("toast", { detail: { text: words, kind, action } }));
export const toastsOf = (words) => [...$("toasts").children].filter((shown) => shown.firstElementChild?.textContent.startsWith(words));
export const dismiss = (...words) => words.flatMap(toastsOf).forEach((shown) => shown.remove());
/** What is said of a step of undo, until the next one. */
let told = null;
export const tellOfStep = (words) => toast((told = words));
export const dismissOfStep = () => told && dismiss(told);
export const sayReadOnly = () => toast(state.reading ? "You are reading: these marks cannot be changed here." : DONE);
