// The picker: finds a label in a large tree. Without a text it shows one level of the tree; digits and arrows go down. Labels that
// are not allowed here come last, greyed, with the reason; of relations, only those that are allowed are shown.

import { boldName } from "./labels.js";
import { number, plural } from "../words.js";

const ROWS = 50;
const remembered = (ask, known = new Map()) => (label) => {
  if (!known.has(label)) known.set(label, ask(label));
  return known.get(label);
};
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

  /** `against` tells why a label is not allowed, or null; with `hides` such labels are left out. */
  open({ labels, recent, rect, query = "", title, current, against, hides, onPick, onClose, onPoint, onBarred }) {
    Object.assign(this, { labels, recent, current, onPick, onClose, onPoint, onBarred, rect, level: null });
    this.against = remembered(against);
    this.isOffered = (label) => label.active && !this.against(label);
    this.leadsOn = remembered((label) => label.children.some((child) => this.isOffered(child) || this.leadsOn(child)));
    const active = hides ? labels.all.filter((label) => label.active) : [];
    this.offered = active.filter(this.isOffered);
    this.hidden = active.length - this.offered.length;
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
    const found = query ? this.#foundRows(query) : this.hidden ? this.#offeredRows() : this.#treeRows();
    this.rows = [...found.filter((row) => !row.stuck), ...found.filter((row) => row.stuck && !this.hidden)];
    this.left = Math.max(0, this.rows.length - ROWS);
    this.rows.length -= this.left;
    this.list.replaceChildren(...this.rows.map((row, at) => this.#row(row, at)));
    this.explains = this.rows.some(({ why }) => why);
    this.root.classList.toggle("explains", this.explains);
    this.#say(query);
    this.#point(Math.max(0, this.rows.findIndex(({ dim }) => !dim)));
    this.#place();
  }

  #foundRows(query) {
    return this.labels.search(query).map((hit) => {
      const why = this.against(hit.label);
      return { ...hit, why, dim: Boolean(why), stuck: Boolean(why), hasPath: true };
    });
  }

  /** Where some are hidden, the others stand in one list. */
  #offeredRows() {
    const rows = this.offered.map((label, place) => ({ label, at: -1, digit: place < 9 ? place + 1 : 0, hasPath: true }));
    return [...this.#recentRows(), ...rows];
  }

  #recentRows() {
    const known = this.recent.uids.map((uid) => this.labels.byUid.get(uid)).filter((label) => label && this.isOffered(label));
    return known.map((label) => ({ label, at: -1, isRecent: true, hasPath: true }));
  }

  #treeRows() {
    const below = (this.level ? this.level.children : this.labels.top).filter((label) => label.offered);
    const tree = below.map((label, at) => {
      const [dim, deeper] = [!this.isOffered(label), this.leadsOn(label)];
      return { label, at: -1, digit: at < 9 ? at + 1 : 0, dim, deeper, stuck: dim && !deeper, why: this.#why(label) };
    });
    const { level } = this;
    if (level) return [{ label: level, at: -1, isLevel: true, dim: !this.isOffered(level), why: this.#why(level), hasPath: true }, ...tree];
    return [...this.#recentRows(), ...tree];
  }

  #why(label) {
    return label.active ? this.against(label) : null;
  }

  #row(row, at) {
    const { label, digit, deeper, dim, isLevel, isRecent, hasPath, why } = row;
    const swatch = make("span", "swatch");
    swatch.style.setProperty("--c", label.color);
    const key = digit ? make("kbd", "", String(digit)) : isLevel ? make("kbd", "", "↵") : make("span", "no-key");
    const item = make("li", `option${dim ? " dim" : ""}${isLevel ? " level" : ""}`, key, swatch, make("span", "name", ...boldName(row)));
    const facts = [label.uid === this.current ? "now" : "", isRecent ? "used last" : "", dim && !why && !deeper ? "off" : "", why?.note || (hasPath ? this.labels.path(label) : "")].filter(Boolean).join(" · ");
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
    const hidden = this.hidden ? `${plural(this.hidden, "label is", "labels are")} hidden: not allowed here.` : "";
    const more = this.left ? `${number(this.left)} more. Type to narrow the list.` : "";
    const none = !this.labels.all.length ? "There are no labels yet. A manager of the project adds them."
      : hidden && !this.offered.length ? this.against(this.labels.all.find((label) => label.active)).sentence
      : `No ${hidden ? "allowed" : "active"} label contains “${query}”.`;
    const keys = this.level ? "A digit goes further down, Backspace goes back up." : "A digit takes a label, or goes down into it.";
    const greyed = this.explains ? "Greyed labels are not allowed here: point at one to read why." : "";
    this.words = [this.rows.length ? more || (query || hidden ? "" : keys) : none, hidden, greyed].filter(Boolean).join(" ");
  }

  #point(at) {
    if (at < 0 || at >= this.rows.length) at = Math.min(0, this.rows.length - 1);
    this.list.children[this.at]?.removeAttribute("aria-selected");
    this.at = at;
    const item = this.list.children[at];
    this.note.textContent = this.rows[at]?.why?.sentence ?? this.words;
    this.note.hidden = !this.note.textContent;
    if (!item) return void this.input.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", item.id);
    this.onPoint?.(this.rows[at].label);
  }

  #pick(row) {
    if (!row) return;
    if (row.dim) return row.deeper ? this.#descend(row.label) : this.onBarred();
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
    const at = this.rows.findIndex((one) => one.digit === digit);
    const row = this.rows[at];
    if (row?.stuck) this.#point(at);
    else if (row) row.deeper ? this.#descend(row.label) : this.#pick(row);
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
    else if (empty && key === "ArrowRight" && row && !row.isLevel && !this.hidden && this.leadsOn(row.label)) this.#descend(row.label);
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
