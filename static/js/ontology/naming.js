// The name field in a row, for a new item or a new name. Enter or leaving the field saves, Escape cancels.

import { newUid } from "../uid.js";
import { deliver, drop, keep, passes } from "./sending.js";
import {
  ask, base, byId, focus, focused, get, isBranch, item, itemUrl, listOf, parentOf, refresh, reveal, root, select, state, uidOf,
} from "./tree.js";

/** Open a name field without asking the server, so that no key gets lost. A saved name replaces the target, a refused one stays in the form. */
function fieldIn(row, { url, target, label, note, name = "" }) {
  const form = byId("name-field").content.firstElementChild.cloneNode(true);
  const { was, name: field } = form.elements;
  was.value = name;
  field.defaultValue = name;
  field.ariaLabel = label;
  form.lastElementChild.textContent = note;
  form.setAttribute("hx-post", url);
  form.setAttribute("hx-target", target);
  row.append(form);
  window.htmx.process(form);
  return field;
}

/* New items: a series of names, sent one after another ------------------------------------------------------------- */

let origin = ""; // the item to go back to: the newest of the series or, before there is one, that with the focus

const FORMS = ".new-item > .row > form";
const REFUSED = ".new-item [aria-invalid=true]";

/** Open a row for a new item last below another or, with "", at the top level; it may have a name already. */
export function add(uid, name = "") {
  document.querySelectorAll(FORMS).forEach(finish);
  const refused = document.querySelector(REFUSED);
  if (refused) return again(refused);
  const parent = uid ? item(uid) : null;
  if (uid && !parent) return;
  origin = focused() ? uidOf(focused()) : "";
  begin(parent, name);
}

/** To a refused name: what is typed next replaces it. */
function again(field) {
  field.focus();
  field.select();
}

function begin(parent, name = "") {
  const field = rowFor(parent, name);
  field.scrollIntoView({ block: "nearest" });
  field.focus();
}

/** A row for a new item, whose uid is made here: a name that is sent again, since its answer was lost, is not added twice. */
function rowFor(parent, name, uid = newUid(4)) {
  const li = byId("new-item").content.firstElementChild.cloneNode(true);
  li.dataset.uid = uid;
  const row = li.firstElementChild;
  const field = fieldIn(row, { url: `${base}add/`, target: "closest .row", label: "Name of the new item", note: "Enter for the next · Tab to put it below · Esc to end" });
  field.value = name;
  put(li, parent);
  return field;
}

/** Put a new row last below an item, which may be new itself, or at the top level. */
function put(li, parent) {
  const isFetched = !parent || listOf(parent) || !isBranch(parent);
  (parent ? listIn(parent) : root()).append(li);
  const swatch = parent?.querySelector(".swatch");
  li.querySelector(".swatch").style = swatch?.style.cssText ?? "";
  if (!isFetched) fetchBeside(li, parent);
}

function listIn(parent) {
  if (!listOf(parent)) parent.append(Object.assign(document.createElement("ul"), { id: parent.id && `kids-${uidOf(parent)}`, role: "group" }));
  if (isBranch(parent)) parent.ariaExpanded = "true";
  return listOf(parent);
}

async function fetchBeside(li, parent) {
  const answer = await ask(itemUrl(uidOf(parent), "children/"));
  if (!answer || !listOf(parent)) return;
  const { children } = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("ul");
  const others = [...children].filter(({ id }) => !byId(id)); // a name may have been saved meanwhile
  if (li.isConnected || !listOf(parent).childElementCount) listOf(parent).prepend(...others);
}

/** Save a name and go on to the next. */
function next(form) {
  const li = form.closest("li");
  if (!form.elements.name.value.trim()) return leave(form);
  form.requestSubmit();
  const beside = li.nextElementSibling?.querySelector(":scope > .row > form");
  if (beside) beside.elements.name.focus();
  else begin(parentOf(li));
}

/** Move the row that is being typed to another level; whether there is one. */
function shift(form, out) {
  const li = form.closest("li");
  const above = parentOf(li);
  const parent = out ? above && parentOf(above) : li.previousElementSibling;
  if (queued.has(form) || (out ? !above || above === item(state.branch) : !parent)) return false;
  const { selectionStart, selectionEnd } = form.elements.name;
  put(li, parent);
  form.elements.name.focus();
  form.elements.name.setSelectionRange(selectionStart, selectionEnd);
  return true;
}

