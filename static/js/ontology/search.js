// Search in the tree: matches within their branches while one types, Enter steps through them, Escape leads back.

import { add } from "./naming.js";
import { ask, byId, focus, home, item, mark, opened, panel, parentOf, refresh, remember, reveal, root, select, state, tell, uidOf } from "./tree.js";

const field = byId("search");
const count = byId("matches");
const nothing = byId("nothing-found");
let timer = 0;
let waiting = null;
let before = null; // the tree as it was
let scrolled = 0;
let version = "";
const added = new Set(); // during the search: they stay on the screen, also if they do not match

const matches = () => [...root().querySelectorAll("li[data-match]")];

async function find() {
  const text = field.value.trim();
  const { only } = state;
  if (!text && !only) return leave();
  waiting?.abort();
  waiting = new AbortController();
  const query = new URLSearchParams({ q: text, only, within: state.branch, also: [...added].join(",") });
  const answer = await ask(`${home}find/?${query}`, { signal: waiting.signal }).catch(() => null);
  if (!answer) return;
  const html = await answer.text();
  if (field.value.trim() !== text || state.only !== only) return;
  if (!state.searching) {
    before = root();
    scrolled = scrollY;
    version = state.version;
    state.searching = true;
  }
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("kids-root");
  root().replaceWith(document.adoptNode(fresh));
  panel.classList.toggle("searched", true);
  byId("only").hidden = !only;
  byId("only").textContent = `${root().dataset.title ?? only} ×`;
  state.text = text;
  remember();
  mark();
  tell("refreshed");
  showCount();
}

function showCount() {
  const all = matches();
  const total = Number(root().dataset.total);
  showNothing(!total && !root().childElementCount);
  const at = all.indexOf(item(state.selected));
  const of = `${total} ${total === 1 ? "match" : "matches"}`;
  count.textContent = !total ? "Nothing found" : at < 0 ? of : `${at + 1} of ${of}`;
  if (total > all.length) count.textContent += `, the first ${all.length} are shown`;
}

/** Where “add it here” adds: below what is selected or the branch that is shown alone. */
const place = () => state.selected || state.branch;

function showNothing(isNothing) {
  nothing.hidden = !isNothing;
  if (!isNothing) return;
  const text = field.value.trim();
  nothing.firstElementChild.textContent = text ? `Nothing found for “${text}”` : `No label: ${root().dataset.title ?? state.only}`;
  const button = nothing.querySelector("[data-find=add]");
  if (button) button.hidden = !text;
  const name = place() && before.querySelector(`#row-${place()} > .name`)?.textContent;
  const below = name ? `below “${name}”` : "below the selected item";
  if (button) button.textContent = `Add it as a label ${place() ? below : "at the top level"}`;
}

nothing.addEventListener("click", async ({ target: { dataset } }) => {
  const [name, uid] = [field.value.trim(), place()];
  if (!dataset.find) return;
  await leaveTo(dataset.find === "add" ? uid : "");
  if (dataset.find === "clear") return field.focus();
  add(uid, name);
});

function step(by) {
  const all = matches();
  if (!all.length) return;
  const at = all.indexOf(item(state.selected));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length];
  for (let up = parentOf(next); up; up = parentOf(up)) up.ariaExpanded = "true";
  byId(`row-${uidOf(next)}`).scrollIntoView({ block: "nearest" });
  select(next);
}

/** The tree as it was before; what was selected meanwhile is shown in it. */
function leave() {
  clearTimeout(timer);
  waiting?.abort();
  count.textContent = "";
  nothing.hidden = true;
  added.clear();
  byId("only").hidden = true;
  state.only = state.text = "";
  if (!state.searching) return;
  state.searching = false;
  remember();
  panel.classList.remove("searched");
  root().replaceWith(before);
  before = null;
  mark();
  scrollTo(0, scrolled);
  tell("refreshed");
  if (version !== state.version) refresh({ reveal: state.selected });
}

async function leaveTo(uid) {
  field.value = "";
  leave();
  if (uid) await reveal(uid);
}

field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(find, 120);
});

field.addEventListener("keydown", async (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    clearTimeout(timer);
    if (!state.searching) await find();
    step(event.shiftKey ? -1 : 1);
  } else if (event.key === "ArrowDown" && state.searching) {
    event.preventDefault();
    const li = item(state.selected) ?? matches()[0];
    if (li) focus(li);
  } else if (event.key === "Escape") {
    event.preventDefault();
    const shown = state.searching && item(state.selected) ? state.selected : "";
    field.blur();
    await leaveTo(shown);
  }
});

panel.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !state.searching || event.defaultPrevented || event.target.closest("form")) return;
  event.preventDefault();
  leaveTo(event.target.matches("li[role=treeitem]") ? uidOf(event.target) : state.selected);
});

document.addEventListener("tree:selected", () => state.searching && showCount());

document.addEventListener("tree:leave-search", () => {
  field.value = "";
  leave();
});

// Something has changed while the search stands: its rows are found again, the tree behind it when the search is left.
document.addEventListener("tree:stale", again);

function again() {
  version = "";
  if (root().querySelector(".row-edit")) setTimeout(again, 500); // what is being typed there would be lost
  else if (state.searching) find();
}

document.addEventListener("itemAdded", ({ detail: { uid } }) => {
  if (!state.searching) return;
  added.add(uid);
  setTimeout(again); // it may be a match
});

/* Filters ---------------------------------------------------------------------------------------------------------- */

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-only]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  state.only = link.dataset.only;
  find();
});

byId("only").addEventListener("click", () => {
  state.only = "";
  find();
});

// An address that somebody shared.
const wanted = new URLSearchParams(location.search);
if (wanted.get("q") || wanted.get("only")) {
  field.value = wanted.get("q") ?? "";
  state.only = wanted.get("only") ?? "";
  find();
}

export const openedBehind = () => (before ? [...before.querySelectorAll('li[aria-expanded="true"]')].map(uidOf).join(",") : opened());
