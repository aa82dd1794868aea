// What the pointer does in the text.

import { findAlike } from "./alike.js";
import { accept, remove } from "./deciding.js";
import { follow } from "./dragging.js";
import { pickForWords, relabel } from "./labelling.js";
import { beginPull, dropPull, endPull, pointTarget, pull } from "./pulling.js";
import { clickMark, clickTarget, relate, reverse } from "./relating.js";
import { escape, select, selectMark } from "./selection.js";
import { inWords } from "./showing.js";
import { comment } from "./talking.js";
import { focusText, items, marks, now, readOnly, sheets, text } from "./workspace.js";

const ACTIONS = {
  accept: () => accept(),
  relabel: () => relabel(),
  relate,
  reverse,
  remove: () => remove(),
  alike: () => findAlike(),
  "accept-alike": () => accept("label"),
  "remove-alike": () => remove("label"),
  comment,
};

let isRelation = false; // what the pointer drew last
let over; // the item

export function clickToken(token, event) {
  const { view } = now;
  if (view.relating) return clickTarget(token, event);
  const over = marks.over(token);
  // A second click on the same words goes on to the mark around.
  const next = over[(over.findIndex((mark) => mark.uid === view.mark) + 1) % over.length];
  if (next) return selectMark(next.uid);
  if (readOnly()) return select();
  select({ words: { anchor: token, focus: token } });
  pickForWords();
}

function press(event) {
  if (event.button || event.pointerType === "touch" || !text.root.contains(event.target)) return;
  event.preventDefault();
  focusText();
  const token = text.tokenAt(event.target);
  if (token === null) return escape();
  const { words } = now.view;
  const anchor = event.shiftKey && words ? words.anchor : token;
  let isSelection = false;
  const reach = (focus) => {
    if (readOnly() || now.view.relating) return;
    isSelection = true;
    select({ words: { anchor, focus } });
  };
  if (anchor !== token) reach(token);
  follow(event, {
    move: reach,
    drop(end) {
      if (isRelation || end.type === "pointercancel") return;
      if (isSelection) pickForWords();
      else clickToken(token, end);
    },
  });
}

function doubleClick({ target }) {
  const token = text.tokenAt(target);
  if (token === null || readOnly() || now.view.relating) return;
  select({ words: { anchor: token, focus: token } });
  pickForWords();
}

/** As anywhere, three clicks select a line. */
function selectLine(token) {
  if (readOnly() || now.view.relating) return;
  const [anchor, focus] = text.lineAround(token);
  select({ words: { anchor, focus } });
  pickForWords();
}

function click(event) {
  const { target, detail } = event;
  const token = text.tokenAt(target);
  if (token !== null) return detail === 3 && selectLine(token);
  const name = target.closest(".mark-name");
  const arc = target.closest(".arc");
  const action = target.closest("[data-do]")?.dataset.do;
  if (!name && !arc && !action) return;
  focusText(); // from where an action may take it: to the picker, to a comment
  if (name) clickMark(name.dataset.uid, event);
  else if (arc) select({ relation: arc.dataset.uid, actions: true });
  else ACTIONS[action]();
}

/** What an arc says, on demand. */
function titleArc({ target }) {
  const arc = target.closest(".arc");
  const relation = marks.relation.get(arc?.dataset.uid);
  if (!relation) return;
  const title = arc.querySelector("title") ?? arc.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "title"));
  const { source, name, target: to } = inWords(relation);
  title.textContent = `${source} ${name} ${to}`;
}

/** What the pointer is over in an item lights up with what belongs to it: a relation with its ends, a mark with its relations. */
function pointed({ marks, text }, target) {
  const [name, arc] = [target.closest(".mark-name"), target.closest(".arc")];
  if (arc) return { relation: arc.dataset.uid };
  const token = text.tokenAt(target);
  return { token, entity: name?.dataset.uid ?? (token === null ? undefined : marks.over(token)[0]?.uid) };
}

function point({ target, pointerType }) {
  if (pointerType !== "mouse") return;
  const item = items.find(({ sheet }) => sheet.contains(target));
  if (over !== item) over?.text.pointAt({});
  over = item;
  item?.text.pointAt(pointed(item, target));
}

export function listenToPointer() {
  sheets.addEventListener("pointerover", titleArc);
  sheets.addEventListener("pointerover", point);
  sheets.addEventListener("pointerleave", () => over?.text.pointAt({}));
  sheets.addEventListener("pointerdown", press);
  sheets.addEventListener("pointerdown", beginPull);
  addEventListener("pointermove", (event) => pull(event) || pointTarget(event));
  addEventListener("pointerup", (event) => (isRelation = endPull(event)));
  addEventListener("pointercancel", dropPull);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && dropPull(), true);
  document.addEventListener("leaving", dropPull);
  document.addEventListener("turned", () => (over = null));
  sheets.addEventListener("dblclick", doubleClick);
  sheets.addEventListener("click", click);
}
