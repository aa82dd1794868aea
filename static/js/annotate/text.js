// Draws the text of an item and its marks. Everything is counted in tokens; pixels are only measured, never stored.
//
// Tokens are inline text, so that the browser breaks lines and orders scripts as it does anywhere. Marks and relations lie
// in layers over them, line by line. After a change all places are computed, which is quick, and only what looks different is put
// into the page, of the lines near the window; what is selected or pointed at swaps classes.

import { route } from "./arcs.js";
import { lay } from "./lanes.js";
import { Layer } from "./layers.js";
import { Lines } from "./lines.js";
import { Near } from "./near.js";
import { Ruler, buildArc, buildName, buildTint, buildWords, nameOf, partsOf } from "./paint.js";

const ROOM = 4; // between what belongs to one line and to the next
const isSame = (one, other) => one.length === other.length && one.every((value, at) => value === other[at]);
const find = (layer, uid) => [...layer.root.querySelectorAll(`[data-uid="${CSS.escape(uid)}"]`)];

export class Text {
  whenFilled = []; // what is called when other elements are drawn
  #shown = { entities: [], relations: [] };
  #chosen = {};
  #pointed = {};
  #words = null; // the first and the last token that are selected
  #parts = new Map(); // uid: the parts of a mark, and what they show
  #laid = new Map(); // uid: the lane, the pieces and the name of a mark
  #arcs = { nameOf: () => null };
  #specs = { tints: () => [], names: () => [], arcs: () => [], words: (line) => this.#wordsOn(line) }; // what each line shows, by layer

