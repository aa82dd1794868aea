// The places in the dialog of all alike, each with a tick. All are ticked at first, those too that have not been fetched yet: what
// is kept is only what differs from that, or, once none is ticked, what is ticked. Those that a rule forbids are shown without one.

import { make } from "../elements.js";
import { number, plural } from "../words.js";

export class Places {
  #all = true;
  #others = new Set(); // the keys of places that are not as `#all` says
  #last = null; // the box that was changed last: where a range begins

  /** `onChange` is called when ticks change, `onEnd` when the last row comes into sight. */
  constructor(list, { onChange, onEnd }) {
    Object.assign(this, { list, onChange });
    list.addEventListener("click", (event) => this.#click(event));
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("focusin", ({ target }) => target.matches("input") && this.#stand(target));
    // A click with Shift would mark the text between as well.
    list.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault());
    this.watch = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && onEnd(), { root: list.closest(".dialog-body"), rootMargin: "400px" });
  }

  /** `count` is how many places may be ticked, shown yet or not; `colors` are those of its words, by what they are in it. */
  begin({ count, colors = {}, rtl = false }) {
    Object.assign(this, { count, colors });
    this.#all = true;
    this.#others.clear();
    this.#last = null;
    this.list.replaceChildren();
    this.list.classList.toggle("rtl", rtl);
  }

  append(places) {
    this.list.append(...places.map((place) => this.#row(place)));
    if (!this.list.querySelector("input[tabindex='0']")) this.boxes[0]?.setAttribute("tabindex", "0");
    this.watch.disconnect();
    if (this.list.lastElementChild) this.watch.observe(this.list.lastElementChild);
  }

  get boxes() { return [...this.list.querySelectorAll("input")]; }
  get ticked() { return this.#all ? this.count - this.#others.size : this.#others.size; }

  /** What is to be sent. */
  get choice() { return { [this.#all ? "unticked" : "ticked"]: [...this.#others] }; }

  tickAll(all) {
    this.#all = all;
    this.#others.clear();
    for (const box of this.boxes) box.checked = all;
    this.onChange();
  }

  focus() {
    this.list.querySelector("input[tabindex='0']")?.focus({ preventScroll: true });
  }

  #row(place) {
    const { number: item, url, parts, against } = place;
    const link = Object.assign(make("a", "num", `Item ${number(item)}`), { href: url, target: "_blank", tabIndex: against ? 0 : -1 });
    const facts = make("span", "facts", ...stateOf(place), link);
    if (against) return make("li", "place forbidden", make("div", "context-line", this.#context(parts)), facts, make("span", "reason", against));
    return make("li", "place", make("label", "context-line", this.#box(place), this.#context(parts)), facts);
  }

  #box({ key }) {
    const checked = this.#all !== this.#others.has(key);
    return Object.assign(make("input", ""), { type: "checkbox", value: key, tabIndex: -1, checked });
  }

  /** The words between what stands before and after them; of a relation from its first end to the other. */
  #context(parts) {
    const roles = parts.map(([, role]) => role);
    const [first, last] = [roles.findIndex(Boolean), roles.findLastIndex(Boolean)];
    const draw = ([words, role]) => {
      if (!role) return words;
      const marked = make("b", "alike", words);
      marked.style.setProperty("--c", this.colors[role]);
      return marked;
    };
    const cell = (name, ...range) => make("span", name, ...parts.slice(...range).map(draw));
    return make("span", "context", cell("before", 0, first), cell("", first, last + 1), cell("after", last + 1));
  }

  #click({ target, shiftKey }) {
    if (target.matches("input")) this.#tick(target, shiftKey);
  }

  /** What this box shows holds for it, and in a range for all that were passed. */
  #tick(box, isRange) {
    const boxes = this.boxes;
    const at = boxes.indexOf(box);
    const from = isRange && this.#last ? boxes.indexOf(this.#last) : at;
    for (const each of boxes.slice(Math.min(at, from), Math.max(at, from) + 1)) {
      each.checked = box.checked;
      this.#others[box.checked === this.#all ? "delete" : "add"](each.value);
    }
    this.#last = box;
    this.onChange();
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity, PageDown: 10, PageUp: -10 }[event.key];
    const { target: box, shiftKey } = event;
    if (!box.matches("input")) return;
    if (event.key === " " && shiftKey) {
      event.preventDefault();
      box.checked = !box.checked;
      this.#tick(box, true);
    }
    if (!step) return;
    event.preventDefault();
    const boxes = this.boxes;
    boxes[Math.max(0, Math.min(boxes.length - 1, boxes.indexOf(box) + step))].focus();
  }

  /** One row is in the order of Tab, with its link. */
  #stand(box) {
    for (const each of this.list.querySelectorAll("[tabindex='0']")) each.tabIndex = -1;
    for (const each of box.closest("li").querySelectorAll("input, a")) each.tabIndex = 0;
  }
}

/** Of the item of a place, and what is suggested there. */
function stateOf({ state, suggestions }) {
  const words = make("span", `state ${state}`, state);
  if (!suggestions) return [words];
  const open = make("span", "chip", `${number(suggestions)} ?`);
  open.title = plural(suggestions, "undecided suggestion", "undecided suggestions");
  return [words, open];
}
