// Search in the tree: matches within their branches while one types, Enter steps through them, Escape leads back.

import { add } from "./naming.js";
import { ask, byId, focus, home, item, mark, opened, panel, parentOf, refresh, remember, reveal, root, rove, select, state, tell, uidOf } from "./tree.js";

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

export async function find() {
  const text = field.value.trim();
  const { only } = state;
  if (!text && !only) return leave();
  waiting?.abort();
  waiting = new AbortController();
  const query = new URLSearchParams({ q: text, only, within: state.branch, also: [...added].join(",") });
  const answer = ask(`${home}find/?${query}`, { signal: waiting.signal });
  const html = await answer.then((found) => found?.text()).catch(() => null); // it may be aborted on its way
  if (html == null) return;
  if (field.value.trim() !== text || state.only !== only) return;
  if (isTypedIn()) return void setTimeout(again, 500);
  if (!state.searching) {
    before = root();
    scrolled = scrollY;
    version = state.version;
    state.searching = true;
  }
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const active = root().contains(document.activeElement) && uidOf(document.activeElement.closest("li"));
  for (const place of [root(), byId("filters")]) place.replaceWith(document.adoptNode(fresh.getElementById(place.id)));
  panel.classList.toggle("searched", true);
  state.text = text;
  remember();
  mark();
  if (item(active)) {
    rove(item(active));
    item(active).focus({ preventScroll: true });
  }
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
  const others = [...added].filter((uid) => item(uid) && !item(uid).matches("[data-match]")).length;
  if (others) count.textContent += ` · ${others} new, not among them`;
}

/** Where “add it here” adds: below what is selected or the branch that is shown alone. */
const place = () => state.selected || state.branch;

function showNothing(isNothing) {
  nothing.hidden = !isNothing;
  if (!isNothing) return;
  const text = field.value.trim();
  const titles = [...byId("filters").querySelectorAll("button > :first-child")].map(({ textContent }) => `“${textContent}”`);
  const within = titles.length ? ` with the ${titles.length > 1 ? "filters" : "filter"} ${titles.join(" and ")}` : "";
  nothing.firstElementChild.textContent = `${text ? `Nothing found for “${text}”` : "No label"}${within}`;
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

/** To the next match, first of all to that which fits best. */
function step(by) {
  const all = matches();
  if (!all.length) return;
  const at = all.indexOf(item(state.selected));
  const next = at < 0 ? (by > 0 ? (item(root().dataset.best) ?? all[0]) : all.at(-1)) : all[(at + by + all.length) % all.length];
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
  byId("filters").replaceChildren();
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
  if (isTypedIn()) setTimeout(again, 500);
  else find();
}

/** Whether somebody types a name into a row, which would be lost with the rows. */
const isTypedIn = () => Boolean(root().querySelector(".row-edit"));

document.addEventListener("itemAdded", ({ detail: { uid } }) => {
  if (!field.value.trim() && !state.only) return;
  added.add(uid);
  setTimeout(again); // it may be a match
});

// An address that somebody shared.
const wanted = new URLSearchParams(location.search);
if (wanted.get("q") || wanted.get("only")) {
  field.value = wanted.get("q") ?? "";
  state.only = wanted.get("only") ?? "";
  find();
}

export const openedBehind = () => (before ? [...before.querySelectorAll('li[aria-expanded="true"]')].map(uidOf).join(",") : opened());
