// Pages that are at hand: the next of the way, which are fetched ahead, and those that were left, as they were left. The browser keeps
// them for its person, so that work goes on without the network.

import { dropPage, keepPage, keptPage } from "../kept.js";
import { first, pageIn } from "./page.js";
import { $, items, onPage, state } from "./workspace.js";

const AHEAD = 2; // items
const MOST = 200; // pages in memory
const FRESH = 300_000; // ms; one that was fetched earlier is fetched once more before its turn comes
const AGAIN = 10_000; // ms between two attempts, while the server does not answer
const TIMEOUT = 15_000;
const UNREACHABLE = [502, 503, 504];
const owner = [state.annotator, `project ${state.project}`];
const pages = new Map(); // by the address of their first item
const coming = new Map(); // those that are being fetched, as promises
const keyOf = (page) => page.state.items[0].urls.page;
const isFresh = ({ at }) => Date.now() - at < FRESH;
const wayOf = (page) => new URL(keyOf(page), location).search;
let attempt;

/** The page that is shown. */
export let current = first;
/** Whether the server cannot be reached. */
export let isAway = false;

export function setAway(value) {
  isAway = value;
  $("away").hidden = !value;
  clearTimeout(attempt);
  if (value) attempt = setTimeout(fetchAhead, AGAIN);
}

/** The page at hand on which an item stands, by the address of either. */
export const pageAt = (address) => [...pages.values()].find(({ url, state }) => url === address || state.items.some(({ urls }) => urls.page === address));

/** What stands at an address, if it is a page of the same way; fails while the server is away. */
export async function fetchPage(address) {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT) });
    if (UNREACHABLE.includes(answer.status)) throw new Error(answer.statusText);
    const { pathname, search } = new URL(answer.url);
    const page = pageIn(new DOMParser().parseFromString(await answer.text(), "text/html"), pathname + search);
    setAway(false);
    const isAlike = page && !page.state.reading && ["project", "annotator"].every((name) => page.state[name] === state[name]) && wayOf(page) === wayOf(current);
    if (isAlike && page.max !== current.max) for (const each of [current, ...pages.values()]) each.at = 0; // other items are given by now
    return isAlike ? page : null;
  } catch (error) {
    setAway(true);
    throw error;
  }
}

/** As it was kept, perhaps by an earlier visit. */
export const pageOfBefore = (address) => keptPage(...owner, address).catch(() => undefined);

function put(page) {
  const key = keyOf(page);
  pages.delete(key);
  pages.set(key, page);
  if (pages.size > MOST) drop(pages.keys().next().value);
  keepPage(...owner, key, page).catch(() => {}); // at hand until this page goes
}

/** The page that stands at an address when it has come; what leads elsewhere by now is none. */
function prepare(address) {
  const known = pages.get(address);
  if (known && isFresh(known)) return known;
  const fetched = async () => {
    const page = await fetchPage(address).catch(() => known ?? pageOfBefore(address));
    if (page && keyOf(page) === address && pages.get(address) === known && current.url !== address) put(page);
    return pages.get(address);
  };
  if (!coming.has(address)) coming.set(address, fetched().finally(() => coming.delete(address)));
  return coming.get(address);
}

/** Learn anew where the way leads from the page that is shown, and what was said of its items. */
async function renew() {
  const page = current;
  const fresh = await fetchPage(page.url).catch(() => null);
  if (!fresh || page !== current || keyOf(fresh) !== keyOf(page)) return;
  const { state: { urls: { previous, next } }, parts: { where, heading, calibration, waits }, max, at } = fresh;
  for (const { urls } of [state, page.state]) Object.assign(urls, { previous, next });
  for (const [id, part] of Object.entries({ where, heading, calibration, waits })) Object.assign($(id), (page.parts[id] = part));
  for (const { flags, urls } of fresh.state.items) Object.assign(onPage({ url: urls.item }) ?? {}, { flags });
  page.parts.talks = fresh.parts.talks;
  Object.assign(page, { max, at });
  document.querySelector(".work-bar progress").max = max;
  document.dispatchEvent(new Event("renewed"));
}

/** Have so many of the next items at hand, and tell how many are there; resolves with that. */
export async function fetchAhead(most = AHEAD, tell = () => {}) {
  let count = 0;
  if (isAway || !isFresh(current)) await renew();
  for (let { next } = state.urls; next && count < most; ) {
    const page = await prepare(next);
    if (!page) break;
    tell((count += page.state.items.length));
    next = page.state.urls.next;
  }
  return count;
}

/** The address of the next item of the way that is not done, if all up to there are at hand. */
export function undoneAhead() {
  const seen = new Set(); // pages of different times may lead round
  for (let page = pageAt(state.urls.next); page && !seen.has(page); page = pageAt(page.state.urls.next)) {
    seen.add(page);
    const found = page.state.items.find(({ done, isLater }) => !done && !isLater);
    if (found) return found.urls.page;
  }
}

/** The page that is shown is left for another one; it is kept as it is, unless a text was corrected. */
export function leaveFor(page) {
  const { state: { items: states }, parts } = current;
  for (const note of $("talks").querySelectorAll(".draft-note")) note.remove();
  parts.talks.innerHTML = $("talks").innerHTML;
  parts.messages.innerHTML = "";
  items.forEach(({ marks: { entities, relations, done }, flags, isLater }, at) => Object.assign(states[at], { entities, relations, done, flags, isLater }));
  if (items.every(({ textVersion }, at) => textVersion === states[at].item.text_version)) put(current);
  else forget(items[0].here);
  current = page;
}

/** What is kept of an item is not so. */
export function forget({ page }) {
  const found = pageAt(page);
  if (found) drop(keyOf(found));
}

function drop(key) {
  pages.delete(key);
  dropPage(...owner, key).catch(() => {});
}

export function listenToNetwork() {
  addEventListener("offline", () => setAway(true));
  addEventListener("online", () => fetchAhead());
  addEventListener("beforeunload", (event) => isAway && event.preventDefault());
}
