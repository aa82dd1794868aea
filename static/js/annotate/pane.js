// The pane beside the text: the label tree, and a card about the label in question.

import { make } from "../elements.js";
import { number } from "../words.js";

const SHOWN = 200;

export class Pane {
  /** The branches that somebody opened are kept by this browser under a key: they are open in the items to come as well. */
  constructor(root, key) {
    this.key = key;
    this.tree = root.querySelector("#label-tree");
    this.card = root.querySelector("#label-card");
  }

  listen({ onLabel, onPin }) {
    this.tree.addEventListener("click", ({ target }) => {
      const twisty = target.closest(".twisty");
      const pin = target.closest(".pin");
      if (twisty) {
        this.#toggle(twisty.closest("li"));
        this.#keep();
      } else if (pin) onPin(pin.closest("li").label);
      else if (target.closest("[data-label]")) onLabel(this.labels.get(target.closest("[data-label]").dataset.label));
    });
    this.canPin = Boolean(onPin);
  }

  showTree(labels) {
    const opened = this.labels ? this.#opened() : this.#kept();
    this.labels = labels;
    this.#level(this.tree, labels.top);
    if (labels.top.length === 1 && !opened.size) this.#toggle(this.tree.firstElementChild);
    // Those inside come after it: the walk meets them, too.
    for (const item of this.tree.getElementsByTagName("li")) if (opened.has(item.label?.uid) && item.label.children.length) this.#toggle(item);
    this.tree.nextElementSibling.hidden = labels.all.length > 0;
  }

  #opened() {
    return new Set([...this.tree.querySelectorAll("li:has(> ul)")].map((item) => item.label.uid));
  }

  #keep() {
    try { localStorage.setItem(this.key, JSON.stringify([...this.#opened()])); } catch { /* open on this page only */ }
  }

  #kept() {
    try { return new Set(JSON.parse(localStorage.getItem(this.key))); } catch { return new Set(); }
  }

  #level(list, labels) {
    const rows = labels.slice(0, SHOWN).map((label) => this.#row(label));
    if (labels.length > SHOWN) rows.push(make("li", "row faint small", `${number(labels.length - SHOWN)} more: mark words and search`));
    list.replaceChildren(...rows);
  }

  #row(label) {
    const twisty = make(label.children.length ? "button" : "span", "twisty");
    const swatch = make("span", "swatch");
    swatch.style.setProperty("--c", label.color);
    const name = make("button", "name plain-button", label.name);
    name.dataset.label = label.uid;
    const row = make("div", `row${label.active ? "" : " off"}`, twisty, swatch, name);
    if (!label.active) row.append(make("span", "note", "off"));
    if (this.canPin && label.active) row.append(this.#pin(label));
    row.append(make("kbd", "shortcut"));
    if (label.size) row.append(make("span", "count", number(label.size)));
    const item = make("li", "", row);
    item.label = label;
    this.#showUse(item);
    if (label.children.length) {
      twisty.ariaLabel = `Labels below ${label.name}`;
      twisty.ariaExpanded = "false";
    }
    return item;
  }

  /** For the mouse; keys choose a sticky label in the picker. */
  #pin(label) {
    const title = `Mark every selection with ${label.name}`;
    return Object.assign(make("button", "pin plain-button", "pin"), { title, ariaLabel: `Pin ${label.name}`, tabIndex: -1 });
  }

  /** Which label every selection gets. */
  showSticky(label) {
    if (label === this.sticky) return;
    this.sticky = label;
    this.#showUses();
  }

  /** `shortcutOf` tells the digit of a label. */
  showShortcuts(shortcutOf) {
    this.shortcutOf = shortcutOf;
    this.#showUses();
  }

  #showUses() {
    for (const item of this.tree.getElementsByTagName("li")) if (item.label) this.#showUse(item);
  }

  #showUse(item) {
    const [pin, key] = [".pin", ".shortcut"].map((selector) => item.firstElementChild.querySelector(selector));
    const shortcut = this.shortcutOf?.(item.label.uid);
    if (pin) Object.assign(pin, { ariaPressed: String(item.label === this.sticky), textContent: item.label === this.sticky ? "pinned" : "pin" });
    key.textContent = shortcut ? `Alt ${shortcut}` : "";
    key.hidden = !shortcut;
  }

  #toggle(item) {
    const open = item.querySelector(":scope > ul");
    item.querySelector(".twisty").ariaExpanded = String(!open);
    if (open) return open.remove();
    const list = make("ul", "");
    this.#level(list, item.label.children);
    item.append(list);
  }

  showCard(label, path) {
    if (!label || label === this.shown) return;
    this.shown = label;
    const swatch = make("span", "swatch");
    swatch.style.setProperty("--c", label.color);
    const parts = [make("h2", "", swatch, " ", label.name)];
    if (path) parts.push(make("p", "faint small", path));
    if (!label.active) parts.push(make("p", "faint small", "Switched off: it cannot be applied any more. Marks that carry it stay."));
    parts.push(make("p", "soft small prose", label.description || "No description."));
    if (label.terms?.length) parts.push(make("p", "soft small", make("span", "faint", "Examples: "), label.terms.slice(0, 20).join(", ")));
    this.card.replaceChildren(...parts);
  }
}
