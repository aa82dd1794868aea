// The marks to which a relation may lead from the one where it starts: numbered in the order of the text. The others are dimmed.
// A line leads from the source to what is pointed at. Whoever jumps sees the numbers of all marks in sight.

import { $, marks, now, sheet, text, withItems } from "./workspace.js";

let targets = new Map(); // uid: {uid, number, why}

/** What may be chosen, in the order of the text. */
export const allowedTargets = () => [...targets.values()].filter(({ why }) => !why);
/** Those whose number begins so. */
export const targetsAt = (typed) => allowedTargets().filter(({ number }) => String(number).startsWith(typed));
export const whyNot = (uid) => targets.get(uid)?.why ?? null;

/** The mark over a token that is meant as a target: the innermost that is allowed or, for its reason, the innermost. */
export function targetOver(token) {
  const over = marks.over(token).filter(({ uid }) => uid !== now.view.relating);
  return (over.find(({ uid }) => !whyNot(uid)) ?? over[0])?.uid;
}

function findTargets(source) {
  targets = new Map();
  if (!source || !now.judge) return;
  const known = new Map(); // a label, or the suggestion itself: what is against it
  let count = 0;
  for (const { uid, label, status } of marks.inTextOrder()) {
    if (uid === source) continue;
    const key = status === "accepted" ? label : `mark ${uid}`;
    if (!known.has(key)) known.set(key, now.judge.againstRelating({ source, target: uid }));
    const why = known.get(key);
    targets.set(uid, { uid, why, number: why ? 0 : (count += 1) });
  }
}

const isInSight = ({ start, end }) => {
  const { top, bottom } = text.rectOf(start, end);
  return bottom > 0 && top < innerHeight;
};

const findInSight = () => (targets = new Map(marks.inTextOrder().filter(isInSight).map(({ uid }, at) => [uid, { uid, why: null, number: at + 1 }])));

export function showTargets() {
  const { relating, candidate, jumping } = now.view;
  if (!relating && !jumping && !targets.size) return;
  jumping ? findInSight() : findTargets(relating);
  showNumbers();
  drawLine(relating && candidate ? middleOf(candidate) : null);
}

/** Of what is drawn, which is near. */
function showNumbers() {
  for (const name of text.layers.names.root.querySelectorAll(".mark-name")) {
    const target = targets.get(name.dataset.uid);
    name.classList.toggle("dim", Boolean(target?.why));
    if (target?.number) name.dataset.number = target.number;
    else delete name.dataset.number;
  }
}

/** What is drawn later is numbered, too. */
export function keepNumbers() {
  withItems(({ text }) => text.whenFilled.push(() => targets.size && showNumbers()));
}

/** Let the line lead to a mark or, without one, to the pointer. */
export function pointLine(uid, { clientX, clientY }) {
  const origin = sheet.getBoundingClientRect();
  drawLine(uid ? middleOf(uid) : { x: clientX - origin.left, y: clientY - origin.top });
}

function middleOf(uid) {
  const { start, end } = marks.entity.get(uid);
  const box = text.boxOf(start, end);
  return { x: (box.left + box.right) / 2, y: box.top };
}

function drawLine(to) {
  const path = $("pull").firstElementChild;
  path.toggleAttribute("hidden", !to);
  if (!to) return path.removeAttribute("d");
  const from = middleOf(now.view.relating);
  const lift = Math.min(from.y, to.y) - 24;
  path.setAttribute("d", `M${from.x} ${from.y}C${from.x} ${lift} ${to.x} ${lift} ${to.x} ${to.y}`);
}
