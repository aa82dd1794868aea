// An item of the page: what the server knows of it, its marks, and what shows them.

import { plural } from "../words.js";
import { Marks } from "./marks.js";
import { Original } from "./original.js";
import { Text } from "./text.js";

export class Item {
  isStale = false; // changed elsewhere, as an answer told
  isBehind = false; // the server has suggested something that is not shown yet
  seen = 0; // which answer about it

  constructor({ item, project, flags, urls, revision, broken, isLater, ...marks }, root) {
    const { pk, number } = item;
    Object.assign(this, { pk, number, flags, urls, revision, broken, isLater, root }); // `isLater`: it was left for later
    /** As steps and what is not saved yet name it. */
    this.here = { number, project, url: urls.item, page: urls.page };
    this.sheet = root.querySelector(".sheet");
    this.marks = new Marks(marks);
    this.#know(item);
    this.text = new Text(this.sheet, this);
    this.original = new Original(root.querySelector("[data-original]"), item);
  }

  #know({ text_version: textVersion, tokens, separator, glued }) {
    Object.assign(this, { textVersion, tokens: tokens.split(separator) });
    this.gaps = this.tokens.map(() => " ");
    for (const token of glued) this.gaps[token] = "";
  }

  /** Show its text as it was corrected. */
  read(item) {
    this.#know(item);
    this.text.read(this);
    this.original.read(item);
  }

  /** What changed since the last time. */
  draw(labels) {
    const { done, entities, entity, relations } = this.marks;
    this.text.draw({ entities, relations, labels, broken: this.broken });
    this.root.classList.toggle("done", done);
    const head = this.root.querySelector(".page-item-head");
    if (!head) return;
    head.querySelector("[data-done]").hidden = !done;
    head.querySelector("[data-counts]").textContent = entity.size ? this.#counts : "";
  }

  /** As it is named and said. */
  get inWords() {
    return [`Item ${this.number}`, this.marks.done && "done", this.#counts].filter(Boolean).join(", ");
  }

  get #counts() {
    const accepted = this.marks.entities.filter(({ status }) => status === "accepted").length;
    const undecided = this.marks.undecided.length;
    return [plural(accepted, "mark", "marks"), undecided && plural(undecided, "suggestion", "suggestions")].filter(Boolean).join(", ");
  }
}
