// What is selected, and how keys go from word to word, from mark to mark, and from the text to the labels and the relations.

import { plural } from "../words.js";
import { showBefore } from "./before.js";
import { enter, neighbour } from "./entering.js";
import { sourceOf } from "./marks.js";
import { say, showChosen, showMode, showSelection } from "./showing.js";
import { $, active, focusText, items, marks, now, pane, picker, relationList, sheet, span, text, wordsOf } from "./workspace.js";

let left = {}; // what was selected in the text when it was left

/** Marks may go while they are selected, or just before. */
function isThere({ mark, relating, candidate, relation }) {
  const has = (map, uid) => !uid || map.has(uid);
  return [mark, relating, candidate].every((uid) => has(marks.entity, uid)) && has(marks.relation, relation);
}

export function select(wanted = {}) {
  const next = isThere(wanted) ? wanted : {};
  const { view } = now;
  const marksChange = ["mark", "relation", "relating", "candidate", "jumping"].some((key) => view[key] !== next[key]);
  now.view = next;
  if (!next.relating && !next.jumping) showMode();
  if (next.words) now.cursor = next.words.focus;
  showBefore();
  if (marksChange) showChosen();
  showSelection();
  tellSelected();
  if (next.actions) $("mark-actions").scrollIntoView({ block: "nearest" });
}

function tellSelected() {
  const { view, labels } = now;
  const mark = marks.entity.get(view.candidate ?? view.mark);
  const relation = marks.relation.get(view.relation);
  if (mark) {
    tell("entity", mark, `${wordsOf(mark)}, ${labels.entity.get(mark.label).name}`, relationsAt(mark));
    text.scrollTo(mark.start);
  } else if (relation) {
    const ends = [relation.source, relation.target].map((uid) => marks.entity.get(uid));
    tell("relation", relation, `${wordsOf(ends[0])} ${labels.relation.get(relation.label).name} ${wordsOf(ends[1])}, relation`);
    text.scrollTo(Math.min(...ends.map(({ start }) => start)));
  } else if (view.words) {
    const [start, end] = span(view.words);
    const over = labels ? marks.over(view.words.focus).map((m) => labels.entity.get(m.label).name) : [];
    say([text.between(start, end), ...over].join(", "));
    text.scrollTo(view.words.focus);
  }
}

function tell(kind, mark, words, more = "") {
  const { label, status } = mark;
  const labels = now.labels[kind];
  const known = labels.get(label);
  pane.showCard(known, labels.path(known));
  say([words, sourceOf(mark) || (status === "suggested" ? "suggested" : ""), known.active ? "" : "switched off", more].filter(Boolean).join(", "));
}

function relationsAt({ uid }) {
  const count = marks.relations.filter(({ source, target }) => source === uid || target === uid).length;
  return count ? plural(count, "relation", "relations") : "";
}

export function selectMark(uid, { actions = true } = {}) {
  now.cursor = marks.entity.get(uid).end;
  select({ mark: uid, actions });
}

/** By a number of words, or to where a function leads from one; beyond the last word, or the first, into the next item. */
export function moveCursor(step, extend) {
  const { view, cursor } = now;
  const last = text.tokens.length - 1;
  const mark = marks.entity.get(view.mark);
  let from = cursor;
  if (mark && !extend) from = typeof step === "number" && step < 0 ? mark.start : mark.end;
  let to = from;
  if (typeof step === "function") to = step(from);
  else if (view.words || mark) to = from + step;
  if (!extend && (to < 0 || to > last) && walkOn(to < 0 ? -1 : 1, typeof step === "function" ? from : null)) return;
  to = Number.isFinite(to) ? Math.max(0, Math.min(last, to)) : from;
  const anchor = extend ? (view.words?.anchor ?? mark?.start ?? from) : to;
  select({ words: { anchor, focus: to } });
}

/** Into the neighbouring item, if there is one: to its first or last word or, from a word of this one, to what stands below or above. */
function walkOn(way, word) {
  const item = neighbour(way);
  if (!item) return false;
  const x = word === null ? null : text.lines.middleOf(word);
  enter(item);
  const token = x !== null ? text.edge(way, x) : way > 0 ? 0 : text.tokens.length - 1;
  select({ words: { anchor: token, focus: token } });
  sayEntered();
  return true;
}

/** Before what is selected in it. */
const sayEntered = () => say(`${active.inWords}. ${$("said").textContent}`);

/** To the next mark or the one before, from a relation from its source, in the next item as well; false at the end, where Tab leaves
    the text. */
export function stepMark(step) {
  const { view } = now;
  const order = marks.inTextOrder();
  const here = marks.relation.get(view.relation)?.source ?? view.mark;
  let at = order.findIndex((mark) => mark.uid === here);
  if (at >= 0) at += step;
  else {
    const from = view.words ? view.words.focus : step > 0 ? -1 : Infinity;
    const after = order.findIndex((mark) => mark.start >= from);
    at = step > 0 ? after : after < 0 ? order.length - 1 : after - 1;
  }
  if (order[at]) selectMark(order[at].uid);
  else if (!walkToMarks(step)) return false;
  return true;
}

function walkToMarks(step) {
  const others = step > 0 ? items.slice(items.indexOf(active) + 1) : items.slice(0, items.indexOf(active)).reverse();
  const item = others.find((each) => each.marks.entity.size);
  if (!item) return false;
  enter(item);
  selectMark(marks.inTextOrder().at(step > 0 ? 0 : -1).uid);
  sayEntered();
  return true;
}

const isWord = (token) => /[\p{L}\p{N}]/u.test(text.tokens[token]);

/** To the next word, or the one before, on which there is no mark; false if there is none. */
export function stepUnmarked(step) {
  const { view, cursor } = now;
  const mark = marks.entity.get(view.mark);
  let at = mark ? (step > 0 ? mark.end : mark.start) : view.words ? cursor : cursor - step;
  do at += step;
  while (text.tokens[at] !== undefined && (!isWord(at) || marks.over(at).length));
  if (text.tokens[at] === undefined) return false;
  select({ words: { anchor: at, focus: at } });
  return true;
}

export function selectAll() {
  select({ words: { anchor: 0, focus: text.tokens.length - 1 } });
}

export function escape() {
  const { relating, jumping } = now.view;
  select(jumping ? jumping.from : relating ? { mark: relating } : {});
}

/** Select nothing where the mark that is selected is gone; a list of labels for it goes, too. */
export function dropGone() {
  if (isThere(now.view)) return;
  now.view = {};
  showMode();
  picker.close();
}

const regions = () => [text.root, $("label-tree").querySelector("[tabindex='0'], button"), relationList?.root].filter((element) => element?.checkVisibility());

export function moveRegion(step) {
  const order = regions();
  const here = document.activeElement;
  const at = order.findIndex((element) => element === here || (element !== text.root && element.parentElement.contains(here) && !sheet.contains(here)));
  if (at <= 0) left = now.view;
  order[(Math.max(0, at) + step + order.length) % order.length].focus({ preventScroll: true });
}

/** Back to the text, as it was left. */
export function returnToText() {
  const { mark, words } = left;
  select(words || marks.entity.has(mark) ? left : {});
  focusText();
}
