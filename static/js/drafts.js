// Forms with long texts, `data-draft`: what is typed is kept by this browser until the server has stored it, for each person and place, which
// is the address that the form is sent to and, where several share one, the value of `data-draft`. It comes back with the form, which
// says so, and can be discarded. Passwords, files and hidden fields are not kept, but for `was…`, by which the server tells what somebody
// has seen of what others changed meanwhile, and those with `data-kept`.
// An event `draft` tells a form which values are about to be put into its fields, as lists by their names.

import { draftOf, dropDraft, keepDraft, whoIsHere } from "./kept.js";
import { newUid } from "./uid.js";
import { ago } from "./words.js";

const PAUSE = 300; // ms without a key: a long text takes a while to be copied
const TYPED = "textarea, select, input:not([type=hidden], [type=password], [type=file], [type=submit], [type=button])";
const HIDDEN = "input[type=hidden]:is([name^=was], [data-kept])";
const STORED = "stored."; // begins the name of a cookie, see `annotation_service/middleware.py`
const person = whoIsHere();

const placeOf = (form) => {
  const address = form.getAttribute("hx-post") ?? (form.getAttribute("action") || location.pathname);
  return [address, form.getAttribute("data-draft")].filter(Boolean).join(" ");
};
const formOf = (element) => (person ? element.closest?.("form[data-draft]") : null);

/* Values ----------------------------------------------------------------------------------------------------------- */

const isChoice = ({ type }) => type === "checkbox" || type === "radio";
const keyOf = (field) => field.name || field.ariaLabel;
const fieldsOf = (form, selector) => [...form.elements].filter((field) => keyOf(field) && field.matches(selector));

/** The values of a field: as it is or, `asStored`, as the server has sent it. */
function listOf(field, asStored) {
  if (isChoice(field)) return (asStored ? field.defaultChecked : field.checked) ? [field.value] : [];
  if (!field.options) return [asStored ? field.defaultValue : field.value];
  const chosen = asStored ? [...field.options].filter(({ defaultSelected }) => defaultSelected) : [...field.selectedOptions];
  return (chosen.length ? chosen : [...field.options].slice(0, 1)).map(({ value }) => value);
}

function valuesOf(form, selector, asStored = false) {
  const values = {};
  for (const field of fieldsOf(form, selector)) (values[keyOf(field)] ??= []).push(...listOf(field, asStored));
  return values;
}

const filesOf = (form) => [...form.elements].flatMap(({ files }) => [...(files ?? [])].map(({ name }) => name));

const isSameList = (one = [], other = []) => one.length === other.length && one.every((value, at) => value === other[at]);
const isSame = (one, other) => Object.keys({ ...one, ...other }).every((name) => isSameList(one[name], other[name]));

let putting = false; // not somebody who types

function put(form, values) {
  putting = true;
  form.dispatchEvent(new CustomEvent("draft", { detail: values, bubbles: true }));
  const left = structuredClone(values);
  for (const field of fieldsOf(form, `${TYPED}, ${HIDDEN}`)) {
    const list = left[keyOf(field)];
    if (isChoice(field) && list) field.checked = list.includes(field.value);
    else if (list?.length && list[0] !== field.value) fill(field, list.shift());
    else list?.shift();
  }
  putting = false;
}

