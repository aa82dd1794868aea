// Which lane below its line each mark gets, so that none hides another, and how much room its name has. The text itself never moves aside.
// Places are counted from where lines begin: in texts from right to left, from the right.

const GAP = 8; // between names
const EDGE = 2; // a mark reaches a little beyond its words
const NEAR = 3; // lanes

const overlap = (one, other) => one.from < other.to && other.from < one.to;

/** Outer marks lie below those within them. Where a name is longer than its words and a neighbour stands in the way, it is cut if
    `cuts` says so; otherwise the mark takes the next lane that is free, rather one where its name crosses no other mark. */
export function lay(marks, { piecesOf, nameWidth, width, rtl, cuts }) {
  const lines = new Map(); // what lies below a line so far
  const on = (line) => lines.get(line) ?? lines.set(line, []).get(line);
  const along = ({ line, left, right }) => (rtl ? { line, from: width - right, to: width - left } : { line, from: left, to: right });
  // Backwards, so that a name that reaches over its neighbour stands below it; what is inside a mark comes before it.
  const order = [...marks].sort((a, b) => b.start - a.start || a.end - b.end || (a.uid < b.uid ? -1 : 1));
  const pieces = new Map(order.map((mark) => [mark, piecesOf(mark)]));
  const words = Map.groupBy(cuts ? [...pieces.values()].flat().map(along) : [], ({ line }) => line);
  const laid = order.map((mark) => {
    const stretches = pieces.get(mark).map(along);
    const [first] = stretches;
    const whole = placeName(first, nameWidth(mark), width);
    const name = cuts ? placeName(first, nameWidth(mark), width, roomOf(first, on(first.line), words.get(first.line))) : whole;
    const boxes = stretches.map((stretch, at) => boxOf(stretch, at ? null : name));
    const inside = boxes.flatMap(({ line }) => on(line)).filter((other) => other.end <= mark.end && other.start >= mark.start);
    const lane = choose(boxes, Math.max(0, ...inside.map((other) => other.lane + 1)), on);
    for (const box of boxes) on(box.line).push({ ...box, lane, start: mark.start, end: mark.end });
    const leftOf = ({ from, to }) => (rtl ? width - to : from);
    const shown = { left: leftOf(name), width: name.to - name.from, whole: name.to - name.from < whole.to - whole.from ? leftOf(whole) : null };
    return { mark, lane, pieces: pieces.get(mark), name: shown };
  });
  return { laid: laid.reverse(), depth: (line) => Math.max(0, ...on(line).map(({ lane }) => lane + 1)) };
}

/** What a part of a mark covers of its lane: its words, its name, and all of it with the gap beside the name. */
function boxOf({ line, from, to }, name) {
  const words = { from: from - EDGE, to: to + EDGE };
  if (!name) return { line, words, name: words, all: words };
  return { line, words, name, all: { from: Math.min(words.from, name.from - GAP / 2), to: Math.max(words.to, name.to + GAP / 2) } };
}

/** From where to where a name may reach: from the marked words before its own to what was laid after them. */
function roomOf({ from, to }, laid, words) {
  const before = words.filter((other) => other.to < from + 1).map((other) => other.to + GAP);
  const after = laid.filter((other) => other.words.from + EDGE > to - 1).map(({ all }) => all.from - GAP / 2);
  return { least: Math.max(0, ...before), most: Math.min(...after) };
}

/** From its words on; at the end of a line, so far before them as it needs. */
function placeName({ from }, wanted, width, { least, most } = { least: 0, most: Infinity }) {
  const length = Math.max(0, Math.min(wanted, width, most - from));
  const start = Math.min(from, Math.max(least, width - length));
  return { from: start, to: Math.min(start + length, width) };
}

function choose(boxes, lowest, on) {
  const isFree = (lane) => boxes.every((box) => !on(box.line).some((other) => other.lane === lane && overlap(other.all, box.all)));
  const crosses = (lane) =>
    boxes.some((box) => on(box.line).some((other) => (other.lane > lane ? overlap(other.words, box.name) : overlap(other.name, box.words))));
  const near = Array.from({ length: NEAR }, (_, step) => lowest + step).filter(isFree);
  const found = near.find((lane) => !crosses(lane)) ?? near[0];
  if (found !== undefined) return found;
  let lane = lowest + NEAR;
  while (!isFree(lane)) lane += 1;
  return lane;
}
