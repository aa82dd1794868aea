// Which lines stand near the window: only what belongs to these is in the page. What comes near is drawn before it is seen.

const AHEAD = 1.5; // windows above and below this one whose lines are drawn
const LEAST = 0.5; // with fewer, the next are drawn

export class Near {
  ended = new AbortController();
  #lines = null; // the numbers of the first and the last one
  #view = [0, 0]; // what the window showed when it was last looked at

  /** `changed()` is called when other lines are near. */
  constructor(sheet, lines, changed) {
    Object.assign(this, { sheet, lines, changed });
    const { signal } = this.ended;
    const follow = () => requestAnimationFrame(() => this.follow());
    document.addEventListener("scroll", follow, { capture: true, passive: true, signal });
    addEventListener("resize", follow, { signal });
    addEventListener("beforeprint", () => this.#show([0, lines.all.length - 1]), { signal });
  }

  /** What the window shows of the sheet, from one height to another. */
  get view() {
    const { top } = this.sheet.getBoundingClientRect();
    return (this.#view = [-top, innerHeight - top]);
  }

  get span() {
    if (!this.#lines) this.look(this.view);
    return this.#lines;
  }

  /** Find what is near: after lines have moved, or have been measured again. */
  look(view) {
    this.#lines = this.#within(AHEAD, view);
  }

  /** A token in the middle of the window as it was, if the text did not begin in it. */
  middle() {
    const [from, to] = this.#view;
    const line = from > 0 && this.lines.all[this.lines.between((from + to) / 2, to)[0]];
    return line ? line.parts[0].i : null;
  }

  forget() {
    this.#lines = null;
  }

  #within(windows, [from, to]) {
    return this.lines.between(from - windows * (to - from), to + windows * (to - from));
  }

  /** After the window moved over the text. */
  follow() {
    if (!this.#lines) return;
    const { view } = this;
    const [first, last] = this.#within(LEAST, view);
    if (first < this.#lines[0] || last > this.#lines[1]) this.#show(this.#within(AHEAD, view));
  }

  #show(lines) {
    this.#lines = lines;
    this.changed();
  }
}