function fill(field, value) {
  if (field.options && ![...field.options].some((option) => option.value === value)) return; // there is none of this value any more
  field.value = value;
  field.closest("details")?.setAttribute("open", "");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/* Keeping ---------------------------------------------------------------------------------------------------------- */

const open = new WeakMap(); // what is known of a form that stands on the page
const waiting = new Map(); // forms that somebody types in, with their timers

/** `stored` are the values that the server has, `revision` changes with every key. */
function known(form) {
  const place = placeOf(form);
  if (open.get(form)?.place !== place) {
    open.set(form, { place, stored: valuesOf(form, TYPED, true), hidden: valuesOf(form, HIDDEN), revision: newUid(), ready: Promise.resolve(), isReady: true });
  }
  return open.get(form);
}

const nothing = () => {}; // the browser keeps nothing: the page goes on without

/** Resolves when the draft is kept, or dropped because nothing in it differs from what is stored. */
function keep(form) {
  clearTimeout(waiting.get(form));
  waiting.delete(form);
  const { place, stored, revision, isRefused } = known(form);
  const [values, files] = [valuesOf(form, TYPED), filesOf(form)];
  if (!isRefused && !files.length && isSame(values, stored)) return dropDraft(person, place).catch(nothing);
  return keepDraft(person, place, { values, stored, hidden: valuesOf(form, HIDDEN), files, revision }).catch(nothing);
}

/** One after the other, however long the browser takes. */
function keepSoon(form) {
  const draft = known(form);
  clearTimeout(waiting.get(form));
  waiting.set(form, setTimeout(() => {
    draft.ready = draft.ready.then(() => (form.isConnected && waiting.has(form) ? keep(form) : waiting.delete(form)));
  }, PAUSE));
}

document.addEventListener("input", ({ target }) => {
  const form = formOf(target);
  if (!form || putting) return;
  known(form).revision = newUid();
  known(form).isTyped = true;
  keepSoon(form);
});

/** Nobody waits for the keys to rest. */
const keepNow = (form) => waiting.has(form) && known(form).isReady && keep(form);
const keepAll = () => [...waiting.keys()].forEach(keepNow);
addEventListener("beforeunload", keepAll); // the page still stands for a while
addEventListener("pagehide", keepAll);
document.addEventListener("visibilitychange", () => document.hidden && keepAll());
// Another page is about to take the place of this one without a load.
document.addEventListener("leaving", () => {
  keepAll();
  status = 200;
});

/* Stored ----------------------------------------------------------------------------------------------------------- */

const done = new Set(); // revisions that the server has stored: they do not come back while they are being dropped

async function drop(place, revision) {
  done.add(revision);
  const draft = await draftOf(person, place);
  if (draft?.value.revision === revision) await dropDraft(person, place);
}

// A form that leads to another page says there what was stored of it.
let isSent = false;
document.addEventListener("formdata", ({ target, formData }) => {
  const form = formOf(target);
  if (!form || form.hasAttribute("hx-post")) return;
  isSent = true;
  keepNow(form);
  formData.set("draft", `${encodeURIComponent(known(form).place)} ${known(form).revision}`);
});
addEventListener("pageshow", ({ persisted }) => persisted && isSent && location.reload());

for (const [name, revision] of document.cookie.split("; ").map((cookie) => cookie.split("="))) {
  if (!name.startsWith(STORED)) continue;
  document.cookie = `${name}=; max-age=0; path=/`;
  if (!document.querySelector(".messages .error")) drop(decodeURIComponent(name.slice(STORED.length)), revision).catch(nothing);
}

// Whoever is signed out is led to the sign-in page by an answer without content.
const isStored = ({ status }) => status >= 200 && status < 300 && status !== 204;

document.addEventListener("htmx:beforeSend", ({ detail: { elt, xhr } }) => {
  if (formOf(elt) !== elt) return;
  const { place, revision } = known(elt);
  keepNow(elt);
  // Before the answer is shown, and also if the form has left the page meanwhile.
  xhr.addEventListener("readystatechange", () => {
    if (xhr.readyState !== XMLHttpRequest.DONE || !isStored(xhr)) return;
    drop(place, revision).catch(nothing);
    if (open.get(elt)?.revision !== revision) return;
    open.delete(elt);
    elt.querySelector(".draft-note")?.remove();
  });
});

/* Coming back ------------------------------------------------------------------------------------------------------ */

// A form that was refused shows what was sent: that is no news, and not stored.
let status = performance.getEntriesByType("navigation")[0]?.responseStatus;
document.addEventListener("htmx:beforeSwap", ({ detail: { xhr } }) => (status = xhr.status));

/** What was typed while the draft was looked for stands behind it. */
const joined = (value, now, stored) => (now === stored ? value : now?.startsWith(stored) ? value + now.slice(stored.length) : now);

async function bringBack(form, isRefused) {
  const draft = known(form);
  const kept = await draftOf(person, draft.place);
  if (!kept || done.has(kept.value.revision)) return Object.assign(draft, { isRefused });
  const { values, stored, hidden, files, revision } = kept.value;
  if (isRefused) return Object.assign(draft, { isRefused, stored });
  if (!files.length && isSame(values, draft.stored)) return dropDraft(person, draft.place);
  const now = valuesOf(form, TYPED);
  if (draft.isTyped) for (const name in now) values[name] = values[name]?.map((value, at) => joined(value, now[name][at], draft.stored[name]?.[at]));
  else draft.revision = revision;
  put(form, { ...values, ...hidden });
  tell(form, kept, !isSame(stored, draft.stored));
}

function tell(form, { at, value: { files } }, isChanged) {
  const note = Object.assign(document.createElement("p"), { className: `message ${isChanged ? "warning" : "info"} draft-note`, role: "status" });
  note.append(`Your draft of ${ago(at)} was brought back. `);
  if (isChanged) note.append("What is stored was changed meanwhile: Discard shows it. ");
  if (files.length) note.append(`Choose ${files.map((name) => `“${name}”`).join(", ")} again: files cannot be kept. `);
  // What is saved when its field is left was left already.
  if (!form.querySelector("button:not([type=button])")) note.append(Object.assign(document.createElement("button"), { className: "button small", textContent: "Save" }), " ");
  const discard = Object.assign(document.createElement("button"), { type: "button", className: "button small", textContent: "Discard" });
  discard.addEventListener("click", () => {
    const { place, stored, hidden } = known(form);
    put(form, { ...stored, ...hidden });
    clearTimeout(waiting.get(form));
    waiting.delete(form);
    note.remove();
    fieldsOf(form, TYPED)[0].focus();
    dropDraft(person, place).catch(nothing);
  });
  note.append(discard);
  (form.querySelector(".dialog-body, .step-body, .stack, .card") ?? form).prepend(note);
}

document.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const isRefused = status >= 400;
  for (const form of [elt, ...elt.querySelectorAll("form[data-draft]")].filter((each) => formOf(each) === each)) {
    const draft = Object.assign(known(form), { isReady: false });
    draft.ready = bringBack(form, isRefused).catch(nothing).then(() => (draft.isReady = true));
  }
});

// In a long text Enter begins a new line.
document.addEventListener("keydown", (event) => {
  const form = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing && event.target.closest?.("form[data-draft]");
  if (!form) return;
  event.preventDefault();
  if (event.repeat) return;
  const button = form.querySelector("button.primary") ?? form.querySelector("button:not([type=button])");
  button ? button.click() : form.requestSubmit(); // a click names the button that was meant
});
