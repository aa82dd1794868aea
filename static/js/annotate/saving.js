// How what is done here reaches the server, and what the server has reaches the screen.

import { plural } from "../words.js";
import { forget } from "./history.js";
import { Judge } from "./judge.js";
import { loadLabels, loadRules } from "./labels.js";
import { Queue } from "./queue.js";
import { dropGone } from "./selection.js";
import { show } from "./showing.js";
import { $, NOT_SAVED, SIGNED_OUT, dismiss, marks, now, pane, picker, progress, state, toast, toastsOf } from "./workspace.js";

let refusals = 0;
let leaving = "";
let sayingSaving;

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
  if (["saved", "saving"].includes(saving)) dismiss(SIGNED_OUT);
  // A save takes a few milliseconds: say so only when it takes longer.
  if (saving === "saving") sayingSaving = setTimeout(write, 150);
  else write();
  if (saving === "saved" && leaving) location.assign(leaving);
}

const queue = new Queue({
  base: state.urls.item,
  annotator: state.annotator,
  tell,
  takeNewOffers,
  refused(reason, inverses, { count, gone }) {
    inverses.forEach((inverse) => {
      if (marks.apply(inverse) && inverse.verb === "done") progress.count(inverse.done ? 1 : -1);
    });
    forget();
    leaving = "";
    // Nothing but “done” was said of an item that is not there any more: no work is lost, so go on.
    if (gone && !queue.size && inverses.every(({ verb }) => verb === "done")) return location.assign(state.urls.gone);
    refusals += count;
    dropGone();
    show();
    toast(NOT_SAVED + reason, "error");
    refresh(); // what was refused may have been offered by older rules
  },
  renamed(kind, old, uid) {
    marks.rename(kind, old, uid);
    const keys = kind === "entity" ? ["mark", "relating", "candidate"] : ["relation"];
    for (const key of keys) if (now.view[key] === old) now.view[key] = uid;
    forget();
    show();
  },
  signedOut() {
    const run = () => window.open(state.urls.login, "_blank", "noopener");
    dismiss(SIGNED_OUT);
    toast(SIGNED_OUT, "error", { label: "Sign in", run });
  },
});

export function save(operation, inverse) {
  if (!queue.size) refusals = 0;
  queue.push(operation, inverse);
}

export function leave(url) {
  if (!url) return;
  if (!queue.size) return location.assign(url);
  leaving = url;
  if (queue.state !== "saving") toast("Not everything is saved yet. The page moves on as soon as it is.");
}

/** The same item may be open in another tab, too: what was changed there is seen when this one is returned to. */
export async function refresh() {
  const { sent } = queue;
  const current = await fetch(state.urls.marks, { headers: { Accept: "application/json" } }).then((answer) => answer.ok && answer.json()).catch(() => null);
  takeNewOffers(current?.urls);
  if (!current || queue.size || queue.sent !== sent || picker.isOpen || now.drag || marks.same(current)) return;
  if (marks.done !== current.done) progress.count(current.done ? 1 : -1);
  marks.replace(current);
  forget();
  dropGone();
  show();
}

/** Labels and rules, as they are at these addresses. */
export async function takeOffers(urls) {
  const hasNewLabels = !now.labels || urls.labels !== state.urls.labels;
  const trees = hasNewLabels ? loadLabels(urls.labels) : now.labels;
  const rules = await loadRules(urls.rules, trees);
  now.labels = rules.labels;
  now.judge = new Judge(rules, marks);
  Object.assign(state.urls, urls);
  if (hasNewLabels) pane.showTree(now.labels.entity);
  show();
}

/** An answer tells where labels and rules are; a manager may have changed them. */
function takeNewOffers({ labels: at, rules } = {}) {
  if (!at || !now.judge || (at === state.urls.labels && rules === state.urls.rules)) return;
  takeOffers({ labels: at, rules }).catch(() => {}); // the next answer tells it again
}

/** Watch for what may keep the page from being left, and for other tabs. */
export function startSaving() {
  addEventListener("beforeunload", (event) => queue.size && event.preventDefault());
  if (state.reading) return;
  addEventListener("focus", () => !queue.size && refresh());
  progress.load(() => !queue.size);
  // Whoever dismisses the reason knows that something was refused.
  new MutationObserver(() => {
    if (!refusals || toastsOf(NOT_SAVED).length) return;
    refusals = 0;
    tell(queue.state, queue.size);
  }).observe($("toasts"), { childList: true });
}
