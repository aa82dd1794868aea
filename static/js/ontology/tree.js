// The tree on the screen: its elements, open branches, selection, and refreshing it.
// A branch of a large tree is fetched when it is first opened.

import { isDialogs } from "../address.js";
import { waitFor } from "../waiting.js";
import { morph, save, typed } from "./morph.js";

export const panel = document.querySelector("#tree");
export const base = panel.dataset.url; // …/items/
export const home = base.replace(/items\/$/, "");
export const editable = "editable" in panel.dataset;
export const byId = (id) => document.getElementById(id);
export const item = (uid) => (uid ? byId(`i-${uid}`) : null);
export const uidOf = (li) => li.id.slice(2);
export const root = () => byId("kids-root");
export const items = () => [...root().querySelectorAll("li[role=treeitem]")];
export const isBranch = (li) => li.ariaExpanded !== null;
export const isOpen = (li) => li.ariaExpanded === "true";
export const listOf = (li) => li.querySelector(":scope > ul");
export const parentOf = (li) => li.parentElement.closest("li");
export const level = (li) => Number(li.getAttribute("aria-level"));
export const itemUrl = (uid, verb = "") => `${base}${uid}/${verb}`;

/* Steps between visible items go through the lists, not through all rows: ten thousand may be open. */
const rowsOf = (list) => [...(list?.children ?? [])].filter((li) => li.matches("li[role=treeitem]"));
const deepest = (li) => (isOpen(li) && listOf(li) ? deepest(rowsOf(listOf(li)).at(-1) ?? li) : li);
const besides = (li, side) => {
  const next = li[side];
  return !next || next.matches("li[role=treeitem]") ? next : besides(next, side);
};
export const first = () => rowsOf(root())[0];
export const last = () => first() && deepest(rowsOf(root()).at(-1));
export const above = (li) => {
  const before = besides(li, "previousElementSibling");
  return before ? deepest(before) : parentOf(li);
};
export const below = (li) => {
  const inside = isOpen(li) ? rowsOf(listOf(li))[0] : null;
  if (inside) return inside;
  for (let up = li; up; up = parentOf(up)) {
    const next = besides(up, "nextElementSibling");
    if (next) return next;
  }
};

export const get = (url, target, swap) => window.htmx.ajax("GET", url, { source: target, target, swap });
export const say = (text, kind = "error") => document.dispatchEvent(new CustomEvent("toast", { detail: { text, kind } }));
export const tell = (name) => document.dispatchEvent(new CustomEvent(`tree:${name}`));

export const state = {
  version: panel.dataset.version,
  selected: panel.dataset.selected ?? "",
  branch: byId("branch").dataset.branch ?? "",
  searching: false,
  text: "", // that is searched
  only: "", // the filter
};

/* Fetch rows without htmx: it processes every element of an answer, which takes seconds for ten thousand rows. */

const token = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];

/** `quiet`, for what the page asks for by itself; `any`, for an answer that is a refusal, too. */
export async function ask(url, { body, signal, quiet, any } = {}) {
  const headers = { "HX-Request": "true", "X-CSRFToken": token() };
  const request = fetch(url, { method: body ? "POST" : "GET", body, signal, headers }).catch((error) => {
    if (error.name === "AbortError") throw error;
  });
  const answer = await (quiet ? request : waitFor(request));
  const elsewhere = answer?.headers.get("HX-Redirect");
  if (elsewhere) return void (location.href = elsewhere);
  if (any) return answer;
  if (!answer?.ok) return void say("The items could not be fetched. Try again in a moment.");
  return answer;
}

/** Wait until no element that matches has a request in flight. */
export async function answered(selector) {
  while (document.querySelector(selector)) {
    await new Promise((done) => document.addEventListener("htmx:afterRequest", () => setTimeout(done), { once: true }));
  }
}

let lastStep = Promise.resolve();

/** Run steps that build on each other, such as undo pressed three times, one after another: each starts when the tree is up to date. */
export function inTurn(step) {
  lastStep = lastStep.then(step).then(() => running).catch(() => {});
  return lastStep;
}

/* Open and closed ------------------------------------------------------------------------------------------------- */

export const opened = () => [...root().querySelectorAll('li[aria-expanded="true"]')].map(uidOf).join(",");

