// How what is done here reaches the server, and what the server has reaches the screen.

import { Store } from "../kept.js";
import { waitFor } from "../waiting.js";
import { plural } from "../words.js";
import { enter } from "./entering.js";
import { dropSteps, keep, moveSteps, proofs, renameInSteps, spansOf, stepsBeside } from "./history.js";
import { Judge } from "./judge.js";
import { loadLabels, loadRules } from "./labels.js";
import { Leftovers } from "./leftovers.js";
import { Marks } from "./marks.js";
import { tellNotSaved, wordsOfChange } from "./not-saved.js";
import { current, fetchPage, forget, isAway, pageAt, pageOfBefore, setAway } from "./pages.js";
import { post } from "./post.js";
import { KEPT, Queue } from "./queue.js";
import { dropGone } from "./selection.js";
import { show, showMode } from "./showing.js";
import { turn } from "./turning.js";
import { $, NOT_SAVED, SIGNED_OUT, active, dismiss, here, items, marks, now, onPage, pane, picker, precedents, progress, state, toast, toastsOf, withItems } from "./workspace.js";

const LOST = "That item was not fetched before the connection was lost. What you do here is kept, and sent when the connection is back: go on then.";
const NOT_KEPT = "told that nothing is kept";
const store = new Store(state.annotator, `project ${state.project}`, KEPT);
const leftovers = new Leftovers();
let refusals = 0;
let leaving = null;
const waiting = []; // for everything to be saved
let sayingSaving;
let asked = 0; // how often for another page
const otherTabs = new BroadcastChannel(`saved ${state.project} ${state.annotator}`);
/** What was saved here: of the item with this address or, without one, of any; `counts` if how many are done. */
export const tellOtherTabs = (saved) => otherTabs.postMessage(saved);

function tell(saving, count) {
  const words = {
    saved: refusals ? `${plural(refusals, "change was", "changes were")} refused` : "✓ all saved",
    saving: "saving",
    retrying: `${count} not saved yet, trying again`,
    "no room": `${count} not saved yet: no room left on the server, trying again`,
    "signed out": `${count} not saved yet: sign in again`,
  }[saving];
  const write = () => {
    $("saved").textContent = words;
    $("saved").className = `saved ${{ saved: refusals ? "warn" : "ok", saving: "soft" }[saving] ?? "warn"}`;
  };
  clearTimeout(sayingSaving);
  $("saved").ariaBusy = String(saving === "saving");
  if (["saved", "saving"].includes(saving)) dismiss(SIGNED_OUT);
  // A save takes a few milliseconds: say so only when it takes longer.
  if (saving === "saving") sayingSaving = setTimeout(write, 150);
  else write();
  if (saving === "saved") settle();
}

function settle() {
  leftovers.tell(leave);
  for (const goOn of waiting.splice(0)) goOn();
  const go = leaving;
  leaving = null;
  if (go) go();
  else for (const item of items) if (item.isStale || item.isBehind) refresh(item);
  if (progress.isBehind) progress.load();
}

/** To a page that is not at hand: the server leads there or, while it is away, what an earlier visit kept. Where another way begins,
    the browser loads it. */
async function goOn(url, before, isBack) {
  const turns = (asked += 1);
  const page = await waitFor(fetchPage(url)).catch(async () => (await pageOfBefore(url)) ?? LOST);
  if (turns !== asked) return;
  if (page === LOST && isBack) history.pushState(null, "", current.url);
  if (page === LOST) return toast(LOST, "warning");
  before();
  if (page) return turn(page, url, isBack);
  keep(); // the next page may begin before this one is told that it is hidden
  location.assign(url);
}

