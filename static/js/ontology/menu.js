// What can be done with an item, without its key: a few buttons that go to the row under the pointer or with the focus, and a menu. Both
// are there once, whatever the size of the tree. Most entries press a key, so what a key does stands in one place.

import { byId, chosen, focus, get, isBranch, isOpen, item, itemUrl, panel, select, showBranch, state, uidOf } from "./tree.js";
import { moved } from "./moving.js";
import { askForPlace, branch as selectBranch } from "./selection.js";

const buttons = byId("row-actions");
const menu = byId("item-menu");
let uid = ""; // of the row with the buttons
let opener = ""; // the item that the menu is about

/* The buttons in the row ------------------------------------------------------------------------------------------- */

function place(li) {
  const row = li?.firstElementChild;
  buttons.hidden = !row?.matches(".row:not(.editing)") || !li.checkVisibility();
  if (buttons.hidden) return;
  uid = uidOf(li);
  const [box, around] = [row.getBoundingClientRect(), panel.getBoundingClientRect()];
  const figures = byId("tree-head").querySelector(".usage").getBoundingClientRect();
  const end = matchMedia("(width < 640px)").matches ? figures.right : figures.left; // rather over the figures than over the name
  buttons.style.top = `${box.top - around.top}px`;
  buttons.style.right = `${around.right - end - panel.scrollLeft + 8}px`;
  buttons.querySelector(".swatch")?.style.setProperty("--c", row.querySelector(".swatch").style.getPropertyValue("--c"));
}

const withFocus = () => document.activeElement?.closest("#tree li[role=treeitem]");

panel.addEventListener("pointerover", ({ target }) => {
  const li = target.closest("#tree .row")?.closest("li[role=treeitem]");
  if (li && (uidOf(li) !== uid || buttons.hidden)) place(li);
});
panel.addEventListener("pointerleave", () => buttons.contains(document.activeElement) || place(withFocus()));
panel.addEventListener("focusin", ({ target }) => target.matches("li[role=treeitem]") && place(target));
panel.addEventListener("focusout", ({ relatedTarget }) => panel.contains(relatedTarget) || panel.matches(":hover") || place(null));

/** Buttons that nobody has gone to since do not come back. */
const stay = () => buttons.hidden || place(item(uid));
panel.addEventListener("scroll", stay);

// Rows may have gone elsewhere. What is around them is laid out later, in one go: the pointer may have left by then.
let waiting = 0;
function follow() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(stay);
}
for (const name of ["tree:changed", "tree:refreshed", "htmx:afterSettle"]) document.addEventListener(name, follow);

buttons.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays in the tree

/* The menu --------------------------------------------------------------------------------------------------------- */

const entries = () => [...menu.querySelectorAll("[role=menuitem]:not([hidden])")];

function show(li, x, y) {
  opener = uidOf(li);
  focus(li);
  if (!chosen.has(opener) && state.selected !== opener) select(li);
  const is = {
    on: !li.firstElementChild.matches(".off"),
    off: li.firstElementChild.matches(".off"),
    branch: isBranch(li),
    open: isBranch(li) && isOpen(li),
    closed: isBranch(li) && !isOpen(li),
    whole: !state.searching,
  };
  for (const entry of menu.querySelectorAll("[data-if]")) entry.hidden = !is[entry.dataset.if];
  menu.ariaLabel = `Actions of ${li.querySelector(".name").textContent}`;
  menu.showPopover();
  menu.style.left = `${Math.max(8, Math.min(x, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(y, innerHeight - menu.offsetHeight - 8))}px`;
  entries()[0].focus({ preventScroll: true });
}

function showBelow(li) {
  const box = li.firstElementChild.getBoundingClientRect();
  show(li, box.left + parseFloat(getComputedStyle(li.firstElementChild).paddingLeft), box.bottom);
}

function close() {
  menu.hidePopover();
  if (item(opener)) focus(item(opener));
}

document.addEventListener("contextmenu", (event) => {
  if (event.target.closest("#item-menu")) return event.preventDefault();
  const li = event.target.closest("#tree .row, #tree li")?.closest("li[role=treeitem]");
  if (!li || event.target.closest("form")) return;
  event.preventDefault();
  if (!menu.matches(":popover-open")) event.button === 2 ? show(li, event.clientX, event.clientY) : showBelow(li);
});

panel.addEventListener("keydown", (event) => {
  const li = event.target;
  if (!li.matches("li[role=treeitem]") || !(event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey))) return;
  event.preventDefault();
  showBelow(li);
});

const step = (by) => {
  const all = entries();
  const at = all.indexOf(document.activeElement);
  all.at((at + by) % all.length).focus();
};
const KEYS = {
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  Home: () => entries()[0].focus(),
  End: () => entries().at(-1).focus(),
  Escape: close,
  Tab: close,
};

menu.addEventListener("keydown", (event) => {
  event.stopPropagation();
  if (KEYS[event.key]) {
    event.preventDefault();
    return KEYS[event.key]();
  }
  if (event.key.length > 1 || event.key === " ") return;
  const all = entries();
  const at = all.indexOf(document.activeElement) + 1;
  [...all.slice(at), ...all.slice(0, at)].find((entry) => entry.textContent.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
});

/* What they do ----------------------------------------------------------------------------------------------------- */

const dialog = (verb) => (li) => get(itemUrl(uidOf(li), verb), "#dialog", "innerHTML");

const ACTIONS = {
  menu: showBelow,
  paste: dialog("paste/"),
  move: (li) => (chosen.size > 1 ? askForPlace(moved(li)[0]) : dialog("move/")(li)),
  branch: (li) => showBranch(uidOf(li)),
  whole: () => selectBranch(),
  async color(li) {
    if (!chosen.has(uidOf(li))) await select(li);
    byId("details").querySelector(".palette button")?.focus();
  },
};

function press(li, keys) {
  const [key, ...held] = keys.split("+").reverse();
  const [ctrlKey, shiftKey, altKey] = ["Control", "Shift", "Alt"].map((name) => held.includes(name));
  li.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey, shiftKey, altKey, bubbles: true, cancelable: true }));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("#row-actions button, #item-menu button");
  if (!button) return;
  const li = item(button.closest("#item-menu") ? opener : uid);
  if (menu.matches(":popover-open")) menu.hidePopover();
  if (!li) return;
  focus(li);
  button.dataset.item ? ACTIONS[button.dataset.item](li) : press(li, button.dataset.press);
});
