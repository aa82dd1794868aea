// The bar above the tree says where the first row on the screen stands while the rows above that are scrolled away.

import { byId, focus, item, panel, parentOf, select, uidOf } from "./tree.js";

const head = byId("tree-head");
const path = byId("path");
const tools = document.querySelector(".tools");
const NEAREST = 4;
let shown = "";
let waiting = 0;

/** What is under the bar, found by its place: ten thousand rows may be open. Something else may lie over it. */
function first() {
  const { left, bottom } = head.getBoundingClientRect();
  const row = document.elementsFromPoint(left + 24, bottom + 6).find((each) => each.matches("#tree .row"));
  return row?.closest("li[role=treeitem]");
}

function show() {
  const line = [];
  for (let li = first(), up = li && parentOf(li); up; up = parentOf(up)) line.unshift(up);
  const key = line.map((li) => li.id).join();
  if (key === shown) return;
  shown = key;
  path.hidden = !line.length;
  const near = line.slice(-NEAREST).map((li) => button(li));
  path.replaceChildren(...(line.length > NEAREST ? [button(line.at(-NEAREST - 1), "…")] : []), ...near);
}

function button(li, text) {
  const name = li.querySelector(".name").textContent;
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text ?? name, title: `Go to ${name}`, value: uidOf(li) });
  if (text) made.ariaLabel = name;
  return made;
}

function later() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(show);
}

path.addEventListener("click", ({ target }) => {
  const li = item(target.value);
  if (!li) return;
  focus(li);
  select(li);
});

for (const name of ["scroll", "resize"]) addEventListener(name, later, { passive: true });
for (const name of ["tree:changed", "tree:refreshed", "htmx:afterSettle"]) document.addEventListener(name, later);

// What sticks to the top is as high as its content.
new ResizeObserver(() => {
  const height = getComputedStyle(tools).position === "sticky" ? tools.offsetHeight : 0;
  panel.closest(".columns").style.setProperty("--tools", `${height}px`);
}).observe(tools);