const queue = new Queue({
  annotator: state.annotator,
  store,
  proofs,
  tell,
  answered(entry, { urls, changed, done, text_version: textVersion }) {
    setAway(false);
    takeNewOffers(urls);
    if (entry.left) leftovers.landed(entry);
    const counts = entry.operation.kind === "item";
    if (counts || !queue.has(entry.item)) tellOtherTabs({ url: entry.item.url, counts });
    precedents.forget(); // what was asked on the way may be older
    const item = onPage(entry.item);
    if (item && entry.operation.kind === "item") document.dispatchEvent(new Event("doneStored"));
    if (item && !(isOfItsText(entry, item) && isOfItsText({ textVersion }, item))) item.isBehind = true;
    if (item && (changed || (!queue.has(item.here) && done !== item.marks.done))) item.isStale = true;
  },
  refused(entry, reason, dropped, { gone, corrected }) {
    leaving = null;
    if (!queue.has(entry.item)) tellOtherTabs({ url: entry.item.url }); // of what was answered before
    dropSteps(dropped.map(({ operation }) => operation));
    const inverses = dropped.toReversed().flatMap(({ inverse }) => inverse);
    // Nothing but “done” was said of an item that is not there any more: no work is lost, so go on.
    const isAllDone = inverses.every(({ verb }) => verb === "done");
    const item = onPage(entry.item);
    if (!item) {
      forget(entry.item);
      countBack(inverses);
    }
    if (gone && !queue.size && item && isAllDone) return location.assign(item.urls.gone);
    if (gone && !item && isAllDone) return toast(`Item ${entry.item.number} was removed, or it is no longer given to you.`);
    if (item && isOfItsText(entry, item)) takeBack(item, inverses);
    else if (item) refresh(item);
    if (corrected) return tellNotSaved(dropped);
    const count = dropped.filter(({ operation }) => operation.kind !== "item").length || 1;
    refusals += count;
    const why = `${reason} (${dropped.map(({ words = "a change" }) => words).join("; ")})`;
    if (item === active) toast(NOT_SAVED + why, "error");
    else tellOfOther(entry, `${plural(count, "change", "changes")} of item ${entry.item.number}. ${why}`, gone);
  },
  renamed({ item, operation: { kind, uid: old } }, uid) {
    renameInSteps(item, kind, old, uid);
    const shown = onPage(item);
    if (!shown) forget(item);
    shown?.marks.rename(kind, old, uid);
    if (shown === active) renameInView(kind, old, uid);
    show();
  },
  notKept() {
    try {
      if (sessionStorage.getItem(NOT_KEPT)) return;
      sessionStorage.setItem(NOT_KEPT, "yes");
    } catch { /* said on each page then */ }
    toast("This browser has no room to keep what is not saved yet, or is not allowed to. Leave a page only when it says “all saved”.", "warning");
  },
  signedOut() {
    const run = () => window.open(state.urls.login, "_blank", "noopener");
    dismiss(SIGNED_OUT);
    toast(SIGNED_OUT, "error", { label: "Sign in", run });
  },
});

function renameInView(kind, old, uid) {
  const keys = kind === "entity" ? ["mark", "relating", "candidate"] : ["relation"];
  for (const key of keys) if (now.view[key] === old) now.view[key] = uid;
}

/** Whether a change was made for the text that its item shows. */
const isOfItsText = ({ textVersion = 1 }, item) => textVersion === item.textVersion;

/** What was counted as done, or as not done any more. */
const countBack = (inverses) => inverses.filter(({ verb }) => verb === "done").forEach(({ done }) => progress.count(done ? 1 : -1));

function takeBack(item, inverses) {
  countBack(inverses.filter((inverse) => item.marks.apply(inverse)));
  dropGone();
  show();
  refresh(item); // what was refused may have been offered by older rules
}

function tellOfOther({ item }, what, gone) {
  const shown = onPage(item);
  const action = { label: `Item ${item.number}`, run: () => (shown ? enter(shown) : leave(item.page)) };
  toast(NOT_SAVED + what, "error", gone ? undefined : action);
}

export function save(operation, inverse) {
  if (!queue.size) refusals = 0;
  queue.push({ item: here, operation, inverse, textVersion: active.textVersion, words: wordsOfChange(operation, inverse) });
}

