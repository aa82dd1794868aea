// Draws the text of an item and its marks. Everything is counted in tokens; pixels are only measured, never stored.
//
// Tokens are plain inline text, so that the browser breaks lines and orders scripts as it does anywhere. Marks are laid
// over them line by line. An empty inline element after a token makes room on its line for the names below it.

const LINE = 30; // height of a line of text without marks
const LANE = 20; // a mark's line with its name
const ARC = 22; // a level of arcs, with their names, above a line
const NAME_GAP = 8;
const NOTHING = 4; // shown as wide as this: a token of characters without width

const make = (tag, className, text = "") => Object.assign(document.createElement(tag), { className, textContent: text });
const svg = (tag, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const place = (element, { left, top, width, height }) => {
  element.style.cssText += `left:${left}px;top:${top}px;width:${width}px;${height === undefined ? "" : `height:${height}px`}`;
  return element;
};

export class Text {
  /** `gaps` are what stands before each token: a space, or nothing. */
  constructor(sheet, { tokens, gaps }) {
    this.sheet = sheet;
    this.root = sheet.querySelector(".text");
    this.layers = Object.fromEntries(["tints", "names", "words", "arcs"].map((name) => [name, sheet.querySelector(`.${name}`)]));
    this.between = (start, end) => tokens.slice(start, end + 1).map((token, i) => (i ? gaps[start + i] : "") + token).join("");
    const nodes = [];
    this.tokens = tokens.map((token, i) => {
      const span = make("span", "tok", token);
      span.dataset.i = i;
      if (gaps[i]) nodes.push(gaps[i]);
      nodes.push(span);
      return span;
    });
    this.root.append(...nodes);
    this.rooms = new Map();
    this.depth = [];
    this.stale = true;
    new ResizeObserver(() => {
      const width = this.root.clientWidth;
      if (width === this.width) return;
      this.width = width;
      this.stale = true;
      this.redraw?.();
    }).observe(this.root);
  }

  get rtl() { return getComputedStyle(this.root).direction === "rtl"; }

  tokenAt(target) {
    const token = target instanceof Element ? target.closest(".tok") : null;
    return token && this.root.contains(token) ? Number(token.dataset.i) : null;
  }

  /** The token of the line above or below that is nearest to this one. */
  vertical(token, step) {
    this.#measure();
    const from = this.lineOf[token];
    const line = this.lines[from + step];
    if (!line) return token;
    const { left, right } = this.lines[from].parts.find((part) => part.i === token);
    const middle = (left + right) / 2;
    const distance = (part) => Math.max(part.left - middle, middle - part.right, 0);
    return line.parts.reduce((best, part) => (distance(part) < distance(best) ? part : best)).i;
  }

  /** The first and the last token of a line. */
  lineAround(token) {
    this.#measure();
    const tokens = this.lines[this.lineOf[token]].parts.map(({ i }) => i);
    return [Math.min(...tokens), Math.max(...tokens)];
  }

  /** Where a span of tokens stands in the window: its first line. */
  rectOf(start, end) {
    this.#measure();
    const piece = this.#pieces(start, end)[0];
    const origin = this.sheet.getBoundingClientRect();
    return new DOMRect(origin.left + piece.left, origin.top + piece.top, piece.right - piece.left, piece.bottom - piece.top);
  }

  /** The lower edge of everything that hangs below the line of a token. */
  floor(token) {
    this.#measure();
    const line = this.lines[this.lineOf[token]];
    return line.bottom + Math.max(0, ...line.parts.map(({ i }) => this.depth[i])) * LANE + 4;
  }

  scrollTo(token) {
    this.tokens[token]?.scrollIntoView({ block: "nearest" });
  }

  /* Measuring ------------------------------------------------------------------------------------------------------- */

  #measure() {
    if (!this.stale) return;
    this.stale = false;
    const origin = this.sheet.getBoundingClientRect();
    this.lines = [];
    this.lineOf = [];
    let line = null;
    this.tokens.forEach((token, i) => {
      const rects = [...token.getClientRects()];
      const wide = rects.filter((rect) => rect.width);
      // Where a token breaks it may leave an empty piece behind; a token of nothing but such is still somewhere.
      for (const rect of wide.length ? wide : rects.slice(0, 1)) {
        const top = rect.top - origin.top;
        const bottom = rect.bottom - origin.top;
        if (!line || top > line.bottom - 4 || bottom < line.top + 4) {
          line = { top, bottom, parts: [] };
          this.lines.push(line);
        }
        line.parts.push({ i, left: rect.left - origin.left, right: rect.left + (rect.width || NOTHING) - origin.left });
        this.lineOf[i] ??= this.lines.length - 1;
      }
      this.lineOf[i] ??= Math.max(0, this.lines.length - 1);
    });
    // In the order in which they are seen: scripts that run to the left stand the other way round.
    this.lines.forEach(({ parts }) => parts.sort((a, b) => a.left - b.left));
  }

  /** What a span covers, line by line; more than one piece of a line where scripts of both directions meet. */
  #pieces(start, end) {
    const pieces = [];
    const last = this.lineOf[end + 1] ?? this.lines.length - 1;
    for (let at = this.lineOf[start]; at <= last; at += 1) {
      const { top, bottom, parts } = this.lines[at];
      let open = null;
      for (const { i, left, right } of parts) {
        if (i < start || i > end) open = null;
        else if (open) open.right = right;
        else pieces.push((open = { line: at, top, bottom, left, right }));
      }
    }
    return pieces;
  }

  /** Room below (names) or above (arcs) the line of a token, in pixels. */
  #room(token, side, pixels) {
    const key = `${token} ${side}`;
    const known = this.rooms.get(key);
    if ((known?.pixels ?? 0) === pixels) return;
    this.stale = true;
    const element = known?.element ?? make("i", "room");
    if (!pixels) {
      element.remove();
      this.rooms.delete(key);
      return;
    }
    // Its line box is taller by so many pixels on one side only.
    element.style.lineHeight = `${LINE + pixels}px`;
    element.style.verticalAlign = `${(side === "above" ? pixels : -pixels) / 2}px`;
    if (!known) this.tokens[token].append(element);
    this.rooms.set(key, { element, pixels });
  }

  /* Drawing --------------------------------------------------------------------------------------------------------- */

  draw({ entities, relations, entityLabels, relationLabels, chosen, source, broken = [] }) {
    const laid = lanes(entities);
    const depth = (this.depth = new Array(this.tokens.length).fill(0));
    for (const { mark, lane } of laid) for (let i = mark.start; i <= mark.end; i += 1) depth[i] = Math.max(depth[i], lane + 1);
    this.tokens.forEach((_, i) => this.#room(i, "below", depth[i] && depth[i] * LANE + 4));
    this.#measure();
    const arcs = this.#arcs(entities, relations);
    const heads = new Map();
    for (const { line, level } of arcs) heads.set(line, Math.max(heads.get(line) ?? 0, level + 1));
    const firsts = new Map([...heads].map(([line, levels]) => [Math.min(...this.lines[line].parts.map((p) => p.i)), levels]));
    for (const key of [...this.rooms.keys()]) {
      const [token, side] = key.split(" ");
      if (side === "above" && !firsts.has(Number(token))) this.#room(Number(token), side, 0);
    }
    for (const [token, levels] of firsts) this.#room(token, "above", levels * ARC);
    this.#measure();
    this.#drawMarks(laid, entityLabels, chosen.entity, source, broken);
    this.#drawArcs(this.#arcs(entities, relations), relationLabels, chosen);
  }

  #drawMarks(laid, labels, chosen, source, broken) {
    const drawn = laid.map(({ mark, lane }) => ({ mark, lane, label: labels.get(mark.label), pieces: this.#pieces(mark.start, mark.end) }));
    const rtl = this.rtl;
    const starts = new Map(); // where marks begin, per line and lane: a name ends before the next one
    for (const { lane, pieces } of drawn) {
      for (const { line, left, right } of pieces) {
        const key = `${line} ${lane}`;
        starts.set(key, [...(starts.get(key) ?? []), rtl ? right : left]);
      }
    }
    const tints = [], names = [];
    for (const { mark, lane, label, pieces } of drawn) {
      const classes = `${mark.status === "suggested" ? " suggested" : ""}${mark.uid === chosen ? " selected" : ""}${mark.uid === source ? " source" : ""}${broken.includes(mark.uid) ? " broken" : ""}`;
      pieces.forEach(({ line, left, right, top, bottom }, index) => {
        const box = { left: left - 2, width: right - left + 4 }; // the words beside it keep their distance
        const tint = place(make("div", `tint${classes}`), { ...box, top, height: bottom - top + 2 });
        const rule = place(make("div", `rule${classes}`), { ...box, top: bottom + 2 + lane * LANE });
        for (const element of [tint, rule]) element.style.setProperty("--c", label.color);
        tints.push(tint);
        names.push(rule);
        if (index) return;
        const others = starts.get(`${line} ${lane}`);
        const room = rtl
          ? right - Math.max(0, ...others.filter((x) => x < right).map((x) => x + NAME_GAP))
          : Math.min(this.width, ...others.filter((x) => x > left).map((x) => x - NAME_GAP)) - left;
        const name = make("button", `mark-name label-name${classes}`);
        name.append(make("span", "", label.name)); // where there is no room, the name is cut, not what follows it
        if (mark.status === "suggested") name.append(make("span", "", " ?"));
        if (!label.active) name.append(make("small", "", " off"));
        Object.assign(name, { type: "button", tabIndex: -1 });
        name.dataset.uid = mark.uid;
        name.title = `${label.name}${label.active ? "" : " (off)"}: ${this.between(mark.start, mark.end).slice(0, 200)}`;
        name.ariaLabel = [this.between(mark.start, mark.end), label.name, mark.status === "suggested" && "suggested", !label.active && "switched off"].filter(Boolean).join(", ");
        name.style.setProperty("--c", label.color);
        name.style.cssText += `top:${bottom + 5 + lane * LANE}px;max-width:${Math.max(room, right - left, 24)}px;${rtl ? `right:${this.sheet.clientWidth - right}px` : `left:${left}px`}`;
        names.push(name);
      });
    }
    this.layers.tints.replaceChildren(...tints);
    this.layers.names.replaceChildren(...names);
  }

  /** Relations as lines from mark to mark; those within a line get levels, the shortest nearest to the text. */
  #arcs(entities, relations) {
    const byUid = new Map(entities.map((mark) => [mark.uid, mark]));
    const middle = (mark) => {
      const [piece] = this.#pieces(mark.start, mark.end);
      return { x: (piece.left + piece.right) / 2, y: piece.top, line: piece.line };
    };
    const arcs = relations.filter((r) => byUid.has(r.source) && byUid.has(r.target)).map((relation) => {
      const from = middle(byUid.get(relation.source));
      const to = middle(byUid.get(relation.target));
      return { relation, from, to, line: Math.min(from.line, to.line), span: from.line === to.line ? Math.abs(from.x - to.x) : 0 };
    });
    const taken = new Map();
    for (const arc of arcs.filter((a) => a.from.line === a.to.line).sort((a, b) => a.span - b.span)) {
      const [left, right] = [Math.min(arc.from.x, arc.to.x), Math.max(arc.from.x, arc.to.x)];
      const rows = taken.get(arc.line) ?? taken.set(arc.line, []).get(arc.line);
      arc.level = 0;
      while (rows.some((r) => r.level === arc.level && r.left < right && r.right > left)) arc.level += 1;
      rows.push({ level: arc.level, left, right });
    }
    arcs.forEach((arc) => (arc.level ??= 0));
    return arcs;
  }

  #drawArcs(arcs, labels, chosen) {
    const { arcs: layer } = this.layers;
    const nodes = [];
    const spread = new Map(); // several arcs at one mark stand side by side
    const shift = ({ x, line }) => {
      const key = `${Math.round(x)} ${line}`;
      const count = spread.get(key) ?? 0;
      spread.set(key, count + 1);
      return x + (count % 2 ? 1 : -1) * Math.ceil(count / 2) * 6;
    };
    for (const { relation, from, to, level } of arcs) {
      const lit = relation.uid === chosen.relation || [relation.source, relation.target].includes(chosen.entity);
      const group = svg("g", { class: `arc${from.line === to.line ? "" : " far"}${lit ? " lit" : ""}${relation.status === "suggested" ? " suggested" : ""}`, "data-uid": relation.uid });
      const [x1, x2] = [shift(from), shift(to)];
      const name = labels.get(relation.label).name + (relation.status === "suggested" ? " ?" : "");
      let path, at;
      if (from.line === to.line) {
        const y = from.y - 1;
        const top = y - (level + 1) * ARC + 12;
        const bend = Math.min(10, Math.abs(x2 - x1) / 2) * Math.sign(x2 - x1 || 1);
        path = `M${x1} ${y}C${x1} ${top} ${x1 + bend / 2} ${top} ${x1 + bend} ${top}H${x2 - bend}C${x2 - bend / 2} ${top} ${x2} ${top} ${x2} ${y - 3}`;
        at = [(x1 + x2) / 2, top - 8];
      } else {
        const lift = 12;
        path = `M${x1} ${from.y - 1}C${x1} ${from.y - lift * 2} ${x2} ${to.y - lift * 2} ${x2} ${to.y - 4}`;
        at = [x1, from.y - lift];
      }
      group.append(svg("path", { class: "reach", d: path }), svg("path", { class: "line", d: path }));
      group.append(svg("path", { class: "head", d: `M${x2 - 3.5} ${to.y - 6}H${x2 + 3.5}L${x2} ${to.y}Z` }));
      const text = svg("text", { x: at[0], y: at[1] + 3.5, "text-anchor": "middle" });
      text.textContent = name;
      group.append(text);
      nodes.push(group);
    }
    layer.replaceChildren(...nodes);
  }

  drawWords(words) {
    const boxes = [];
    if (words) {
      this.#measure();
      const [start, end] = [Math.min(words.anchor, words.focus), Math.max(words.anchor, words.focus)];
      for (const { left, right, top, bottom } of this.#pieces(start, end)) {
        boxes.push(place(make("div", "word-box"), { left: left - 3, top: top - 1, width: right - left + 6, height: bottom - top + 3 }));
      }
    }
    this.layers.words.replaceChildren(...boxes);
  }
}

/** A lane for each mark, so that none hides another: shorter ones nearer to the text, outer ones below. */
function lanes(entities) {
  const laid = [];
  const reach = []; // lanes used so far, per token
  for (const mark of [...entities].sort((a, b) => a.end - a.start - (b.end - b.start) || a.start - b.start)) {
    let lane = 0;
    for (let i = mark.start; i <= mark.end; i += 1) lane = Math.max(lane, reach[i] ?? 0);
    for (let i = mark.start; i <= mark.end; i += 1) reach[i] = lane + 1;
    laid.push({ mark, lane });
  }
  return laid;
}
