// The filters of the tree: their menu, and those in force as buttons that remove them.

import { find } from "./search.js";
import { base, byId, state } from "./tree.js";

const menu = byId("filter-menu");
const keys = () => state.only.split(",").filter(Boolean);
const family = (key) => key.match(/^(since|level)-/)?.[0] ?? key;

function filter(wanted) {
  state.only = wanted.join(",");
  return find();
}

/** Of those about a level or a time only one is in force. */
function toggle(key) {
  const others = keys().filter((other) => family(other) !== family(key));
  return filter(keys().includes(key) ? others : [...others, key]);
}

document.addEventListener("click", async (event) => {
  const { only, filter: key, drop } = event.target.closest("[data-only], [data-filter], [data-drop]")?.dataset ?? {};
  if (!(only || key || drop) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (only) return void filter([only]);
  if (key) return void toggle(key);
  await filter(keys().filter((other) => other !== drop));
  (byId("filters").querySelector("button") ?? menu.querySelector("summary")).focus();
});

byId("since-date").addEventListener("change", ({ target }) => target.value && toggle(`since-${target.value}`));

// What is in force changes with each answer.
document.addEventListener("tree:refreshed", () => {
  for (const button of menu.querySelectorAll("[data-filter]")) button.ariaPressed = String(keys().includes(button.dataset.filter));
  const [day = ""] = keys().flatMap((key) => key.match(/^since-(\d{4}-\d\d-\d\d)$/)?.slice(1) ?? []);
  byId("since-date").value = day;
});

/* Since the last visit: this browser knows when the page was left ---------------------------------------------------- */

const visit = byId("since-visit");
const left = `left:${base}`;

try {
  const last = sessionStorage.getItem(left) ?? localStorage.getItem(left); // a reload is no visit
  sessionStorage.setItem(left, last ?? "");
  if (last) {
    visit.hidden = false;
    visit.dataset.filter = `since-${last}`;
    visit.querySelector("small").textContent = new Date(last).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  }
  addEventListener("pagehide", () => localStorage.setItem(left, `${new Date().toISOString().slice(0, 16)}Z`));
} catch { /* private windows may refuse; the other times are there */ }