  constructor(sheet, item) {
    this.sheet = sheet;
    this.desk = sheet.closest(".desk");
    this.root = sheet.querySelector(".text");
    this.lines = new Lines(sheet, this.root);
    this.near = new Near(sheet, this.lines, () => this.#fill());
    const layer = (name, build) => new Layer(sheet.querySelector(`.${name}`), build);
    this.layers = { tints: layer("tints", buildTint), words: layer("words", buildWords), arcs: layer("arcs", buildArc), names: layer("names", buildName) };
    this.rulers = { entity: new Ruler(this.layers.names.root), relation: new Ruler(this.layers.arcs.root) };
    this.read(item);
    this.resizes = new ResizeObserver(() => this.#fit());
    this.resizes.observe(this.root);
  }

  /** It leaves the page. */
  end() {
    this.resizes.disconnect();
    this.near.ended.abort();
  }

  /** `gaps` are what stands before each token: a space, or nothing. */
  read({ tokens, gaps }) {
    this.between = (start, end) => tokens.slice(start, end + 1).map((token, i) => (i ? gaps[start + i] : "") + token).join("");
    this.tokens = tokens;
    this.lines.read({ tokens, gaps });
    this.#words = null;
    this.#parts.clear();
    this.near.forget();
  }

  get rtl() {
    this.lines.measure();
    return this.lines.rtl;
  }

  /** After the width or the font changed; what the window shows stays in it. */
  refit() {
    const kept = this.near.middle();
    this.lines.forget();
    this.near.forget();
    for (const ruler of Object.values(this.rulers)) ruler.forget();
    this.redraw?.();
    this.lines.measure();
    this.lines.fill(...this.near.span);
    if (kept !== null) this.center(this.lines.placeOf(kept).top);
  }

  tokenAt(target) {
    const token = target instanceof Element ? target.closest(".tok") : null;
    return token && this.root.contains(token) ? Number(token.dataset.i) : null;
  }

  /** The token that is nearest to a point of the window. */
  tokenNear(x, y) {
    this.lines.measure();
    const { left, top } = this.sheet.getBoundingClientRect();
    return this.lines.nearest(x - left, y - top);
  }

  /** The token of the line above or below that is nearest to this one. */
  vertical(token, step) {
    this.lines.measure();
    return this.lines.vertical(token, step);
  }

  /** Where arrows enter the text. */
  edge(step, x) {
    this.lines.measure();
    return this.lines.edge(step, x);
  }

  /** The first and the last token of a line. */
  lineAround(token) {
    this.lines.measure();
    const tokens = this.lines.all[this.lines.lineOf[token]].parts.map(({ i }) => i);
    return [Math.min(...tokens), Math.max(...tokens)];
  }

  /** Where a span of tokens stands on the sheet: its first line. */
  boxOf(start, end) {
    this.lines.measure();
    const [{ line, left, right }] = this.lines.pieces(start, end);
    const { top, bottom } = this.lines.all[line];
    return new DOMRect(left, top, right - left, bottom - top);
  }

  /** The same in the window. */
  rectOf(start, end) {
    this.#fit();
    const { x, y, width, height } = this.boxOf(start, end);
    const origin = this.sheet.getBoundingClientRect();
    return new DOMRect(origin.left + x, origin.top + y, width, height);
  }

  /** Where the name of a mark begins on the sheet. */
  nameLeft(uid) {
    return this.#laid.get(uid)?.name.left ?? 0;
  }

  /** Where the name of a relation stands on the sheet, or null if its arc is not shown. */
  arcName(uid) {
    const found = this.#arcs.nameOf(uid);
    if (!found) return null;
    const ruler = this.rulers.relation;
    return { left: found.x - ruler.width(found.name) / 2, top: this.lines.all[found.line].top + found.y - ruler.rise(found.name) };
  }

  /** What the line of a token leaves free at its end, and the middle of its letters. */
  freeBeside(token) {
    this.lines.measure();
    const at = this.lines.lineOf[token];
    const { bottom, parts, top } = this.lines.all[at];
    const names = [...this.#laid.values()].filter(({ pieces }) => pieces[0].line === at).map(({ name }) => name);
    const middle = (top + bottom) / 2;
    if (this.lines.rtl) return { left: 0, width: Math.min(...[...parts, ...names].map(({ left }) => left)), middle };
    const left = Math.max(...parts.map(({ right }) => right), ...names.map((name) => name.left + name.width));
    return { left, width: this.lines.width - left, middle };
  }

  /** The lower edge of everything that hangs below the line of a token. */
  floor(token) {
    this.lines.measure();
    const { bottom, below } = this.lines.all[this.lines.lineOf[token]];
    return bottom + Math.max(below, ROOM);
  }

  /** Whether a box on the sheet would cover words. */
  covers({ left, top, width, height }) {
    const isOver = (part) => part.left < left + width && part.right > left;
    return this.lines.all.some((line) => line.top < top + height && line.bottom > top && line.parts.some(isOver));
  }

  /** What scrolls: the desk or, on narrow screens, the page as a whole. */
  get scroller() {
    return getComputedStyle(this.desk).overflowY === "visible" ? document.scrollingElement : this.desk;
  }

  scrollTo(token) {
    this.elementOf(token)?.scrollIntoView({ block: "nearest" });
  }

  /** The element of a token, wherever that is. */
  elementOf(token) {
    this.lines.measure();
    const line = this.lines.all[this.lines.lineOf[token]];
    return line && this.lines.blocks.elementOf(token, line);
  }

  /** Let a height of the sheet stand in the middle of the window. */
  center(height) {
    const { top } = this.sheet.getBoundingClientRect();
    this.scroller.scrollBy({ top: top + height - innerHeight / 2, behavior: "instant" });
    this.near.follow();
  }

  /** What there is: marks, the trees of their labels by kind, and the uids of marks that break a rule. */
  draw(shown) {
    const before = this.#shown;
    this.#shown = shown;
    if (this.lines.isStale || before.labels !== shown.labels || !isSame(before.entities, shown.entities) || !isSame(before.relations, shown.relations)) this.#draw();
  }

  /** What is selected: an entity or a relation; `source` is the entity from which a relation is being made. */
  choose(chosen) {
    const isSame = ["entity", "relation"].every((key) => this.#chosen[key] === chosen[key]);
    this.#chosen = chosen;
    if (this.sheet.dataset.arcs === "selected" && !isSame) this.#draw();
    else this.#light();
  }

  /** What the pointer is over. */
  pointAt(pointed) {
    this.#pointed = pointed;
    this.#lightPointed();
    this.#fillLayer("words");
  }

  drawWords(words) {
    this.#words = words && [Math.min(words.anchor, words.focus), Math.max(words.anchor, words.focus)];
    this.#fillLayer("words");
  }

  /* From here on, how it is done ------------------------------------------------------------------------------------- */

  /** What is asked between a change of the width and the browser's word of it is answered for the new width. */
  #fit() {
    const { clientWidth } = this.root; // none while it is not shown
    if (clientWidth && clientWidth !== this.lines.width) this.refit();
  }

  #draw() {
    this.lines.measure();
    const { view } = this.near; // before the page is written to
    const sizes = getComputedStyle(this.sheet);
    const [lane, arc] = ["--lane-height", "--arc-height"].map((name) => parseFloat(sizes.getPropertyValue(name)));
    const marks = this.#layMarks();
    const arcs = this.#routeArcs(marks.laid, arc);
    const room = (count, height) => (count ? count * height + ROOM : 0);
    this.lines.makeRoom(this.lines.all.map((_, line) => ({ above: room(arcs.levels(line), arc), below: room(marks.depth(line), lane) })));
    this.#laid = new Map(marks.laid.map((one) => [one.mark.uid, one]));
    this.#arcs = arcs;
    const parts = this.#partsByLine(marks.laid, lane);
    Object.assign(this.#specs, { tints: parts, names: parts, arcs: arcs.specs });
    this.near.look(view);
    this.#fill();
  }

  /** Draw the lines that are near, and no others. */
  #fill() {
    this.lines.fill(...this.near.span);
    for (const name of Object.keys(this.layers)) this.#fillLayer(name);
    this.#light();
    this.#lightPointed();
    for (const run of this.whenFilled) run();
  }

  #fillLayer(name) {
    this.lines.measure();
    const [first, last] = this.near.span;
    const lines = this.lines.all.slice(first, last + 1);
    this.layers[name].draw(lines.map(({ top }, n) => ({ at: first + n, top, specs: this.#specs[name](first + n) })));
  }

  #layMarks() {
    const { entities, labels } = this.#shown;
    const { width, rtl } = this.lines;
    const nameWidth = (mark) => this.rulers.entity.width(nameOf(labels.entity.get(mark.label), mark));
    const cuts = this.sheet.dataset.names !== "lower";
    return lay(entities, { piecesOf: ({ start, end }) => this.lines.pieces(start, end), nameWidth, width, rtl, cuts });
  }

  #partsByLine(laid, lane) {
    const lines = new Map();
    for (const one of laid) {
      for (const line of new Set(one.pieces.map((piece) => piece.line))) lines.set(line, [...(lines.get(line) ?? []), one]);
    }
    return (line) => (lines.get(line) ?? []).flatMap((one) => this.#partsOf(one, lane).filter((part) => part.line === line));
  }

  #partsOf(one, lane) {
    const { labels, broken = [] } = this.#shown;
    const { mark, pieces, name } = one;
    const label = labels.entity.get(mark.label);
    const [height, fall, isBroken] = [this.lines.letters, one.lane * lane, broken.includes(mark.uid)];
    const shows = [mark, pieces, name.left, name.width, name.whole, label, height, fall, isBroken];
    const known = this.#parts.get(mark.uid);
    if (known && isSame(known.shows, shows)) return known.parts;
    const words = this.between(mark.start, mark.end);
    const parts = partsOf(one, { label, words, height, fall, rtl: this.lines.rtl, isBroken });
    this.#parts.set(mark.uid, { shows, parts });
    return parts;
  }

  #wordsOn(line) {
    const { token = null } = this.#pointed;
    const boxes = (start, end, isHovered) =>
      this.lines.piecesOn(line, start, end).map(({ left, right }, at) => ({ key: `${isHovered} ${at}`, left, right, height: this.lines.letters, isHovered }));
    return [...(this.#words ? boxes(...this.#words, false) : []), ...(token === null ? [] : boxes(token, token, true))];
  }

  #routeArcs(laid, height) {
    const { relations, labels } = this.#shown;
    const { width, rtl } = this.lines;
    const starts = new Map(laid.map(({ mark, pieces }) => [mark.uid, pieces[0]]));
    const whole = relations.filter(({ source, target }) => starts.has(source) && starts.has(target));
    const mode = this.sheet.dataset.arcs;
    const lit = mode === "selected" && this.#around(this.#chosen).relations;
    const shown = mode === "off" ? [] : lit ? whole.filter(({ uid }) => lit.includes(uid)) : whole;
    const nameWidth = (name) => this.rulers.relation.width(name);
    const arcs = route(shown, { pieceOf: (uid) => starts.get(uid), nameOf: (relation) => nameOf(labels.relation.get(relation.label), relation), nameWidth, width, rtl, height });
    if (!lit) return arcs;
    // The text keeps its place, whatever is selected; what needs more room lies over what is above.
    const ends = new Set(whole.flatMap(({ source, target }) => [starts.get(source).line, starts.get(target).line]));
    return { ...arcs, levels: (line) => Number(ends.has(line)) };
  }

  /* What lights up --------------------------------------------------------------------------------------------------- */

  #light() {
    const { entity, relation, source } = this.#chosen;
    const { relations, ends } = this.#around(this.#chosen);
    this.#swap("selected", [...this.#marksOf([entity]), ...this.#arcsOf([relation])]);
    this.#swap("source", this.#marksOf([source]));
    this.#swap("lit", this.#arcsOf(relations));
    this.#swap("linked", this.#marksOf(ends));
  }

  #lightPointed() {
    const { relations, ends } = this.#around(this.#pointed);
    this.#swap("near", [...this.#arcsOf(relations), ...this.#marksOf([this.#pointed.entity, ...ends])]);
  }

  /** The relations of an entity, or the one that is named, and their ends. */
  #around({ entity, relation }) {
    const found = this.#shown.relations.filter(({ uid, source, target }) => (relation ? uid === relation : entity && [source, target].includes(entity)));
    return { relations: found.map(({ uid }) => uid), ends: found.flatMap(({ source, target }) => [source, target]).filter((uid) => uid !== entity) };
  }

  #marksOf(uids) {
    return uids.filter(Boolean).flatMap((uid) => [...find(this.layers.tints, uid), ...find(this.layers.names, uid)]);
  }

  #arcsOf(uids) {
    return uids.filter(Boolean).flatMap((uid) => find(this.layers.arcs, uid));
  }

  #swap(name, elements) {
    const next = new Set(elements);
    for (const { root } of Object.values(this.layers)) {
      for (const element of root.querySelectorAll(`.${name}`)) if (!next.has(element)) element.classList.remove(name);
    }
    for (const element of next) element.classList.add(name);
  }
}
