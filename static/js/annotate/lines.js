// Where the tokens stand: the lines into which the browser breaks them, and the room above and below each line. From left to
// right nothing depends on marks, so tokens are measured again only when the width or the font changes.

import { Blocks } from "./blocks.js";

const NOTHING = 4; // shown as wide as this: a token of characters without width

const away = (place, from, to) => Math.max(from - place, place - to, 0);
const heights = (rooms) => rooms.reduce((sum, { above, below }) => sum + above + below, 0);
const nearest = (all, distance) => all.reduce((best, each) => (distance(each) < distance(best) ? each : best));

export class Lines {
  #pieces = new Map();
  isStale = true;
  all = [];

  constructor(sheet, root) {
    Object.assign(this, { sheet, root, blocks: new Blocks(root) });
  }

  read(item) {
    this.blocks.read(item);
    this.forget();
  }

  forget() {
    this.isStale = true;
  }

  /** Pixels are counted from the corner of the sheet; the top of a line is that of its letters. */
  measure() {
    if (!this.isStale) return;
    this.isStale = false;
    this.#pieces.clear();
    this.blocks.flow();
    const origin = this.sheet.getBoundingClientRect();
    this.width = this.root.clientWidth;
    this.rtl = getComputedStyle(this.root).direction === "rtl";
    this.height = parseFloat(getComputedStyle(this.root).lineHeight);
    this.all = [];
    this.lineOf = [];
    this.blocks.measure((i, rects) => this.#add(i, rects, origin));
    this.blocks.split(this.all, this.rtl);
    // In the order in which they are seen: scripts that run to the left stand the other way round.
    this.all.forEach(({ parts }) => parts.sort((a, b) => a.left - b.left));
  }

  #add(i, rects, origin) {
    const wide = rects.filter((rect) => rect.width);
    // Where a token breaks it may leave an empty piece behind; a token of nothing but such is still somewhere.
    for (const rect of wide.length ? wide : rects.slice(0, 1)) {
      const [top, bottom] = [rect.top - origin.top, rect.bottom - origin.top];
      let line = this.all.at(-1);
      if (!line || top > line.bottom - 4 || bottom < line.top + 4) {
        line = { top, bottom, first: this.all.length ? i : 0, isWhole: this.lineOf[i] === undefined, height: this.height, parts: [], above: 0, below: 0 };
        this.all.push(line);
      }
      const part = { i, left: rect.left - origin.left, right: rect.left + (rect.width || NOTHING) - origin.left };
      // A token that ends on the line carries its room, so that the browser breaks the text where it did before.
      if (rect === rects.at(-1)) line.holder ??= i;
      line.parts.push(part);
      this.lineOf[i] ??= this.all.length - 1;
    }
    this.lineOf[i] ??= Math.max(0, this.all.length - 1);
  }

  /** What a span covers, line by line; more than one piece of a line where scripts of both directions meet. */
  pieces(start, end) {
    const key = `${start} ${end}`;
    if (!this.#pieces.has(key)) this.#pieces.set(key, this.#find(start, end));
    return this.#pieces.get(key);
  }

  #find(start, end) {
    const [first, last] = [this.lineOf[start], this.lineOf[end + 1] ?? this.all.length - 1];
    return Array.from({ length: last - first + 1 }, (_, n) => this.piecesOn(first + n, start, end)).flat();
  }

  piecesOn(line, start, end) {
    const pieces = [];
    let open = null;
    for (const { i, left, right } of this.all[line].parts) {
      if (i < start || i > end) open = null;
      else if (open) open.right = right;
      else pieces.push((open = { line, left, right }));
    }
    return pieces;
  }

  /** The token of the line above or below that is nearest to this one; without such a line, an infinite number. */
  vertical(token, step) {
    const line = this.all[this.lineOf[token] + step];
    return line ? this.#nearestOn(line, this.middleOf(token)) : step * Infinity;
  }

  middleOf(token) {
    const { left, right } = this.all[this.lineOf[token]].parts.find(({ i }) => i === token);
    return (left + right) / 2;
  }

  /** The token that is nearest to a place on the first line or, with a negative step, on the last one. */
  edge(step, x) {
    return this.#nearestOn(this.all.at(step > 0 ? 0 : -1), x);
  }

  #nearestOn({ parts }, x) {
    return nearest(parts, ({ left, right }) => away(x, left, right)).i;
  }

  /** The token that is nearest to a point; what lies above and below the letters belongs to their line. */
  nearest(x, y) {
    const line = nearest(this.all, ({ top, bottom, above, below }) => away(y, top - above, bottom + below));
    return this.#nearestOn(line, x);
  }

  /** The first and the last line that reach between two heights of the sheet. */
  between(from, to) {
    const first = this.all.findIndex(({ bottom, below }) => bottom + below >= from);
    return [first < 0 ? this.all.length : first, this.all.findLastIndex(({ top, above }) => top - above <= to)];
  }

  /** Make elements of the tokens from one line to another. */
  fill(first, last) {
    for (const line of this.all.slice(first, last + 1)) this.blocks.fill(line);
  }

  /** Where a token begins on the sheet. */
  placeOf(token) {
    const { top, parts } = this.all[this.lineOf[token]];
    return { left: parts.find(({ i }) => i === token).left, top };
  }

  /** All of them together. */
  get fullHeight() {
    const last = this.all.at(-1);
    return last ? last.bottom + last.below : 0;
  }

  /** The height of letters. */
  get letters() {
    return this.all.length ? this.all[0].bottom - this.all[0].top : 0;
  }

  /** Even pixels above and below each line, at least: room that is not needed any more stays as long as most of it is, so that the
      text keeps its place while marks come and go. Where lines stand then is counted: reading it from the page took 8 ms. */
  makeRoom(rooms) {
    const isKept = 2 * heights(rooms) >= heights(this.all);
    const wanted = ({ above, below }, needed) => (isKept ? { above: Math.max(above, needed.above), below: Math.max(below, needed.below) } : needed);
    let down = 0;
    this.all.forEach((line, at) => {
      const { above, below } = line.holder !== undefined ? wanted(line, rooms[at]) : line;
      const [rise, fall] = [above - line.above, below - line.below];
      line.top += down + rise;
      line.bottom += down + rise;
      down += rise + fall;
      if (!rise && !fall) return;
      Object.assign(line, { above, below });
      this.blocks.stretch(line);
    });
  }
}
