// Moving an item with its branch, by dragging it or with Alt and arrows. Only where the installation allows it.

import { byId, inTurn, isOpen, item, itemUrl, listOf, open, panel, parentOf, state, uidOf } from "./tree.js";

const movable = "movable" in panel.dataset;
const move = (li, values) => window.htmx.ajax("POST", itemUrl(uidOf(li), "move/"), { values, swap: "none" });
const uidOrTop = (li) => (li ? uidOf(li) : "");
const isItem = (li) => (li?.matches("li[role=treeitem]") ? li : null);

const BY_KEY = {
  ArrowUp: (li, above) => above && { to: uidOrTop(parentOf(li)), before: uidOf(above) },
  ArrowDown: (li, _, below) => below && { to: uidOrTop(parentOf(li)), after: uidOf(below) },
  ArrowRight: (_, above) => above && { to: uidOf(above) },
  ArrowLeft: (li) => parentOf(li) && { to: uidOrTop(parentOf(parentOf(li))), after: uidOf(parentOf(li)) },
};

/** Whether the key was about moving. */
export function key(event) {
  const li = event.target;
  if (!movable || state.searching || !event.altKey || event.ctrlKey || event.metaKey || !(event.key in BY_KEY)) return false;
  if (!li.matches?.("#tree li[role=treeitem]")) return false;
  if (uidOf(li) === state.branch || (event.key === "ArrowLeft" && uidOrTop(parentOf(li)) === state.branch && state.branch)) return true;
  inTurn(() => moveBy(event.key, uidOf(li)));
  return true;
}

/** Pressed again before the answer is there, the key goes on from where the item is then. */
function moveBy(pressed, uid) {
  const li = item(uid);
  const values = li && BY_KEY[pressed](li, isItem(li.previousElementSibling), isItem(li.nextElementSibling));
  return values && move(li, values);
}

/* Dragging --------------------------------------------------------------------------------------------------------- */

let dragged = null;
let over = null;
const MARKS = ["drop-before", "drop-into", "drop-after"];

function unmark() {
  over?.row.classList.remove(...MARKS);
  over = null;
}

/** Where the pointer is: before, into or after the item under it. */
function placeAt(event) {
  const row = event.target.closest?.("#tree .row");
  const li = row?.closest("li[role=treeitem]");
  if (!li || dragged.contains(li)) return null;
  const box = row.getBoundingClientRect();
  const part = (event.clientY - box.top) / box.height;
  const where = uidOf(li) === state.branch ? "drop-into" : part < 0.28 ? "drop-before" : part > 0.72 ? "drop-after" : "drop-into";
  // What lies under the row of an open branch is its first item.
  const first = where === "drop-after" && isOpen(li) ? listOf(li)?.querySelector("li[role=treeitem]") : null;
  if (first) return first === dragged ? null : { row: first.firstElementChild, li: first, where: "drop-before" };
  return { row, li, where };
}

let opening = 0;

/** A closed branch opens under an item that waits over it. */
function openSoon(place) {
  clearTimeout(opening);
  if (place?.where === "drop-into" && !isOpen(place.li)) opening = setTimeout(open, 700, place.li);
}

if (movable) {
  panel.addEventListener("mousedown", (event) => {
    const li = event.target.closest(".row")?.closest("li[role=treeitem]");
    if (li && !event.target.closest("form") && uidOf(li) !== state.branch) li.draggable = !state.searching;
  });
  panel.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li[role=treeitem]");
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", byId(`row-${uidOf(dragged)}`).querySelector(".name")?.textContent ?? "");
    dragged.classList.add("dragged");
  });
  panel.addEventListener("dragover", (event) => {
    if (!dragged) return;
    const place = placeAt(event);
    if (over?.row !== place?.row || over?.where !== place?.where) unmark(), openSoon(place);
    if (!place) return;
    event.preventDefault();
    over = place;
    place.row.classList.add(place.where);
  });
  panel.addEventListener("drop", (event) => {
    if (!dragged || !over) return;
    event.preventDefault();
    const { li, where } = over;
    const to = where === "drop-into" ? uidOf(li) : uidOrTop(parentOf(li));
    const side = { "drop-before": { before: uidOf(li) }, "drop-after": { after: uidOf(li) } }[where];
    move(dragged, { to, ...side });
  });
  panel.addEventListener("dragend", () => {
    unmark();
    openSoon(null);
    dragged?.classList.remove("dragged");
    dragged?.removeAttribute("draggable");
    dragged = null;
  });
}
