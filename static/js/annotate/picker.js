// The picker: finds a label in a large tree. Without a text it shows one level of the tree; digits and arrows go down.

import { number, plural } from "../words.js";
import { hasFingers } from "./fingers.js";
import { Offer } from "./offer.js";
import { drawOption } from "./option.js";
import { Ranking } from "./ranking.js";

const ROWS = 200; // more than any window shows
const GAP = 8; // pixels between it and the words, and the edges of the window
const LOWEST = 200; // pixels; where there is less room, it lies over the words
const ENOUGH = 340; // pixels below the words with which it does not go above them, however long its list
const AT_ONCE = 200; // ms after opening in which rows may still come: nobody has read them yet

export class Picker {
  constructor(root) {
    this.root = root;
    this.input = root.querySelector("input");
    this.list = root.querySelector("[role=listbox]");
    this.note = root.querySelector(".picker-note");
    this.input.addEventListener("input", () => this.#fill());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.input.addEventListener("pointerdown", () => (this.input.inputMode = ""));
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
    this.list.addEventListener("pointermove", ({ target }) => this.#point(this.#rowAt(target)));
    this.list.addEventListener("click", ({ target }) => this.#click(target));
    document.addEventListener("pointerdown", ({ target }) => this.isOpen && !root.contains(target) && this.close({ byPointer: true }), true);
    // It stays with the words when these are scrolled.
    document.addEventListener("scroll", ({ target }) => this.isOpen && !root.contains(target) && this.#place(), { capture: true, passive: true });
    addEventListener("resize", () => this.isOpen && this.#place());
  }

  get isOpen() { return !this.root.hidden; }

  /** `rect` tells where the words are in the window. `against` tells why a label is not allowed, or null; with `hides` such labels
      are left out. `uses` are those of the words in question, now or promised. `purpose` is said below the labels. `shortcutOf` tells
      the digit of a label, `labelAt` the label of a digit, `onShortcut` gives it another; with `onStick`, a label can be chosen for
      every selection to come. */
  open({ labels, recent, uses, against, hides, rect, query = "", title, purpose = "", current, sticky, ...listeners }) {
    Object.assign(this, { labels, recent, purpose, current, sticky, rect, level: null, typed: "", isNew: !query, onStick: null, ...listeners });
    this.offer = new Offer({ labels, against, hides, ranking: new Ranking(recent) });
    this.root.hidden = false;
    this.root.setAttribute("aria-label", title);
    this.input.placeholder = title;
    const isDigit = /^\d$/.test(query);
    this.input.value = isDigit ? "" : query;
    // Where fingers type on the screen, the keys would cover the list: they come when the field is touched.
    this.input.inputMode = hasFingers() ? "none" : "";
    this.input.focus();
    this.#learn(uses);
    this.#fill();
    if (isDigit) this.#digit(query);
  }

  close({ byPointer = false } = {}) {
    if (!this.isOpen) return;
    this.root.hidden = true;
    this.onClose?.({ byPointer });
  }

  /** What comes late is told in the rows that are there: they change places at the next key only. */
  async #learn(uses) {
    const { offer } = this;
    if (!(uses instanceof Promise)) return void (offer.ranking = new Ranking(this.recent, uses));
    const opened = performance.now();
    const ranking = new Ranking(this.recent, await uses);
    if (offer !== this.offer || !this.isOpen || !ranking.ofWords.size) return;
    offer.ranking = ranking;
    if (this.isNew && performance.now() - opened < AT_ONCE) this.#fill();
    else this.#draw();
  }

  #rowAt(target) {
    const row = target.closest("[role=option]");
    return row ? Number(row.dataset.at) : -1;
  }

  #click(target) {
    const row = this.rows[this.#rowAt(target)];
    if (!row) return;
    if (target.closest(".deeper") && !row.isLevel) this.#descend(row.label);
    else this.#pick(row, { sticks: Boolean(target.closest(".pin")) });
  }

  #fill() {
    const query = this.input.value.trim();
    this.typed = "";
    this.rows = this.offer.rows(query, this.level);
    this.left = Math.max(0, this.rows.length - ROWS);
    this.rows.length -= this.left;
    this.explains = this.rows.some(({ why }) => why);
    this.root.classList.toggle("explains", this.explains);
    this.#say(query);
    const likely = this.rows.findIndex(({ isLikely }) => isLikely);
    this.at = likely < 0 ? Math.max(0, this.rows.findIndex(({ dim }) => !dim)) : likely;
    this.#draw();
    this.#place();
  }

  /** The same rows, with what is known of them now. */
  #draw() {
    const { typed, onStick } = this;
    this.list.replaceChildren(...this.rows.map((row, at) => drawOption(row, {
      at,
      typed,
      facts: this.#facts(row),
      shortcut: this.shortcutOf?.(row.label.uid),
      canStick: onStick && !row.dim,
      isSticky: row.label.uid === this.sticky,
    })));
    this.#point(this.at);
  }

  #facts({ label, isRecent, dim, why, deeper }) {
    const count = this.offer.ranking.count(label.uid);
    const facts = [label.uid === this.current && "now", why?.note, dim && !why && !deeper && "off", count || (isRecent && "used last")];
    return facts.filter(Boolean).join(" · ");
  }