export const isAllSaved = () => !queue.size;

/** Resolves when everything is saved. */
export const allSaved = () => (queue.size ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve());

/** Go to an item that is at hand or, when everything is saved, to another page; `before` is called when this one is left indeed. */
export function leave(url, before = () => {}, isBack = false) {
  if (!url) return;
  leaving = null;
  asked += 1;
  const shown = items.find(({ here }) => here.page === url);
  const page = state.reading ? null : pageAt(url);
  if (shown || page) before();
  if (shown) enter(shown);
  else if (page) turn(page, url, isBack);
  else if (state.reading) location.assign(url);
  else whenSaved(() => goOn(url, before, isBack));
}

/** Have the browser load a page, when everything is saved. */
export const load = (url) => (isAway ? toast(LOST, "warning") : whenSaved(() => location.assign(url)));

function whenSaved(go) {
  if (!queue.size || isAway) return void go();
  leaving = go;
  if (queue.state !== "saving") toast("Not everything is saved yet. The page moves on as soon as it is.");
}

/** What the server has of an item, or null. */
function marksOf({ url }) {
  const how = { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(15_000) };
  return fetch(`${url}marks/`, how).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
}

let asks = 0;

/** The same item may be open in another tab or on another device: what was changed there is seen here. */
export async function refresh(item = active) {
  if (queue.size) return void (item.isBehind = true); // the answer might not have what is on its way
  const { sent } = queue;
  const { here, marks } = item;
  const number = (asks += 1);
  const current = await marksOf(here);
  takeNewOffers(current?.urls);
  if (!current || !items.includes(item) || number < item.seen) return; // that came before this one
  item.seen = number;
  if (isBusySince(sent)) return refreshLater(item);
  const steps = stepsBeside(item, current.text_version);
  if (current.text_version !== item.textVersion || steps.length) return readAnew(item, steps);
  queue.knows(here, current.revision);
  const wasStale = item.isStale;
  item.isStale = item.isBehind = false;
  if (marks.same(current)) return;
  if (marks.done !== current.done) progress.load();
  marks.replace(current);
  dropGone();
  show();
  const which = item === active ? "This item" : `Item ${item.number}`;
  if (wasStale) toast(`${which} was changed in another tab or on another device. You see it as it is now.`);
}

const isBusy = () => queue.size || picker.isOpen || now.drag || now.stretch;
const isBusySince = (sent) => queue.sent !== sent || isBusy();

/** At once, if all that was done meanwhile is over. */
function refreshLater(item) {
  item.isBehind = true;
  if (!isBusy()) refresh(item);
}

/** Show the text of an item and its marks as they are now, and let these steps of undo be about that. */
async function readAnew(item, steps) {
  const { sent } = queue;
  const signal = AbortSignal.timeout(15_000);
  const response = await post(`${item.here.url}text/`, state.annotator, { spans: spansOf(steps) }, signal).catch(() => null);
  const current = response?.ok ? await response.json().catch(() => null) : null;
  if (!current || !items.includes(item)) return void (item.isBehind = true);
  if (isBusySince(sent)) return refreshLater(item);
  const isNew = current.item.text_version !== item.textVersion;
  queue.knows(item.here, current.revision);
  item.isStale = item.isBehind = false;
  if (item === active && isNew) leaveText();
  item.read(current.item);
  if (item.marks.done !== current.done) progress.load();
  item.marks.replace(current);
  const gone = moveSteps(steps, item.textVersion, current.spans);
  document.dispatchEvent(new Event("corrected"));
  dropGone();
  show();
  if (!isNew) return;
  const which = item === active ? "this item" : `item ${item.number}`;
  const rest = gone ? ` ${plural(gone, "change", "changes")} to words that are gone cannot be undone any more.` : "";
  toast(`The text of ${which} was corrected by ${current.by}. You see the new text.${rest}`);
}

/** Nothing stays selected in a text that goes. */
function leaveText() {
  document.dispatchEvent(new Event("leaving"));
  now.view = {};
  now.cursor = 0;
  showMode();
}

