// What the parts of the annotation screen share: the item, its marks, what is selected, and what is on the page.

import { Marks } from "./marks.js";
import { Original } from "./original.js";
import { Pane } from "./pane.js";
import { Picker } from "./picker.js";
import { Precedents } from "./precedents.js";
import { Progress } from "./progress.js";
import { Recent } from "./ranking.js";
import { RelationList } from "./relation-list.js";
import { Text } from "./text.js";

export const $ = (id) => document.getElementById(id);
export const state = JSON.parse($("state").textContent);
/** The item, as steps and what is not saved yet name it. */
export const here = { number: state.item.number, url: state.urls.item, page: location.pathname };
export const sheet = $("sheet");
export const marks = new Marks(state);
export const text = new Text(sheet, state.item);
export const original = new Original($("original"), state.item);
export const recent = Object.fromEntries(["entity", "relation"].map((kind) => [kind, new Recent(`${kind} labels ${state.project} ${state.annotator}`)]));
export const precedents = new Precedents(state.urls.words);
export const progress = new Progress(state);
export const picker = new Picker($("picker"));
export const relationList = state.hasRelations ? new RelationList($("relations")) : null;
export const pane = new Pane($("pane"), `open labels ${state.project}`);

/** What is so at the moment. `view` is what is selected: words (token numbers) or a mark or a relation; `relating` is the mark from
    which a relation starts, and `candidate` the one to which it may lead. `cursor` is a token, `stretch` what
    the selected mark covers while it is being resized, and `drag` whether a pointer is followed over the text. */
export const now = { view: {}, cursor: 0, stretch: null, drag: false, labels: null, judge: null };

export const SIGNED_OUT = "You were signed out. Sign in again in a new tab; what you did here is kept and saved then.";
export const LOADING = "The labels are still being loaded.";
export const DONE = "This item is done. Reopen it to change its marks.";
export const NOT_SAVED = "Not saved: ";

export const readOnly = () => state.reading || marks.done;
export const span = ({ anchor, focus }) => [Math.min(anchor, focus), Math.max(anchor, focus)];
/** The mark or the relation that is selected. */
export const chosen = () => (now.view.relation ? { kind: "relation", uid: now.view.relation } : now.view.mark && { kind: "entity", uid: now.view.mark });
export const tokensOf = (start, end) => state.item.tokens.slice(start, end + 1).join(" ");
export const wordsOf = (mark) => {
  const words = mark ? text.between(mark.start, mark.end) : "";
  return words.length > 60 ? `${words.slice(0, 58).trimEnd()}…` : words;
};
export const focusText = () => text.root.focus({ preventScroll: true });

export const toast = (words, kind = "info", action) => document.dispatchEvent(new CustomEvent("toast", { detail: { text: words, kind, action } }));
export const toastsOf = (words) => [...$("toasts").children].filter((shown) => shown.firstElementChild?.textContent.startsWith(words));
export const dismiss = (...words) => words.flatMap(toastsOf).forEach((shown) => shown.remove());
export const sayReadOnly = () => toast(state.reading ? "You are reading somebody else’s marks: they cannot be changed here." : DONE);
