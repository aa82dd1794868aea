// Search in the tree: matches within their branches while one types, Enter steps through them, Escape leads back.

import { ask, byId, focus, home, item, mark, opened, panel, parentOf, refresh, reveal, root, select, state, tell, uidOf } from "./tree.js";

const field = byId("search");
const count = byId("matches");
let timer = 0;
let waiting = null;
let before = null; // the tree as it was
let scrolled = 0;
let version = "";

const matches = () => [...root().querySelectorAll("li[data-match]")];

async function find() {
  const text = field.value.trim();
  if (!text) return leave();
  waiting?.abort();
  waiting = new AbortController();
  const query = new URLSearchParams({ q: text, within: state.branch });
  const answer = await ask(`${home}find/?${query}`, { signal: waiting.signal }).catch(() => null);
  if (!answer) return;
  const html = await answer.text();
  if (field.value.trim() !== text) return;
  if (!state.searching) {
    before = root();
    scrolled = scrollY;
    version = state.version;
    state.searching = true;
  }
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("kids-root");
  root().replaceWith(document.adoptNode(fresh));
  panel.classList.toggle("searched", true);
  mark();
  tell("refreshed");
  showCount();
}

function showCount() {
  const all = matches();
  const total = Number(root().dataset.total);
  const at = all.indexOf(item(state.selected));
  const of = `${total} ${total === 1 ? "match" : "matches"}`;
  count.textContent = !total ? "Nothing found" : at < 0 ? of : `${at + 1} of ${of}`;
  if (total > all.length) count.textContent += `, the first ${all.length} are shown`;
}

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
  if (!state.searching) return;
  state.searching = false;
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
document.addEventListener("tree:stale", () => {
  version = "";
  find();
});

export const openedBehind = () => (before ? [...before.querySelectorAll('li[aria-expanded="true"]')].map(uidOf).join(",") : opened());