// A name is sent when the one before is saved, so that they stand in the order in which they were typed, and what is below a new
// item when that has its address.
const queued = new WeakSet();
let turn = Promise.resolve();

document.addEventListener("htmx:confirm", (event) => {
  const form = event.target;
  if (!form.matches("form.row-edit") || passes(form)) return;
  event.preventDefault();
  const entry = typedIn(form);
  if (!form.matches(FORMS)) return void send(entry);
  if (queued.has(form)) return;
  queued.add(form);
  keep({ key: entry.key, isSent: true });
  turn = turn.then(() => sendNew(form, entry));
});

async function sendNew(form, entry) {
  if (!form.isConnected || parentOf(form.closest("li"))?.matches(".new-item")) return;
  await send(entry);
  queued.delete(form);
}

async function send(entry) {
  const isStored = await deliver(entry);
  if (!isStored || entry.isCurrent) return;
  drop(entry.key); // another name was typed meanwhile
  await renameTo(entry.uid, entry.text);
}

/** What a field has, kept until it is saved. */
function typedIn(form) {
  const { name: { value: name, defaultValue }, was: { value: was } } = form.elements;
  const li = form.closest("li");
  const uid = idOf(li);
  const known = { text: name, uid };
  if (!li.matches(".new-item")) return keep({ ...known, key: itemUrl(uid, "rename/"), url: itemUrl(uid, "rename/"), name: defaultValue, values: { name, was } });
  const parent = parentOf(li) ? idOf(parentOf(li)) : "";
  return keep({ ...known, key: uid, url: parent ? itemUrl(parent, "add/") : `${base}add/`, parent, values: { name, uid } });
}

const idOf = (li) => li.dataset.uid ?? uidOf(li);
const forget = (form) => drop(form.matches(FORMS) ? idOf(form.closest("li")) : form.getAttribute("hx-post"));

document.addEventListener("input", ({ target }) => {
  if (target.matches("form.row-edit input")) target.value.trim() ? typedIn(target.form) : forget(target.form);
});

document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (!target.matches(FORMS)) return;
  const li = target.closest("li");
  detail.path = parentOf(li) ? itemUrl(uidOf(parentOf(li)), "add/") : `${base}add/`;
  detail.parameters.uid = li.dataset.uid;
});

document.addEventListener("htmx:afterSwap", ({ target }) => {
  if (target.matches(FORMS) && isNext()) again(target.elements.name); // refused
});

/** Whether nobody has gone elsewhere since the last name was typed. */
const isNext = () => isLost() || document.activeElement === item(origin);

// The row takes the place of its form; what is below stays, and the focus with it.
document.addEventListener("itemAdded", ({ detail: { uid, level } }) => {
  const li = root().querySelector(`.new-item > #row-${uid}`)?.parentElement;
  if (!li) return;
  item(uid)?.remove(); // a refresh may have added it already
  li.removeAttribute("class");
  delete li.dataset.uid;
  Object.assign(li, { id: `i-${uid}`, role: "treeitem", tabIndex: -1, ariaLevel: level });
  li.setAttribute("aria-labelledby", `row-${uid}`);
  if (parentOf(li)) parentOf(li).ariaExpanded = "true";
  if (listOf(li)) {
    listOf(li).id = `kids-${uid}`;
    li.ariaExpanded = "true";
    sendAll(listOf(li).children);
  }
  const goes = isNext();
  origin = uid;
  if (!goes) return;
  focus(li);
  select(li);
});

/** Send the names that have waited for what is above them. */
function sendAll(rows) {
  for (const { firstElementChild: row } of rows) {
    const form = row.querySelector(":scope > form");
    if (form && queued.delete(form)) form.requestSubmit();
  }
}

export const addBeside = (li) => add(uidOf(li) === state.branch ? state.branch : parentOf(li) ? uidOf(parentOf(li)) : "");

/* New names -------------------------------------------------------------------------------------------------------- */

