// Which way relations take above the text: up from a mark, over, and down to the other one. Between two lines an arc leaves at the
// end of the upper one and comes in at the beginning of the lower one, with its name on both.

const BEND = 10;
const RISE = 9; // of the lowest level above the letters
const GAP = 6; // between arcs of a level
const SLOT = 7; // between the ends of arcs at one mark

/** What is drawn of relations, line by line, and how many levels each line needs. `pieceOf` is where a mark begins. */
export function route(relations, { pieceOf, nameOf, nameWidth, width, rtl, height }) {
  const ends = relations.flatMap((relation) => endsOf(relation, pieceOf(relation.source), pieceOf(relation.target), width, rtl));
  giveSlots(ends);
  const lines = new Map();
  const first = new Map(); // the upper run of each relation
  for (let at = 0; at < ends.length; at += 2) {
    const [from, to] = [ends[at], ends[at + 1]];
    const name = nameOf(from.relation);
    const needed = nameWidth(name);
    const edge = (end) => ({ line: end.line, x: end.way > 0 ? width : 0 });
    const runs = from.line === to.line ? [[from, to]] : [[from, edge(from)], [edge(to), to]];
    runs.forEach(([source, target], index) => {
      const run = { relation: from.relation, index, name, source, target, ...span(source, target, needed, width) };
      lines.set(run.line, [...(lines.get(run.line) ?? []), run]);
      if (!(first.get(run.relation.uid)?.line <= run.line)) first.set(run.relation.uid, run);
    });
  }
  for (const runs of lines.values()) giveLevels(runs);
  return {
    levels: (line) => Math.max(0, ...(lines.get(line) ?? []).map(({ level }) => level + 1)),
    /** Where the name of a relation stands first: the line, and a place on it. */
    nameOf: (uid) => first.has(uid) && { line: first.get(uid).line, ...spec(first.get(uid), height) },
    // The lowest last: its name lies over the lines of the others.
    specs: (line) => [...(lines.get(line) ?? [])].sort((a, b) => b.level - a.level).map((run) => spec(run, height)),
  };
}

function endsOf(relation, source, target, width, rtl) {
  const isNear = source.line === target.line;
  const across = (target.left + target.right - source.left - source.right) / 2;
  const way = isNear ? Math.sign(across) || -1 : (source.line < target.line) === rtl ? -1 : 1;
  const distance = isNear ? Math.abs(across) : width;
  return [
    { relation, piece: source, line: source.line, way, distance },
    { relation, piece: target, line: target.line, way: -way, distance },
  ];
}

/** Several arcs at one mark stand side by side: longer ones in the middle, so that they go over the shorter ones. */
function giveSlots(ends) {
  const shared = new Map();
  for (const end of ends) {
    const key = `${end.line} ${end.piece.left} ${end.piece.right}`;
    shared.set(key, [...(shared.get(key) ?? []), end]);
  }
  for (const group of shared.values()) {
    group.sort((a, b) => a.way - b.way || a.way * (b.distance - a.distance));
    const { left, right } = group[0].piece;
    const step = Math.min(SLOT, (right - left) / group.length);
    group.forEach((end, at) => (end.x = round((left + right) / 2 + (at - (group.length - 1) / 2) * step)));
  }
}

/** How much of its line a run takes, its name included, and where the name stands: at the mark, if the other end is elsewhere. */
function span(source, target, needed, width) {
  const [left, right] = [Math.min(source.x, target.x), Math.max(source.x, target.x)];
  const mark = source.piece && target.piece ? null : (source.piece ? source : target).x;
  const wanted = mark === null ? (left + right) / 2 : mark === left ? left + BEND + needed / 2 : right - BEND - needed / 2;
  const middle = round(Math.max(needed / 2, Math.min(wanted, width - needed / 2)));
  const [from, to] = [Math.min(left, middle - needed / 2) - GAP / 2, Math.max(right, middle + needed / 2) + GAP / 2];
  return { line: source.line, middle, from, to };
}

/** The shortest nearest to the text. */
function giveLevels(runs) {
  const placed = [];
  for (const run of [...runs].sort((a, b) => a.to - a.from - (b.to - b.from) || a.from - b.from || (a.relation.uid < b.relation.uid ? -1 : 1))) {
    run.level = 0;
    while (placed.some((other) => other.level === run.level && other.from < run.to && run.from < other.to)) run.level += 1;
    placed.push(run);
  }
}

/** All that is drawn of a run; heights count up from the letters. */
function spec({ relation: { uid, status }, index, name, source, target, middle, level }, height) {
  const y = -RISE - level * height;
  const [x1, x2] = [source.x, target.x];
  const bend = Math.min(BEND, Math.abs(x2 - x1) / 2) * Math.sign(x2 - x1 || 1);
  const up = source.piece ? `M${x1} -1C${x1} ${y} ${x1 + bend / 2} ${y} ${x1 + bend} ${y}` : `M${x1} ${y}`;
  const down = target.piece ? `H${x2 - bend}C${x2 - bend / 2} ${y} ${x2} ${y} ${x2} -4` : `H${x2}`;
  return { key: `${uid} ${index}`, uid, name, path: up + down, head: target.piece ? x2 : null, x: middle, y: y - 4, suggested: status === "suggested" };
}

const round = (pixels) => Math.round(pixels * 2) / 2;