/** Steps of undo that were made for earlier texts. */
export const catchUp = () => Promise.all(items.filter((item) => stepsBeside(item, item.textVersion).length).map(refresh));

export const refreshAll = () => Promise.all(items.map(refresh));

/** Have suggested in an item what was marked before. Without an answer it is as good without. */
export async function suggestHistory(item) {
  if (!state.suggestsHistory || item.marks.done || queue.size) return;
  const answer = await post(`${item.here.url}history/`, state.annotator, {}, AbortSignal.timeout(5000)).catch(() => null);
  if (!answer?.ok) return;
  item.isBehind = true; // until nothing is being done that it would disturb
  await refresh(item);
}

/** The same in the other items of the page, one by one, while somebody works already. */
export async function suggestHistoryBeside(shown) {
  for (const item of items) {
    if (item === shown) continue;
    await allSaved();
    await suggestHistory(item);
  }
}

/** Labels and rules, as they are at these addresses. */
export async function takeOffers(urls) {
  const hasNewLabels = !now.labels || urls.labels !== state.urls.labels;
  const trees = hasNewLabels ? loadLabels(urls.labels) : now.labels;
  const rules = await loadRules(urls.rules, trees);
  Object.assign(now, { labels: rules.labels, rules, judge: new Judge(rules, marks) });
  Object.assign(state.urls, urls);
  if (hasNewLabels) pane.showTree(now.labels.entity);
  show();
  if (!state.reading) now.labels.entity.prepare();
}

/** An answer tells where labels and rules are; a manager may have changed them. */
function takeNewOffers({ labels: at, rules } = {}) {
  if (!at || !now.judge || (at === state.urls.labels && rules === state.urls.rules)) return;
  takeOffers({ labels: at, rules }).catch(() => {}); // the next answer tells it again
}

/** What pages left unsaved that are gone is shown, and sent first. */
async function takeOver() {
  const entries = await store.takeOver().catch(() => []);
  if (!entries.length) return;
  const first = new Map(entries.toReversed().map((entry) => [entry.item.url, entry]));
  for (const entry of first.values()) entry.ready = compare(entry);
  for (const entry of entries) {
    entry.left = true;
    const item = onPage(entry.item);
    if (item && isOfItsText(entry, item)) entry.inverse = item.marks.apply(entry.operation) ?? entry.inverse;
  }
  dropGone();
  show();
  queue.takeOver(entries);
}

/** Whether an item is as it was when it was left. Its first change may be stored although its answer was lost. */
async function compare({ item, operation, revision }) {
  const current = await marksOf(item);
  if (!current) return;
  queue.knows(item, current.revision);
  const isOwn = current.revision === revision + 1 && !new Marks(current).apply(operation);
  if (current.revision !== revision && !isOwn) leftovers.changed(item);
}

/** Watch for what may keep the page from being left, and for other tabs. */
export function startSaving() {
  if (state.reading) return;
  addEventListener("beforeunload", (event) => !queue.isKept && event.preventDefault());
  addEventListener("focus", () => {
    takeOver();
    if (!queue.size) refreshAll();
  });
  withItems((item) => {
    queue.knows(item.here, item.revision);
    for (const entry of queue.of(item.here)) {
      if (isOfItsText(entry, item)) item.marks.apply(entry.operation); // still on its way
      else item.isBehind = true;
    }
  });
  takeOver();
  progress.isCurrent = () => !queue.size;
  progress.load();
  otherTabs.onmessage = ({ data: { url, counts } }) => {
    const item = onPage({ url });
    if (item) refresh(item);
    else if (counts) progress.load();
    else if (!url) refreshAll();
  };
  // Whoever dismisses the reason knows that something was refused.
  new MutationObserver(() => {
    if (!refusals || toastsOf(NOT_SAVED).length) return;
    refusals = 0;
    tell(queue.state, queue.size);
  }).observe($("toasts"), { childList: true });
}
