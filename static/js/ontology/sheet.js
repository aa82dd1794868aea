// On a narrow screen the details of an item are a sheet over the tree. Its button, Escape and the browser's Back close it.

import { byId, focus, item, remember, selectNone, state, uidOf } from "./tree.js";

const pane = byId("details");
const narrow = matchMedia("(width < 900px)"); // as in the style sheet
const isOpen = () => narrow.matches && pane.matches(".sheet");
let shown = state.selected;

function update() {
  pane.classList.toggle("sheet", state.selected !== "");
  if (narrow.matches && state.selected && !history.state?.sheet && !shown) history.pushState({ sheet: true }, "");
  if (!state.selected && history.state?.sheet) history.back();
  if (!state.selected && pane.contains(document.activeElement) && item(shown)) focus(item(shown));
  if (isOpen()) byId(`row-${state.selected}`)?.scrollIntoView({ block: "nearest" });
  shown = state.selected;
}

update();
for (const name of ["tree:selected", "tree:refreshed"]) document.addEventListener(name, update);

addEventListener("popstate", ({ state: entry }) => {
  if (isOpen() && !entry?.sheet) selectNone();
  remember();
});

pane.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isOpen() && !event.defaultPrevented && !event.target.matches("input, textarea")) selectNone();
});

let pressed = null; // the item, until its details are there

function goIn() {
  if (pressed && (!isOpen() || uidOf(pressed) !== state.selected)) pressed = null; // somebody went on meanwhile
  if (!pressed || !byId(`details-${uidOf(pressed)}`)) return;
  if (document.activeElement === pressed) pane.querySelector("[data-overview]")?.focus({ preventScroll: true });
  pressed = null;
}

document.addEventListener("htmx:afterSettle", goIn);

/** Somebody who pressed on the item goes on in its details, unless they are elsewhere already. */
export function enter(li) {
  pressed = li;
  goIn();
}
