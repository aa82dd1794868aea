// The words of an item in the page. First all are plain text, in which the browser breaks the lines and each token is measured:
// an element for each of 18,000 tokens takes a second. Then every few lines become a block of their own, so that a line that gets
// room moves those below it without breaking them anew. Only in blocks near the window the tokens are elements.

import { make } from "../elements.js";

const LINES = 10; // of a block, at least
const CHUNK = 200; // tokens of a piece of plain text, in which a place is found quickly
const PLAIN = make("span", "tok");
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

export class Blocks {
  #tokens = [];
  #gaps = [];
  #places = null; // of each token, while all is plain text: a node, and from where to where in it
  #elements = []; // of the tokens near the window, by their numbers

  constructor(root) {
    this.root = root;
  }

  read({ tokens, gaps }) {
    [this.#tokens, this.#gaps, this.#places] = [tokens, gaps, null];
    this.flow();
  }

  /** Let the browser break all of the text. */
  flow() {
    if (this.#places) return;
    this.#elements = [];
    const nodes = [];
    let words = "";
    this.#places = this.#tokens.map((token, i) => {
      if (i % CHUNK === 0) [words] = ["", nodes.push(new Text())];
      const from = words.length + this.#gaps[i].length;
      words += this.#gaps[i] + token;
      if (i % CHUNK === CHUNK - 1 || i === this.#tokens.length - 1) nodes.at(-1).data = words;
      return [nodes.at(-1), from, words.length];
    });
    this.root.replaceChildren(...nodes);
  }

  /** Call with each token and the rectangles that it covers in plain text. */
  measure(add) {
    const range = new Range();
    this.#places.forEach(([node, from, to], i) => {
      range.setStart(node, from);
      range.setEnd(node, to);
      add(i, [...range.getClientRects()]);
    });
  }

  /** Make blocks of lines: each knows its `first` token, whether that begins on it (`isWhole`), and the `height` of its box. */
  split(lines, rtl) {
    if (!lines.length) return; // what is not shown stays as it is
    this.#places = null;
    // There the direction of a word does not depend on the words of another block.
    const isStrong = (token) => /\p{L}/u.test(token) && RIGHT_TO_LEFT.test(token) === rtl;
    const isStart = ({ first, isWhole }) => isWhole && [first - 1, first].every((i) => isStrong(this.#tokens[i]));
    let block = null;
    for (const line of lines) {
      if (!block || (block.lines.length >= LINES && isStart(line))) block = { lines: [], from: line.first, root: make("div"), isFilled: false };
      block.lines.push(line);
      line.block = block;
    }
    const blocks = [...new Set(lines.map((line) => line.block))];
    blocks.forEach((each, at) => {
      each.to = blocks[at + 1]?.from ?? this.#tokens.length;
      each.root.append(this.#tokens.slice(each.from, each.to).map((token, n) => (n ? this.#gaps[each.from + n] : "") + token).join("") + (this.#gaps[each.to] ?? ""));
      fit(each);
    });
    this.root.replaceChildren(...blocks.map(({ root }) => root));
  }

  /** The element of a token, on a line. */
  elementOf(token, line) {
    this.fill(line);
    return this.#elements[token];
  }

  /** Make elements of all tokens of the block of a line. Rows keep lines as they were broken: elements are wider by fractions of pixels. */
  fill({ block }) {
    if (block.isFilled) return;
    block.isFilled = true;
    const rows = new Map(block.lines.filter(({ isWhole }) => isWhole).map(({ first }) => [first, make("span", "unbroken")]));
    const nodes = [];
    let row;
    for (let i = block.from; i < block.to; i += 1) {
      const isFirst = rows.has(i);
      row = rows.get(i) ?? row;
      const gap = i > block.from ? this.#gaps[i] : "";
      if (isFirst) nodes.push(gap, row);
      const token = (this.#elements[i] = PLAIN.cloneNode()); // twice as fast as a new one
      token.setAttribute("data-i", i);
      token.append(this.#tokens[i]);
      row.append(...(isFirst || !gap ? [token] : [gap, token]));
    }
    for (const { first, isWhole } of block.lines) if (!isWhole) this.#elements[first].parentElement.className = "";
    const root = make("div", "", ...nodes, this.#gaps[block.to] ?? "");
    block.root.replaceWith(root);
    block.root = root;
    fit(block);
    block.lines.forEach((line) => this.#giveRoom(line));
  }

  /** Let a line have the room above and below that it says. */
  stretch(line) {
    fit(line.block);
    if (line.block.isFilled) this.#giveRoom(line);
  }

  /** An empty element makes the line box taller. */
  #giveRoom(line) {
    const { above, below, height, holder } = line;
    if (!above && !below) return void line.room?.remove();
    line.room ??= make("i", "room");
    if (!line.room.isConnected) this.#elements[holder].append(line.room);
    line.room.style.lineHeight = `${height + above + below}px`;
    line.room.style.verticalAlign = `${(above - below) / 2}px`;
  }
}

/** The height of a block is that of its lines. */
function fit({ root, lines }) {
  root.style.height = `${lines.reduce((sum, { height, above, below }) => sum + height + above + below, 0)}px`;
}
