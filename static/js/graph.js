// The page of a graph: what is chosen is the same in the table, in the picture and in the evidence, and stands in the address.

import { createPicture } from "./graph/picture.js";
import { plural } from "./words.js";

const $ = (selector, root = document) => root.querySelector(selector);
const picture = createPicture($("#picture"), { open, neighbours });
const chosenAt = () => new URLSearchParams(location.search).get("at") ?? "";
const rows = () => [...document.querySelectorAll("#graph tr[data-at]")];

/* What is chosen -------------------------------------------------------------------------------------------------- */

/** Show what is behind a node or an edge, as a click on its row does. */
function open(at) {
  const link = $(`#graph tr[data-at="${CSS.escape(at)}"] a`);
  if (link) return void link.click();
  const address = new URL(location.href);
  address.searchParams.set("at", at);
  address.searchParams.delete("places");
  window.htmx.ajax("GET", address.pathname + address.search, { target: "#evidence", swap: "innerHTML" }).then(() => {
    history.pushState({}, "", address);
    show();
  });
}

function show() {
  const at = chosenAt();
  for (const row of rows()) row.toggleAttribute("aria-selected", row.dataset.at === at);
  $(`#graph tr[data-at="${CSS.escape(at)}"]`)?.scrollIntoView({ block: "nearest" });
  picture.choose(at);
}

async function neighbours(node) {
  const address = $(".graph-picture").dataset.neighbours.replace("NODE", node);
  const answer = await fetch(address + location.search, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (answer?.ok) picture.add(await answer.json(), node);
}

function draw() {
  const data = $("#graph-data");
  if (data) picture.draw(JSON.parse(data.textContent));
  show();
}

document.addEventListener("htmx:afterSettle", ({ detail: { target, elt } }) => {
  if (target.id === "graph" || elt?.id === "graph") draw(), recall();
  if (target.id === "evidence") show(), (target.scrollTop = 0);
});
window.addEventListener("htmx:pushedIntoHistory", show);

/* Selecting nodes, on several pages of the table ------------------------------------------------------------------- */

const selected = new Set();

function recall() {
  const form = $("#nodes");
  if (!$("#selected")) return;
  for (const box of form.querySelectorAll("input[name=node][type=checkbox]")) box.checked = selected.has(box.value);
  for (const field of form.querySelectorAll("input[name=node][type=hidden]")) field.remove();
  for (const id of selected) {
    if ($(`input[value="${id}"]`, form)) continue;
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "node", value: id }));
  }
  $("#selected").hidden = !selected.size;
  $("#selected > span").textContent = `${plural(selected.size, "node", "nodes")} selected`;
}

document.addEventListener("change", ({ target }) => {
  if (!target.matches("#nodes input[name=node]")) return;
  target.checked ? selected.add(target.value) : selected.delete(target.value);
  recall();
});
document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-clear]")) selected.clear(), recall();
});
document.addEventListener("graphChanged", () => selected.clear());

/* Keys ---------------------------------------------------------------------------------------------------------------- */

function step(by) {
  const all = rows();
  const now = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  $("a", next)?.focus();
}

const row = () => document.activeElement.closest("#graph tr[data-at]");
const KEYS = {
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  x: () => $("input[type=checkbox]", row() ?? document.body)?.click(),
  m: () => $("#selected:not([hidden]) [data-key=m]")?.click(),
  n: () => neighbours((row()?.dataset.at ?? chosenAt()).split(",")[0]),
  e: () => $("#evidence [data-key=e]")?.click(),
  "/": () => $("#filter [name=q]").focus(),
};

document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input:not([type=checkbox]), select, textarea, dialog");
  if (inField || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});

/* The picture's own buttons ------------------------------------------------------------------------------------------- */

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-picture]");
  if (button) picture[button.dataset.picture]();
});

window.graphPicture = picture; // what is drawn, for whoever looks at it by a program
draw();
