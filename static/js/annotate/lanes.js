// Which lane below its line each mark gets, so that no name is cut and none hides another. The text itself never moves aside.

const GAP = 8; // between names
const EDGE = 2; // a mark reaches a little beyond its words
const NEAR = 3; // lanes

const overlap = (one, other) => one.from < other.to && other.from < one.to;

/** Outer marks lie below those within them. Where a name is longer than its words and a neighbour stands in the way, the mark
    takes the next lane that is free, rather one where its name crosses no other mark. */
export function lay(marks, { piecesOf, nameWidth, width, rtl }) {
  const lines = new Map(); // what lies below a line so far
  const on = (line) => lines.get(line) ?? lines.set(line, []).get(line);
  // Backwards, so that a name that reaches over its neighbour stands below it; what is inside a mark comes before it.
  const order = [...marks].sort((a, b) => b.start - a.start || a.end - b.end || (a.uid < b.uid ? -1 : 1));
  const laid = order.map((mark) => {
    const pieces = piecesOf(mark);
    const name = placeName(pieces[0], nameWidth(mark), width, rtl);
    const boxes = pieces.map((piece, at) => boxOf(piece, at ? null : name));
    const inside = boxes.flatMap(({ line }) => on(line)).filter((other) => other.end <= mark.end && other.start >= mark.start);
    const lane = choose(boxes, Math.max(0, ...inside.map((other) => other.lane + 1)), on);
    for (const box of boxes) on(box.line).push({ ...box, lane, start: mark.start, end: mark.end });
    return { mark, lane, pieces, name };
  });
  return { laid: laid.reverse(), depth: (line) => Math.max(0, ...on(line).map(({ lane }) => lane + 1)) };
}

/** What a part of a mark covers of its lane: its words, its name, and all of it with the gap beside the name. */
function boxOf({ line, left, right }, at) {
  const words = { from: left - EDGE, to: right + EDGE };
  if (!at) return { line, words, name: words, all: words };
  const name = { from: at.left, to: at.left + at.width };
  return { line, words, name, all: { from: Math.min(words.from, name.from - GAP / 2), to: Math.max(words.to, name.to + GAP / 2) } };
}

function placeName({ left, right }, wanted, width, rtl) {
  const nameWidth = Math.min(wanted, width);
  const at = rtl ? Math.max(0, right - nameWidth) : Math.min(left, width - nameWidth);
  return { left: at, width: nameWidth };
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
