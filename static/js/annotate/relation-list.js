// The relations of the item as a list box: one stop of the Tab key; the arrow keys select in it. Only what changed is made anew.

import { make } from "../elements.js";

export class RelationList {
  #rows = new Map(); // uid: row
  #made = 0;
  #chosen = null;

  constructor(root) {
    this.root = root;
    this.none = root.nextElementSibling;
  }

  /** `onSelect(uid)`, `onRemove(uid)`, and `onLeave()` back to the text. */
  listen({ onSelect, onRemove, onLeave }) {
    this.root.addEventListener("click", ({ target }) => target.closest("li") && onSelect(target.closest("li").uid));
    this.root.addEventListener("focus", () => {
      const first = this.root.firstElementChild;
      if (first && !this.#chosen && this.root.matches(":focus-visible")) onSelect(first.uid); // a click selects by itself
    });
    this.root.addEventListener("keydown", (event) => {
      if (event.key === "Tab") return void event.stopPropagation(); // the browser's own here
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const rows = [...this.root.children];
      const at = rows.indexOf(this.#chosen);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (to !== undefined) rows[to] && onSelect(rows[to].uid);
      else if (event.key === "Escape") onLeave();
      else if (["Delete", "Backspace"].includes(event.key) && !event.shiftKey && this.#chosen) {
        onRemove(this.#chosen.uid);
        const next = rows[at + 1] ?? rows[at - 1];
        if (!this.#chosen && next?.isConnected) onSelect(next.uid);
      } else return;
      event.preventDefault();
    });
  }

  /** Relations as `{uid, source, name, target}`, the last three in words. */
  show(relations) {
    const rows = relations.map((relation) => this.#row(relation));
    this.#rows = new Map(rows.map((row) => [row.uid, row]));
    // A row that stays is not taken out: a click on it would be lost between its press and its release.
    const staying = new Set(rows);
    for (const row of [...this.root.children]) staying.has(row) || row.remove();
    rows.forEach((row, at) => row === this.root.children[at] || this.root.insertBefore(row, this.root.children[at] ?? null));
    this.root.hidden = !rows.length;
    this.none.hidden = rows.length > 0;
  }

  #row({ uid, source, name, target }) {
    const words = JSON.stringify([source, name, target]);
    const known = this.#rows.get(uid);
    if (known?.words === words) return known;
    const row = make("li", "relation", make("span", "", source), " ", make("span", "faint small", name), " ", make("span", "", target));
    row.id = `relation-${(this.#made += 1)}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", "false");
    return Object.assign(row, { uid, words });
  }

  choose(uid) {
    const row = this.#rows.get(uid) ?? null;
    if (row === this.#chosen) return;
    this.#chosen?.setAttribute("aria-selected", "false");
    this.#chosen = row;
    if (!row) return this.root.removeAttribute("aria-activedescendant");
    row.setAttribute("aria-selected", "true");
    // On narrow screens the page scrolls as a whole, and would leave the text.
    const pane = this.root.closest(".work-pane");
    if (pane.scrollHeight > pane.clientHeight) row.scrollIntoView({ block: "nearest" });
    this.root.setAttribute("aria-activedescendant", row.id);
  }
}
