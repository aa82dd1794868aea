// The picker: finds a label in a large tree. Without a text it shows one level of the tree; digits and arrows go down.

import { boldName } from "./labels.js";
import { number } from "../words.js";

const ROWS = 50;
const make = (tag, className, ...content) => {
  const element = Object.assign(document.createElement(tag), { className });
  element.append(...content);
  return element;
};

export class Picker {
  constructor(root) {
    this.root = root;
    this.input = root.querySelector("input");
    this.list = root.querySelector("[role=listbox]");
    this.note = root.querySelector(".picker-note");
    this.input.addEventListener("input", () => this.#fill());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
    this.list.addEventListener("pointermove", ({ target }) => this.#point(this.#rowAt(target)));
    this.list.addEventListener("click", ({ target }) => {
      const at = this.#rowAt(target);
      if (at < 0) return;
      if (target.closest(".deeper") && !this.rows[at].isLevel) this.#descend(this.rows[at].label);
      else this.#pick(this.rows[at]);
    });
    document.addEventListener("pointerdown", ({ target }) => this.isOpen && !root.contains(target) && this.close({ byPointer: true }), true);
  }

  get isOpen() { return !this.root.hidden; }

  open({ labels, recent, rect, query = "", title, current, onPick, onClose, onPoint }) {
    Object.assign(this, { labels, recent, current, onPick, onClose, onPoint, rect, level: null });
    this.root.hidden = false;
    this.root.setAttribute("aria-label", title);
    this.input.placeholder = title;
    this.input.value = /^[1-9]$/.test(query) ? "" : query;
    this.input.focus();
    this.#fill();
    if (/^[1-9]$/.test(query)) this.#digit(Number(query));
  }

  close({ byPointer = false } = {}) {
    if (!this.isOpen) return;
    this.root.hidden = true;
    this.onClose?.({ byPointer });
  }

  #rowAt(target) {
    const row = target.closest("[role=option]");
    return row ? Number(row.dataset.at) : -1;
  }

  #fill() {
    const query = this.input.value.trim();
    this.left = 0;
    if (query) {
      const { hits, left } = this.labels.search(query, ROWS);
      this.left = left;
      this.rows = hits.map((hit) => ({ ...hit, note: this.labels.path(hit.label) }));
    } else this.rows = this.#treeRows();
    this.list.replaceChildren(...this.rows.map((row, at) => this.#row(row, at)));
    this.#say(query);
    this.#point(Math.max(0, this.rows.findIndex(({ label, dim }) => label.active && !dim)));
    this.#place();
  }

  #treeRows() {
    const below = (this.level ? this.level.children : this.labels.top).filter((label) => label.offered);
    const tree = below.slice(0, ROWS).map((label, at) => ({ label, at: -1, digit: at < 9 ? at + 1 : 0, dim: !label.active, deeper: label.children.some((c) => c.offered) }));
    this.left = Math.max(0, below.length - ROWS);
    if (this.level) return [{ label: this.level, at: -1, isLevel: true, dim: !this.level.active, note: this.labels.path(this.level) }, ...tree];
    const known = this.recent.uids.map((uid) => this.labels.byUid.get(uid)).filter((label) => label?.active);
    return [...known.map((label) => ({ label, at: -1, isRecent: true, note: this.labels.path(label) })), ...tree];
  }

  #row(row, at) {
    const { label, digit, deeper, dim, isLevel, isRecent, note } = row;
    const swatch = make("span", "swatch");
    swatch.style.setProperty("--c", label.color);
    const key = digit ? make("kbd", "", String(digit)) : isLevel ? make("kbd", "", "↵") : make("span", "no-key");
    const item = make("li", `option${dim ? " dim" : ""}${isLevel ? " level" : ""}`, key, swatch, make("span", "name", ...boldName(row)));
    const facts = [label.uid === this.current ? "now" : "", isRecent ? "used last" : "", dim && !deeper ? "off" : "", note ?? ""].filter(Boolean).join(" · ");
    item.append(make("span", "note", facts));
    if (deeper) item.append(make("span", "deeper", `${number(label.size)} ▸`));
    if (isRecent && !this.rows[at + 1]?.isRecent) item.classList.add("last-recent");
    item.id = `option-${at}`;
    item.setAttribute("role", "option");
    item.dataset.at = at;
    if (dim) item.setAttribute("aria-disabled", "true");
    return item;
  }

  #say(query) {
    const more = this.left ? `${number(this.left)} more. Type to narrow the list.` : "";
    const none = this.labels.all.length ? `No active label contains “${query}”.` : "There are no labels yet. A manager of the project adds them.";
    const keys = this.level ? "A digit goes further down, Backspace goes back up." : "A digit takes a label, or goes down into it.";
    this.note.textContent = this.rows.length ? more || (query ? "" : keys) : none;
    this.note.hidden = !this.note.textContent;
  }

  #point(at) {
    if (at < 0 || at >= this.rows.length) at = Math.min(0, this.rows.length - 1);
    this.list.children[this.at]?.removeAttribute("aria-selected");
    this.at = at;
    const item = this.list.children[at];
    if (!item) return void this.input.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", item.id);
    this.onPoint?.(this.rows[at].label);
  }

  #pick(row) {
    if (!row) return;
    if (row.dim) return void (row.deeper && this.#descend(row.label));
    const { onPick } = this;
    this.root.hidden = true;
    onPick(row.label);
  }

  #descend(label) {
    this.level = label;
    this.input.value = "";
    this.#fill();
  }

  #digit(digit) {
    const row = this.rows.find((one) => one.digit === digit);
    if (row) row.deeper ? this.#descend(row.label) : this.#pick(row);
  }

  #key(event) {
    const { key } = event;
    const empty = !this.input.value;
    const row = this.rows[this.at];
    const handle = {
      ArrowDown: () => this.#point((this.at + 1) % this.rows.length),
      ArrowUp: () => this.#point((this.at - 1 + this.rows.length) % this.rows.length),
      Tab: () => this.#point((this.at + (event.shiftKey ? -1 : 1) + this.rows.length) % this.rows.length),
      Enter: () => this.#pick(row),
      Escape: () => this.close(),
    }[key];
    if (event.isComposing) return;
    if (handle) handle();
    else if (empty && key === "ArrowRight" && row?.label.children.some((c) => c.offered) && !row.isLevel) this.#descend(row.label);
    else if (empty && this.level && (key === "Backspace" || key === "ArrowLeft")) {
      this.level = this.level.parent;
      this.#fill();
    } else if (empty && /^[1-9]$/.test(key) && !event.ctrlKey && !event.metaKey && !event.altKey) this.#digit(Number(key));
    else return void event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Below the words or, without room there, above them. */
  #place() {
    const { width, height } = this.root.getBoundingClientRect();
    const left = Math.max(8, Math.min(this.rect.left - 8, innerWidth - width - 8));
    const below = this.rect.bottom + 8;
    const top = below + height < innerHeight - 8 || this.rect.top - height < 8 ? Math.min(below, innerHeight - height - 8) : this.rect.top - height - 8;
    this.root.style.left = `${left}px`;
    this.root.style.top = `${Math.max(8, top)}px`;
  }
}