export async function open(li) {
  if (!isBranch(li)) return;
  if (!listOf(li)) await get(itemUrl(uidOf(li), "children/"), li, "beforeend");
  if (listOf(li)) li.ariaExpanded = "true";
  tell("changed");
}

const ALL_LEVELS = 1000; // as in ontologies/editor/tree_rows.py

/** Open a branch and all below it. Those that are not there yet are fetched all at once; false if that fails. */
export async function openAll(li) {
  const branches = () => [li, ...li.querySelectorAll("li")].filter(isBranch);
  if (branches().some((each) => !listOf(each))) {
    const answer = await ask(`${base}?levels=${ALL_LEVELS}&within=${uidOf(li)}`);
    if (!answer) return false;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const each of branches()) {
      const list = fresh.getElementById(`kids-${uidOf(each)}`);
      if (list && !listOf(each)) each.append(document.adoptNode(list));
    }
  }
  for (const each of branches()) if (listOf(each)) each.ariaExpanded = "true";
  tell("changed");
  return true;
}

export function close(li) {
  if (!isBranch(li)) return;
  if (li.contains(document.activeElement) && document.activeElement !== li) focus(li);
  li.ariaExpanded = "false";
  tell("changed");
}

/** Show so many levels. Branches that are not there yet are fetched all at once. */
export async function show(levels) {
  await running; // a tree that is on its way has the branches as they were
  const branches = items().filter(isBranch);
  if (branches.some((li) => level(li) < levels && !listOf(li))) {
    const answer = await ask(`${base}?levels=${levels}&within=${state.branch}`);
    if (!answer) return;
    root().outerHTML = await answer.text();
  } else {
    for (const li of branches) li.ariaExpanded = String(level(li) < levels);
    const hidden = focused()?.closest('li[aria-expanded="false"] li');
    if (hidden) rove(outermostClosed(hidden));
  }
  mark();
  tell("changed");
}

const outermostClosed = (li) => {
  let found = li;
  for (let up = parentOf(li); up; up = parentOf(up)) if (!isOpen(up)) found = up;
  return found;
};

/* Focus and selection ---------------------------------------------------------------------------------------------- */

export const focused = () => root().querySelector('li[tabindex="0"]');

/** Tab enters the tree at this item. */
export function rove(li) {
  const before = focused();
  if (before) before.tabIndex = -1;
  if (li) li.tabIndex = 0;
}

export function focus(li) {
  rove(li);
  li.focus({ preventScroll: true });
  byId(`row-${uidOf(li)}`)?.scrollIntoView({ block: "nearest" });
}

export const chosen = new Set(); // more than the selected item, if several are selected

let following = 0;
const AGAIN = 3000; // ms after which details are asked for again that could not be fetched

const SAVED = "#tree form.htmx-request, #details form.htmx-request, #details form .htmx-request";
const REFUSED = "[role=alert], [aria-invalid=true]";

/** Save unsaved fields first. If that is refused, stay on their item and show the reason. */
async function showDetails() {
  const wanted = state.selected;
  const pane = byId("details");
  const failed = pane.querySelector(REFUSED) ? [] : typed(pane).filter((field) => !field.form.matches(".htmx-request"));
  failed.forEach(save);
  if (document.querySelector(SAVED)) {
    await answered(SAVED);
    if (state.selected !== wanted) return;
    const li = pane.querySelector(REFUSED) && item(pane.firstElementChild.dataset.uid);
    if (li) return void take(li);
  }
  return get(itemUrl(wanted), "#details", "morph:innerHTML").catch(() => {
    if (wanted !== state.selected) return;
    tell("unreachable");
    setTimeout(() => wanted === state.selected && followed(), AGAIN);
  });
}

const followed = () => byId(`details-${state.selected}`) ?? showDetails();

export function select(li) {
  take(li);
  return showDetails();
}

/** An item, or none. */
function take(li) {
  clearTimeout(following);
  state.selected = li ? uidOf(li) : "";
  chosen.clear();
  mark();
  tell("selected");
  remember();
}

/** Select the item that the keys lead to; fetch its details after a pause. */
export function follow(li) {
  if (state.selected === uidOf(li)) return;
  take(li);
  following = setTimeout(followed, 150);
}

