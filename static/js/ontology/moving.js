// Moving items with their branches, by dragging them or with Alt and arrows: all that are selected. Only where the installation allows it.

import "../picking.js";
import { byId, chosen, inTurn, isOpen, item, itemUrl, listOf, open, panel, parentOf, state, uidOf } from "./tree.js";

const movable = "movable" in panel.dataset;
const uidOrTop = (li) => (li ? uidOf(li) : "");
const isItem = (li) => (li?.matches("li[role=treeitem]") ? li : null);

const move = (all, values) => {
  const uids = all.length > 1 ? all.map(uidOf).join(",") : "";
  return window.htmx.ajax("POST", itemUrl(uidOf(all[0]), "move/"), { values: { ...values, uids }, swap: "none" });
};

/** Whether an item above goes, too: then the item goes with that one. */
function goesAlong(li) {
  for (let up = parentOf(li); up; up = parentOf(up)) if (chosen.has(uidOf(up))) return true;
  return false;
}

/** What is moved, in the order of the tree: the item or, if several are selected, these. */
export function moved(li) {
  if (chosen.size < 2) return [li];
  const tops = [...chosen].map(item).filter((each) => each && !goesAlong(each));
  return tops.sort((one, other) => (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
}

const BY_KEY = {
  ArrowUp: ({ first, above }) => above && { to: uidOrTop(parentOf(first)), before: uidOf(above) },
  ArrowDown: ({ last, below }) => below && { to: uidOrTop(parentOf(last)), after: uidOf(below) },
  ArrowRight: ({ above }) => above && { to: uidOf(above) },
  ArrowLeft: ({ first }) => parentOf(first) && { to: uidOrTop(parentOf(parentOf(first))), after: uidOf(parentOf(first)) },
};

/** Whether the key was about moving. */
export function key(event) {
  const li = event.target;
  if (!movable || state.searching || !event.altKey || event.ctrlKey || event.metaKey || !(event.key in BY_KEY)) return false;
  if (!li.matches?.("#tree li[role=treeitem]")) return false;
  const all = moved(li);
  const isOut = event.key === "ArrowLeft" && state.branch && uidOrTop(parentOf(all[0])) === state.branch;
  if (!isOut && !all.some((each) => uidOf(each) === state.branch)) inTurn(() => moveBy(event.key, all.map(uidOf)));
  return true;
}

/** Pressed again before the answer is there, the key goes on from where the items are then. */
function moveBy(pressed, uids) {
  const all = uids.map(item).filter(Boolean);
  const [first, last] = [all[0], all.at(-1)];
  const above = isItem(first?.previousElementSibling);
  const values = first && BY_KEY[pressed]({ first, last, above, below: isItem(last.nextElementSibling) });
  return values && move(all, values);
}

/* Dragging --------------------------------------------------------------------------------------------------------- */

let dragged = null; // the items
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
  if (!li || dragged.some((each) => each.contains(li))) return null;
  const box = row.getBoundingClientRect();
  const part = (event.clientY - box.top) / box.height;
  const where = uidOf(li) === state.branch ? "drop-into" : part < 0.28 ? "drop-before" : part > 0.72 ? "drop-after" : "drop-into";
  // What lies under the row of an open branch is its first item.
  const first = where === "drop-after" && isOpen(li) ? listOf(li)?.querySelector("li[role=treeitem]") : null;
  if (first) return dragged.includes(first) ? null : { row: first.firstElementChild, li: first, where: "drop-before" };
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
    const li = event.target.closest("li[role=treeitem]");
    if (!li) return;
    dragged = chosen.has(uidOf(li)) ? moved(li) : [li];
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.map((each) => each.querySelector(".name").textContent).join("\n"));
    for (const each of dragged) each.classList.add("dragged");
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
    for (const each of dragged ?? []) each.classList.remove("dragged"), each.removeAttribute("draggable");
    dragged = null;
  });
}
