// Draws the text of an item and its marks. Everything is counted in tokens; pixels are only measured, never stored.
//
// Tokens are plain inline text, so that the browser breaks lines and orders scripts as it does anywhere. Marks and relations lie
// in layers over them, line by line. After a change all places are computed, which is quick, and only what looks different is put
// into the page; what is selected or pointed at swaps classes.

import { route } from "./arcs.js";
import { lay } from "./lanes.js";
import { Layer, make } from "./layers.js";
import { Lines } from "./lines.js";
import { Ruler, buildArc, buildName, buildTint, buildWords, nameOf, partsOf } from "./paint.js";

const ROOM = 4; // between what belongs to one line and to the next
const isSame = (one, other) => one.length === other.length && one.every((value, at) => value === other[at]);
const find = (layer, uid) => [...layer.root.querySelectorAll(`[data-uid="${CSS.escape(uid)}"]`)];

export class Text {
  #shown = { entities: [], relations: [] };
  #chosen = {};
  #parts = new Map(); // uid: the parts of a mark, and what they show

  /** `gaps` are what stands before each token: a space, or nothing. */
  constructor(sheet, { tokens, gaps }) {
    this.sheet = sheet;
    this.root = sheet.querySelector(".text");
    this.between = (start, end) => tokens.slice(start, end + 1).map((token, i) => (i ? gaps[start + i] : "") + token).join("");
    this.tokens = tokens.map((token, i) => {
      const span = make("span", "tok", token);
      span.dataset.i = i;
      return span;
    });
    this.root.append(...this.tokens.flatMap((span, i) => (gaps[i] ? [gaps[i], span] : [span])));
    this.lines = new Lines(sheet, this.root, this.tokens);
    const layer = (name, build) => new Layer(sheet.querySelector(`.${name}`), build);
    this.tints = layer("tints", buildTint);
    this.words = layer("words", buildWords);
    this.arcs = layer("arcs", buildArc);
    this.names = layer("names", buildName);
    this.rulers = { entity: new Ruler(this.names.root), relation: new Ruler(this.arcs.root) };
    new ResizeObserver(() => this.root.clientWidth !== this.lines.width && this.refit()).observe(this.root);
  }

  get rtl() { return getComputedStyle(this.root).direction === "rtl"; }

  /** After the width or the font changed. */
  refit() {
    this.lines.forget();
    for (const ruler of Object.values(this.rulers)) ruler.forget();
    this.redraw?.();
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

  /** The first and the last token of a line. */
  lineAround(token) {
    this.lines.measure();
    const tokens = this.lines.all[this.lines.lineOf[token]].parts.map(({ i }) => i);
    return [Math.min(...tokens), Math.max(...tokens)];
  }

  /** Where a span of tokens stands in the window: its first line. */
  rectOf(start, end) {
    this.lines.measure();
    const [{ line, left, right }] = this.lines.pieces(start, end);
    const { top, bottom } = this.lines.all[line];
    const origin = this.sheet.getBoundingClientRect();
    return new DOMRect(origin.left + left, origin.top + top, right - left, bottom - top);
  }

  /** Where the name of a relation stands in the window, or null if its arc is not shown. */
  arcRect(uid) {
    return find(this.arcs, uid)[0]?.querySelector("text").getBoundingClientRect() ?? null;
  }

  /** The lower edge of everything that hangs below the line of a token. */
  floor(token) {
    this.lines.measure();
    const { bottom, below } = this.lines.all[this.lines.lineOf[token]];
    return bottom + Math.max(below, ROOM);
  }

  scrollTo(token) {
    this.tokens[token]?.scrollIntoView({ block: "nearest" });
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
    const { relations, ends } = this.#around(pointed);
    this.#swap("near", [...this.#arcsOf(relations), ...this.#marksOf([pointed.entity, ...ends])]);
  }

  drawWords(words) {
    this.lines.measure();
    const pieces = words ? this.lines.pieces(Math.min(words.anchor, words.focus), Math.max(words.anchor, words.focus)) : [];
    const lines = pieces.map(({ line, left, right }) => [this.lines.all[line], { key: 0, left, right }]);
    this.words.draw(lines.map(([{ top, bottom }, spec]) => ({ top, specs: [{ ...spec, height: bottom - top }] })));
  }

  /* From here on, how it is done ------------------------------------------------------------------------------------- */

  #draw() {
    this.lines.measure();
    const sizes = getComputedStyle(this.sheet);
    const [lane, arc] = ["--lane-height", "--arc-height"].map((name) => parseFloat(sizes.getPropertyValue(name)));
    const marks = this.#layMarks();
    const arcs = this.#routeArcs(marks.laid, arc);
    const room = (count, height) => (count ? count * height + ROOM : 0);
    this.lines.makeRoom(this.lines.all.map((_, line) => ({ above: room(arcs.levels(line), arc), below: room(marks.depth(line), lane) })));
    const parts = this.#partsByLine(marks.laid, lane);
    const drawn = (specs) => this.lines.all.map(({ top }, line) => ({ top, specs: specs(line) }));
    this.tints.draw(drawn((line) => parts[line]));
    this.names.draw(drawn((line) => parts[line]));
    this.arcs.draw(drawn(arcs.specs));
    this.#light();
  }

  #layMarks() {
    const { entities, labels } = this.#shown;
    const { width, rtl } = this.lines;
    const nameWidth = (mark) => this.rulers.entity.width(nameOf(labels.entity.get(mark.label), mark));
    return lay(entities, { piecesOf: ({ start, end }) => this.lines.pieces(start, end), nameWidth, width, rtl });
  }

  #partsByLine(laid, lane) {
    const { labels, broken = [] } = this.#shown;
    const parts = this.lines.all.map(() => []);
    const known = this.#parts;
    this.#parts = new Map();
    for (const one of laid) {
      const { mark, pieces, name } = one;
      const label = labels.entity.get(mark.label);
      const [height, fall, isBroken] = [this.lines.letters, one.lane * lane, broken.includes(mark.uid)];
      const shows = [mark, pieces, name.left, name.width, label, height, fall, isBroken];
      let drawn = known.get(mark.uid);
      if (!drawn || !isSame(drawn.shows, shows)) {
        const words = this.between(mark.start, mark.end);
        drawn = { shows, parts: partsOf(one, { label, words, height, fall, rtl: this.lines.rtl, isBroken }) };
      }
      this.#parts.set(mark.uid, drawn);
      for (const part of drawn.parts) parts[part.line].push(part);
    }
    return parts;
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

  /** The relations of an entity, or the one that is named, and their ends. */
  #around({ entity, relation }) {
    const found = this.#shown.relations.filter(({ uid, source, target }) => (relation ? uid === relation : entity && [source, target].includes(entity)));
    return { relations: found.map(({ uid }) => uid), ends: found.flatMap(({ source, target }) => [source, target]).filter((uid) => uid !== entity) };
  }

  #marksOf(uids) {
    return uids.filter(Boolean).flatMap((uid) => [...find(this.tints, uid), ...find(this.names, uid)]);
  }

  #arcsOf(uids) {
    return uids.filter(Boolean).flatMap((uid) => find(this.arcs, uid));
  }

  #swap(name, elements) {
    const next = new Set(elements);
    for (const element of this.sheet.querySelectorAll(`.${name}`)) if (!next.has(element)) element.classList.remove(name);
    for (const element of next) element.classList.add(name);
  }
}