/** Select nothing: the details are the overview. */
export function selectNone() {
  take(null);
  return showOverview();
}

const overview = `${home}overview/`;
export const several = `${base}several/`;
export const showOverview = () => get(overview, "#details", "morph:innerHTML");

/** The address of the details of what is selected. */
const wantedDetails = () => (chosen.size > 1 ? several : state.selected ? itemUrl(state.selected) : overview);

// Something else may have been selected before details came, and have been shown with the tree already. Nothing of the item before
// stays, such as a text in a field: the answer takes its place.
byId("details").addEventListener("htmx:beforeSwap", ({ currentTarget: pane, detail }) => {
  if (detail.requestConfig.elt !== pane) return;
  if (detail.pathInfo.requestPath !== wantedDetails()) detail.shouldSwap = false;
  else if (!detail.serverResponse.includes(`id="${pane.firstElementChild?.id}"`)) detail.swapOverride = "innerHTML";
});

/** Keep what is shown and selected in the address. */
export function remember() {
  if (isDialogs()) return; // it is done when the dialog has been left
  const query = new URLSearchParams();
  if (state.branch) query.set("branch", state.branch);
  if (state.text) query.set("q", state.text);
  if (state.only) query.set("only", state.only);
  if (state.selected) query.set("item", state.selected);
  history.replaceState(history.state, "", query.size ? `${home}?${query}` : home);
}
document.addEventListener("dialogLeft", remember);

/** Mark the selected items and keep one item reachable by Tab after parts of the tree were replaced. */
export function mark() {
  const wanted = chosen.size ? chosen : new Set([state.selected]);
  for (const li of root().querySelectorAll("li[aria-selected]")) if (!wanted.has(uidOf(li))) li.removeAttribute("aria-selected");
  for (const uid of wanted) item(uid)?.setAttribute("aria-selected", "true");
  if (!focused()) rove(item(state.selected) ?? root().querySelector("li[role=treeitem]"));
}

/* Up to date again ------------------------------------------------------------------------------------------------- */

/** Whether a version of the ontology is older than the one on the screen. */
export const isOlder = (version) => Number(version) < Number(state.version);

let running = null;
let wanted = null;

/** Bring the tree, the tool bar and the details up to date; one request at a time. `reveal` names an item to be shown. */
export function refresh(options = {}) {
  wanted = { ...wanted, ...options };
  running ??= (async () => {
    while (wanted) {
      const now = wanted;
      wanted = null;
      await fetchTree(now);
    }
  })().finally(() => (running = null));
  return running;
}

async function fetchTree(options) {
  const { open: branches, reveal = "", quiet } = options;
  const pane = byId("details");
  const body = new FormData();
  const { selected: asked, branch: within } = state;
  const shown = opened();
  body.set("open", branches ?? shown);
  body.set("within", within);
  body.set("reveal", reveal);
  if (asked && !pane.querySelector(REFUSED)) body.set("item", asked);
  const answer = await ask(`${home}tree/`, { body, quiet });
  if (!answer) return;
  const [, version] = answer.headers.get("X-Ontology-Version").split(" ");
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  await new Promise((resolve) => setTimeout(resolve)); // ten thousand rows: the browser may draw in between
  if (isOlder(version) || state.branch !== within || opened() !== shown) return void (wanted = { reveal, ...wanted }); // overtaken
  state.version = version;
  let nearest;
  if (state.searching) tell("stale");
  else nearest = replaceTree(fresh.getElementById("kids-root"));
  for (const id of ["facts", "undo", "branch"]) if (byId(id)) morph(byId(id), fresh.getElementById(id));
  const details = fresh.querySelector("[id^=details-]");
  if (details && chosen.size < 2 && state.selected === asked && !pane.querySelector(REFUSED)) {
    if (details.id === "details-none") state.selected = "";
    const usage = byId(details.id)?.querySelector("[hx-trigger^=load]");
    if (byId(details.id)) morph(pane, details, "innerHTML");
    else pane.replaceChildren(document.adoptNode(details)), window.htmx.process(pane);
    if (usage) window.htmx.trigger(usage, "refresh");
  }
  if (!state.selected && chosen.size < 2) showOverview();
  state.branch = byId("branch").dataset.branch ?? "";
  mark();
  tell("refreshed");
  tell("changed");
  await nearest; // the next step may remove it while its details are on their way
}