  #say(query) {
    const { hidden, allowed } = this.offer;
    const are = hidden ? `${plural(hidden, "label is", "labels are")} hidden: not allowed here.` : "";
    const more = this.left ? `${number(this.left)} more. Type to narrow the list.` : "";
    const none = !this.labels.all.length ? "There are no labels yet. A manager of the project adds them."
      : hidden && !allowed.length ? this.offer.reason
      : `No ${hidden ? "allowed" : "active"} label fits “${query}”.`;
    const digits = this.rows.some((row) => row.number?.length > 1) ? "Two digits take a label, or go" : "A digit takes a label, or goes";
    const up = this.level ? " Backspace goes back up." : "";
    const lasting = this.onStick ? " Ctrl+↵ marks every selection with it." : "";
    const keys = `${digits} down into it.${up}${lasting} Alt, Shift and a digit make that its shortcut.`;
    const greyed = this.explains ? `Greyed labels are not allowed here: ${hasFingers() ? "tap" : "point at"} one to read why.` : "";
    this.words = [this.purpose, this.rows.length ? more || (query || hidden || hasFingers() ? "" : keys) : none, are, greyed].filter(Boolean).join(" ");
  }

  #point(at) {
    if (at < 0 || at >= this.rows.length) at = Math.min(0, this.rows.length - 1);
    this.list.children[this.at]?.removeAttribute("aria-selected");
    this.at = at;
    const item = this.list.children[at];
    this.#note(this.rows[at]?.why?.sentence ?? this.words);
    if (!item) return void this.input.removeAttribute("aria-activedescendant");
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", item.id);
    this.onPoint?.(this.rows[at].label);
  }

  #note(words) {
    this.note.textContent = words;
    this.note.hidden = !words;
  }

  #pick(row, { sticks = false } = {}) {
    if (!row) return;
    if (row.dim) return row.deeper ? this.#descend(row.label) : this.onBarred();
    const { onPick, onStick } = this;
    this.root.hidden = true;
    if (sticks) onStick?.(row.label);
    onPick(row.label);
  }

  #descend(label) {
    this.level = label;
    this.input.value = "";
    this.#fill();
  }

  /** Of two digits the first only shows to which rows it leads. */
  #digit(digit) {
    const typed = this.typed + digit;
    const meant = this.rows.filter((row) => row.number?.startsWith(typed));
    const row = meant.find((each) => each.number === typed);
    if (row) return this.#take(row);
    this.typed = meant.length ? typed : "";
    if (meant.length) this.at = this.rows.indexOf(meant[0]);
    this.#draw();
    for (const each of [meant.at(-1), meant[0]]) this.list.children[this.rows.indexOf(each)]?.scrollIntoView({ block: "nearest" });
    this.#note(meant.length ? "Type the second digit; Backspace takes back the first." : `There is no ${typed} here.`);
  }

  #take(row) {
    if (row.stuck) {
      this.typed = "";
      this.at = this.rows.indexOf(row);
      this.#draw();
    } else if (row.deeper) this.#descend(row.label);
    else this.#pick(row);
  }

  #back() {
    if (!this.typed) this.level = this.level.parent;
    this.#fill();
  }

  #step(by) {
    this.#point((this.at + by + this.rows.length) % this.rows.length);
  }

  #handlerOf(event) {
    const { key } = event;
    const row = this.rows[this.at];
    const digit = /^Digit(\d)$/.exec(event.code)?.[1];
    if (event.altKey && !event.ctrlKey) {
      if (!digit) return null;
      return event.shiftKey ? () => row && this.#giveShortcut(digit, row.label) : () => this.#takeShortcut(digit);
    }
    if (event.ctrlKey || event.metaKey) return key === "Enter" ? () => this.#pick(row, { sticks: true }) : null;
    const always = {
      ArrowDown: () => this.#step(1),
      ArrowUp: () => this.#step(-1),
      Tab: () => this.#step(event.shiftKey ? -1 : 1),
      Enter: () => this.#pick(row),
      Escape: () => this.close(),
    }[key];
    if (always || this.input.value) return always;
    if (key === "ArrowRight" && row && !row.isLevel && !this.offer.hidden && this.offer.leadsOn(row.label)) return () => this.#descend(row.label);
    if (["Backspace", "ArrowLeft"].includes(key) && (this.level || this.typed)) return () => this.#back();
    return /^\d$/.test(key) && this.rows.some((each) => each.number) ? () => this.#digit(key) : null;
  }

  #takeShortcut(digit) {
    const label = this.labelAt(digit);
    if (label && this.offer.isAllowed(label)) return this.#pick({ label });
    if (!label) return this.onUnset(digit);
    this.#note(this.offer.against(label)?.sentence ?? `“${label.name}” is switched off and cannot be applied any more.`);
  }

  #giveShortcut(digit, label) {
    this.onShortcut(digit, label);
    this.#draw();
  }

  #key(event) {
    event.stopPropagation();
    if (event.isComposing) return;
    this.isNew = false;
    const handle = this.#handlerOf(event);
    if (!handle) return;
    event.preventDefault();
    if (event.key !== "Enter" || !event.repeat) handle(); // held from before, it would take a row that nobody has read
  }

  /** Below the words or, without room there, above them; cut to the room that there is. */
  #place() {
    const rect = this.rect();
    const [above, below] = [rect.top - 2 * GAP, innerHeight - rect.bottom - 2 * GAP];
    this.root.style.maxHeight = "";
    const { width, height } = this.root.getBoundingClientRect();
    const isBelow = below >= Math.min(height, ENOUGH) || below >= above;
    const room = Math.max(LOWEST, isBelow ? below : above);
    const top = isBelow ? rect.bottom + GAP : rect.top - Math.min(height, room) - GAP;
    this.root.style.maxHeight = `${room}px`;
    this.root.style.left = `${Math.max(GAP, Math.min(rect.left - GAP, innerWidth - width - GAP))}px`;
    this.root.style.top = `${Math.max(GAP, Math.min(top, innerHeight - Math.min(height, room) - GAP))}px`;
  }
}
