// What is typed in the editor is kept in this browser until the server has it: sent until there is an answer, marked meanwhile, and
// sent by the next page if this one is gone. Leaving asks as long as there is any.

import { Store, whoIsHere } from "../kept.js";
import { number } from "../words.js";
import { ask, byId, editable, home, item, refresh, reveal, say, tell } from "./tree.js";

// Of each: `key`, the address of its form or, of a new item, its uid; `text`, what was typed; `url` and `values`, what is sent without the
// form; `uid` and `name` of the item, or the `parent` of a new one; whether it was sent or is still being typed.
const store = new Store(whoIsHere(), `ontology ${home}`, ["key", "text", "url", "values", "uid", "name", "parent", "isSent"]);
const entries = new Map(); // by key, in their order
let wake = () => {};
let woken = new Promise((resolve) => (wake = resolve));
const wakeAll = () => {
  wake();
  woken = new Promise((resolve) => (wake = resolve));
};

export const waiting = () => [...entries.values()];
export const formOf = ({ key }) => document.querySelector(`:is(#details, .row) form[hx-post="${key}"], .new-item[data-uid="${key}"] > .row > form`);

export function showUnsaved() {
  const isCut = waiting().some(({ failures }) => failures); // what is behind it waits, too
  const late = waiting().filter(({ isSent }) => isCut && isSent);
  const status = byId("unsent");
  if (!status) return;
  status.textContent = late.length ? `${number(late.length)} not saved yet, trying again` : "";
  for (const form of document.querySelectorAll("form.unsent")) form.classList.toggle("unsent", late.some((entry) => formOf(entry) === form));
  for (const entry of late) formOf(entry)?.classList.add("unsent");
}

/** Keep what was typed. */
export function keep(values) {
  const known = entries.get(values.key);
  const entry = Object.assign(known ?? {}, values);
  entries.set(entry.key, entry);
  // One after the other: what was kept last shall be what is found.
  entry.ready = (known?.ready ?? Promise.resolve()).then(() => (entry.id ? store.change(entry) : store.add(entry))).catch(() => {});
  return entry;
}

/** Stored, or given up. */
export function drop(key) {
  const entry = entries.get(key);
  if (!entry) return;
  entries.delete(key);
  entry.ready.then(() => store.remove(entry)).catch(() => {});
  showUnsaved();
}

/* Sending ---------------------------------------------------------------------------------------------------------- */

const isFinal = ({ status, elsewhere }) => !elsewhere && status && status < 500 && ![401, 403, 408, 429].includes(status);
let passing = null;

/** Whether the form's own request may go on, now that it is asked whether it may. */
export const passes = (form) => passing === form;

/** Have htmx send a form, and place the answer. Resolves with its status, 0 without an answer; with null if the form is not valid. */
const sendForm = (form) =>
  new Promise((resolve) => {
    form.addEventListener("htmx:validation:halted", () => resolve(null), { once: true });
    form.addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => {
      xhr.addEventListener("loadend", () => resolve({ status: xhr.status, elsewhere: xhr.getResponseHeader("HX-Redirect"), reason: reasonIn(xhr.responseText) }));
    }, { once: true });
    passing = form;
    window.htmx.trigger(form, "submit");
    passing = null;
  });

/** The same for a form that is not on the page any more. */
async function sendValues({ url, values }) {
  const body = new FormData();
  for (const [name, value] of Object.entries(values)) body.set(name, value);
  const answer = await ask(url, { body, quiet: true, any: true });
  if (!answer) return { status: 0 };
  if (answer.ok) refresh({ quiet: true });
  return { status: answer.status, reason: reasonIn(await answer.text()) };
}

function reasonIn(html) {
  const found = new DOMParser().parseFromString(html, "text/html").querySelector(".errors li, .note.bad, .note.warn, [role=alert] p");
  return found?.textContent.trim().replace(/\s+/g, " ");
}

/** Send an entry until there is an answer; with the form that shows it, if there is one. Resolves with whether it was stored. */
export async function deliver(entry) {
  if (entry.isOnItsWay) return void wakeAll();
  Object.assign(keep({ key: entry.key, isSent: true }), { isOnItsWay: true });
  let outcome;
  for (let failures = 1; ; failures += 1) {
    const { text } = entry;
    const form = formOf(entry);
    outcome = form ? await sendForm(form) : await sendValues(entry);
    entry.isCurrent = entry.text === text;
    if (!outcome || isFinal(outcome)) break;
    entry.failures = failures;
    showUnsaved();
    await Promise.race([new Promise((resolve) => setTimeout(resolve, Math.min(30_000, 500 * 2 ** Math.min(failures, 6)))), woken]);
    if (outcome.status === 403) await renew();
    if (entries.get(entry.key) !== entry) return false;
    if (!(await store.owns(entry))) return entries.delete(entry.key), showUnsaved(), false;
  }
  Object.assign(entry, { isOnItsWay: false, failures: 0, isSent: false });
  const isStored = outcome?.status < 300;
  if (!outcome || (isStored && entry.isCurrent)) drop(entry.key);
  else if (!isStored && !formOf(entry)) refuse(entry, outcome);
  showUnsaved();
  return isStored;
}

/** What is refused comes back in front of the person. */
export function refuse(entry, { reason }) {
  drop(entry.key);
  const text = `Not saved: “${entry.text}”${entry.name ? ` for “${entry.name}”` : ""}. ${reason ?? "The item is not there any more."}`;
  const run = async () => {
    await reveal(entry.uid);
    keep({ ...entry, isSent: false });
    tell("fill");
  };
  document.dispatchEvent(new CustomEvent("toast", { detail: { text, kind: "error", action: item(entry.uid) && { label: "Open it", run } } }));
}

/** Who has signed in again in another tab has another token; somebody else has none for this page. */
async function renew() {
  const answer = await fetch(home).catch(() => null);
  if (!answer || answer.status >= 500) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (fresh.querySelector(`[data-signs-out="${whoIsHere()}"]`)) document.body.setAttribute("hx-headers", fresh.body.getAttribute("hx-headers"));
  else say("You were signed out. Sign in again in a new tab; what you typed here is kept and saved then.");
}

/* Around the page -------------------------------------------------------------------------------------------------- */

for (const name of ["online", "focus"]) addEventListener(name, wakeAll);
let isSignedOut = false; // the way leads to the page where one signs in, and back
document.addEventListener("htmx:beforeOnLoad", ({ detail: { xhr } }) => (isSignedOut = xhr.getResponseHeader("HX-Redirect") !== null));
addEventListener("beforeunload", (event) => entries.size && !(isSignedOut && waiting().every(({ id }) => id)) && event.preventDefault());
document.addEventListener("htmx:afterSettle", showUnsaved);

// The mark says it, at each attempt.
for (const name of ["sendError", "timeout", "responseError"]) {
  document.addEventListener(`htmx:${name}`, (event) => {
    const { elt, xhr } = event.detail;
    const entry = waiting().find((each) => each.isOnItsWay && formOf(each) === elt);
    if (entry && !isFinal({ status: xhr.status })) event.stopImmediatePropagation();
  }, true);
}

/** What pages left that are gone: `restore` is called for each that this page has now. */
export async function takeOver(restore) {
  if (!editable) return;
  for (const entry of await store.takeOver().catch(() => [])) {
    entry.ready = Promise.resolve();
    if (entries.has(entry.key)) continue; // typed anew: the next page has this one
    entries.set(entry.key, entry);
    await restore(entry);
  }
}