const before = new WeakMap(); // the row as it was, by the form in its place

export async function rename(uid) {
  if (!item(uid)?.checkVisibility()) await reveal(uid); // its branch may be closed
  const row = byId(`row-${uid}`);
  if (!row || row.matches(".editing")) return;
  const name = row.querySelector(".name").textContent;
  const edited = row.cloneNode();
  edited.classList.add("editing");
  edited.append(...[...row.querySelectorAll(":scope > :is(.twisty, .swatch)")].map((part) => part.cloneNode()));
  row.replaceWith(edited);
  const field = fieldIn(edited, { url: itemUrl(uid, "rename/"), target: "closest .row", label: "Name", note: "Enter to save · Esc to cancel", name });
  before.set(field.form, { row, version: state.version });
  again(field);
}

async function renameTo(uid, name) {
  await rename(uid);
  const field = byId(`row-${uid}`)?.querySelector("input[name=name]");
  if (!field) return;
  field.value = name;
  typedIn(field.form);
  return field;
}

/** Show a name that an earlier page left, where it was typed. */
export async function restoreName({ key, uid, text, parent, isSent }) {
  let field;
  if (parent === undefined) field = await renameTo(uid, text);
  else if (item(key)) return drop(key); // only its answer was lost
  else {
    if (parent && !rowOf(parent)) await refresh({ reveal: parent });
    field = rowFor(rowOf(parent), text, key);
    if (parent && !rowOf(parent)) field.form.lastElementChild.textContent = "The item above it is not there any more. Enter to add it here · Esc to end";
    else if (!isSent) field.focus();
    isSent &&= Boolean(!parent || rowOf(parent));
  }
  if (isSent) field?.form.requestSubmit();
}

const rowOf = (uid) => (uid ? item(uid) ?? root().querySelector(`.new-item[data-uid="${uid}"]`) : null);

/* Saving and leaving ----------------------------------------------------------------------------------------------- */

const left = new WeakSet();

function leave(form, { back = true } = {}) {
  left.add(form);
  forget(form);
  const li = form.closest("li");
  const isNew = li.matches(".new-item");
  if (isNew) {
    const below = [...(listOf(li)?.children ?? [])];
    li.replaceWith(...below);
    sendAll(below);
  }
  const refused = document.querySelector(REFUSED);
  const place = isNew ? item(origin) : li;
  if (back && isNew && refused) again(refused);
  else if (back && place) focus(place);
  if (isNew) return;
  const { row, version } = before.get(form) ?? {};
  if (version === state.version) form.parentElement.replaceWith(row);
  else get(itemUrl(uidOf(li), "row/"), `#row-${uidOf(li)}`, "outerHTML");
}

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("form.row-edit");
  if (!form || event.isComposing || !act(form, event)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
});

/** What a key does in a name field; whether it does something. */
function act(form, { key, shiftKey }) {
  if (key === "Escape") return leave(form), true;
  if (!form.matches(FORMS)) return false;
  if (key === "Enter") return next(form), true;
  return key === "Tab" && shift(form, shiftKey);
}

document.addEventListener("focusout", ({ target }) => {
  const form = target.closest("form.row-edit");
  if (form) setTimeout(() => form.contains(document.activeElement) || !document.hasFocus() || finish(form));
});

/** Save what was typed. A refused or conflicting name waits for a decision. */
function finish(form) {
  if (!form.isConnected || left.has(form) || queued.has(form) || form.matches(".htmx-request")) return;
  const field = form.elements.name;
  const isSame = field.value === field.defaultValue;
  if (!field.value.trim() || (isSame && !field.ariaInvalid && !form.querySelector("button"))) leave(form, { back: false });
  else if (!isSame) form.requestSubmit();
}

/* Where the focus goes --------------------------------------------------------------------------------------------- */

const isLost = () => document.activeElement === document.body;

const returning = new Set();
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (detail.elt.closest?.("form.row-edit")) returning.add(detail.target?.id);
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const row = detail.elt?.id && returning.delete(detail.elt.id) ? byId(detail.elt.id) : null;
  if (row?.matches(".row") && !row.querySelector("form") && isLost()) focus(row.closest("li"));
});
