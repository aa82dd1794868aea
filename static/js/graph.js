// The page of a graph: what is chosen is the same in the table, in the picture and in the evidence, and stands in the address.

import { createPicture } from "./graph/picture.js";
import { waitFor } from "./waiting.js";
import { plural } from "./words.js";

const $ = (selector, root = document) => root.querySelector(selector);
const picture = createPicture($("#picture"), { open, neighbours });
const chosenAt = () => new URLSearchParams(location.search).get("at") ?? "";
const say = (text, kind = "info") => document.dispatchEvent(new CustomEvent("toast", { detail: { text, kind } }));
const rowOf = (at) => $(`#graph tr[data-at="${CSS.escape(at)}"]`);
const rows = () => [...document.querySelectorAll("#graph tr[data-at]")];

/* What is chosen -------------------------------------------------------------------------------------------------- */

/** Show what is behind a node or an edge, as a click on its row does. */
function open(at) {
  const link = rowOf(at)?.querySelector("a");
  if (link) return void link.click();
  const address = new URL(location.href);
  address.searchParams.set("at", at);
  address.searchParams.delete("places");
  history.replaceState({ htmx: true }, ""); // as htmx leaves it, which then brings it back
  history.pushState({ htmx: true }, "", address);
  window.htmx.ajax("GET", address.pathname + address.search, { target: "#evidence", swap: "innerHTML" });
}

function show() {
  const at = chosenAt();
  $("#filter [name=at]").value = at;
  for (const row of rows()) $("a", row).ariaCurrent = row.dataset.at === at ? "true" : null;
  rowOf(at)?.scrollIntoView({ block: "nearest" });
  picture.choose(at);
}

async function neighbours(node) {
  if (!node) return say("Choose a node first: its neighbours come then.");
  const address = $(".graph-picture").dataset.neighbours.replace("NODE", node);
  const answer = await waitFor(fetch(address + location.search, { headers: { "HX-Request": "true" } })).catch(() => null);
  const found = answer?.ok ? await answer.json().catch(() => null) : null;
  if (!found) return say("The neighbours could not be fetched. Try again in a moment.", "error");
  if (!picture.add(found, node)) say("No further neighbours.");
}

function draw() {
  const data = $("#graph-data");
  if (data) picture.draw(JSON.parse(data.textContent));
  show();
}

let focused = ""; // the row that had the focus, while another table comes
document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => target.id === "graph" && (focused = row()?.dataset.at ?? ""));
document.addEventListener("htmx:afterSettle", ({ detail: { target, elt } }) => {
  if (target.id === "graph" || elt?.id === "graph") {
    draw();
    recall();
    rowOf(focused)?.querySelector("a").focus();
    focused = "";
  }
  if (target.id !== "evidence") return;
  show();
  target.scrollTop = 0;
  const { top, bottom } = target.getBoundingClientRect();
  if (top > innerHeight - 100 || bottom < 100) target.scrollIntoView(); // on narrow windows it stands below all else
});
window.addEventListener("htmx:pushedIntoHistory", show);

/* Selecting nodes, on several pages of the table ------------------------------------------------------------------- */

const KEPT = `graph:${location.pathname}`; // for this tab
const selected = new Set(JSON.parse(sessionStorage.getItem(KEPT)));

function recall() {
  sessionStorage.setItem(KEPT, JSON.stringify([...selected]));
  const form = $("#nodes");
  if (!$("#selected")) return;
  for (const box of form.querySelectorAll("input[name=node][type=checkbox]")) box.checked = selected.has(box.value);
  for (const field of form.querySelectorAll("input[name=node][type=hidden]")) field.remove();
  const elsewhere = [...selected].filter((id) => !$(`input[value="${id}"]`, form));
  form.append(...elsewhere.map((value) => Object.assign(document.createElement("input"), { type: "hidden", name: "node", value })));
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
  ArrowRight: () => $("#evidence").focus(),
  ArrowLeft: () => ($("a", rowOf(chosenAt()) ?? rows()[0]))?.focus(),
  x: () => row()?.querySelector("input[type=checkbox]")?.click(),
  m: () => $("#selected:not([hidden]) [data-key=m]")?.click(),
  n: () => neighbours((row()?.dataset.at ?? chosenAt()).split(",")[0]),
  e: () => $("#evidence [data-key=e]")?.click(),
  u: () => $("#graph-actions [data-key=u]")?.click(),
  "/": () => $("#filter [name=q]").focus(),
};

document.addEventListener("keydown", (event) => {
  const inField = event.target.closest("input:not([type=checkbox]), select, textarea, dialog, .menu");
  const elsewhere = event.key.startsWith("Arrow") && event.target.closest("#evidence") && event.key !== "ArrowLeft";
  if (inField || elsewhere || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
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
recall();