/** Replace the whole tree but keep the focus. If its item is gone, select the nearest one; done when its details are shown. */
async function replaceTree(fresh) {
  const active = document.activeElement;
  const near = root().contains(active) ? neighbours(active.closest("li[role=treeitem]")) : [];
  for (const listener of decorators) listener(fresh);
  const known = new Map(items().map((li) => [li.id, li]));
  const wanted = new Set([...fresh.querySelectorAll("li")].map((li) => li.id));
  reconcile(root(), fresh, known, wanted);
  if (!active?.isConnected) {
    const next = near.map(item).find(Boolean);
    if (next) focus(next);
    return next && select(next).catch(() => {});
  }
  if (near.length) for (let up = parentOf(active.closest("li")); up; up = parentOf(up)) up.ariaExpanded = "true"; // it may have been moved
  if (document.activeElement !== active) active.focus({ preventScroll: true });
}

/** Where the focus goes if this item is not there any more. */
function neighbours(li) {
  if (!li) return [];
  return [li.nextElementSibling, li.previousElementSibling, parentOf(li)].filter((each) => each?.matches("li[role=treeitem]")).map(uidOf);
}

/** What is shown in the rows beside what the server sends with them. */
export const decorators = [];

/**
 * Make a list equal to a newer one. Elements that occur in both stay, and with them the focus, the scroll and typed names.
 * Own code, not idiomorph: it takes 37 ms for 10,000 open rows, idiomorph 199 ms.
 */
function reconcile(list, fresh, known, wanted) {
  for (const li of [...list.children]) if (!wanted.has(li.id) && !li.matches(".new-item")) li.remove();
  let at = list.firstElementChild;
  const wantedHere = [...fresh.children];
  for (const li of wantedHere) {
    const next = known.get(li.id) ?? li;
    if (next === at) at = at.nextElementSibling;
    else list.insertBefore(next, at);
  }
  // Only now what is below: an item may go there from this list.
  for (const li of wantedHere) {
    const mine = known.get(li.id);
    if (mine) update(mine, li, known, wanted);
    else takeBack(listOf(li), known, wanted);
  }
}

/** A list that is new may hold items that were elsewhere before. */
function takeBack(list, known, wanted) {
  if (!list || ![...list.querySelectorAll("li")].some((li) => known.has(li.id))) return;
  const own = list.cloneNode(false);
  list.replaceWith(own);
  reconcile(own, list, known, wanted);
}

function update(mine, fresh, known, wanted) {
  const [row, newRow] = [mine.firstElementChild, fresh.firstElementChild];
  if (!row.isEqualNode(newRow) && !row.querySelector("form")) row.replaceWith(document.adoptNode(newRow));
  for (const name of ["aria-level", "aria-expanded"]) {
    if (fresh.hasAttribute(name)) mine.setAttribute(name, fresh.getAttribute(name));
    else mine.removeAttribute(name);
  }
  mine.removeAttribute("data-match");
  const [list, newList] = [listOf(mine), listOf(fresh)];
  if (list && newList) reconcile(list, newList, known, wanted);
  else if (newList) mine.append(document.adoptNode(newList)), takeBack(newList, known, wanted);
  else if (list && !list.querySelector(".new-item")) list.remove();
}

/** Show an item wherever it is, open its branches and select it. */
export async function reveal(uid) {
  tell("leave-search");
  if (!item(uid)) await refresh({ reveal: uid });
  const li = item(uid);
  if (!li) return void say("This item is not there any more.", "warning");
  for (let up = parentOf(li); up; up = parentOf(up)) up.ariaExpanded = "true";
  focus(li);
  byId(`row-${uid}`).scrollIntoView({ block: "center" });
  tell("changed");
  return chosen.size > 1 && chosen.has(uid) ? undefined : select(li);
}

/** Show only one branch, or with "" everything again. */
export async function showBranch(uid) {
  const before = state.branch;
  state.branch = uid;
  tell("leave-search");
  await refresh(uid ? {} : { reveal: state.selected || before });
  remember();
  const li = item(state.selected) ?? item(uid || before);
  if (li) focus(li);
}
