// The name field in a row, for a new item or a new name. Enter or leaving the field saves, Escape cancels.

import {
  answered, ask, base, byId, focus, focused, get, isBranch, item, itemUrl, listOf, parentOf, refresh, reveal, root, select, state, uidOf,
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

/* New items -------------------------------------------------------------------------------------------------------- */

let origin = "";

export async function add(uid) {
  const unfinished = document.querySelector(".new-item form");
  if (unfinished) finish(unfinished);
  await answered(".new-item .htmx-request"); // it is being saved
  if (document.querySelector(".new-item [aria-invalid=true]")) return;
  origin = focused() ? uidOf(focused()) : "";
  document.querySelector(".new-item")?.remove();
  const parent = uid ? item(uid) : null;
  if (uid && !parent) return;
  const li = byId("new-item").content.firstElementChild.cloneNode(true);
  const url = parent ? itemUrl(uid, "add/") : `${base}add/`;
  const field = fieldIn(li.firstElementChild, { url, target: "closest li", label: "Name of the new item", note: "Enter to add · Esc to cancel" });
  if (parent) li.querySelector(".swatch").style = byId(`row-${uid}`).querySelector(".swatch").style.cssText;
  const isFetched = !parent || listOf(parent) || !isBranch(parent);
  (parent ? listIn(parent) : root()).append(li);
  field.scrollIntoView({ block: "nearest" });
  field.focus();
  if (!isFetched) await fetchBeside(li, parent);
}

function listIn(parent) {
  if (!listOf(parent)) parent.append(Object.assign(document.createElement("ul"), { id: `kids-${uidOf(parent)}`, role: "group" }));
  if (isBranch(parent)) parent.ariaExpanded = "true";
  return listOf(parent);
}

async function fetchBeside(li, parent) {
  const answer = await ask(itemUrl(uidOf(parent), "children/"));
  if (!answer || !listOf(parent)) return;
  const { children } = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("ul");
  if (li.isConnected || !listOf(parent).childElementCount) listOf(parent).prepend(...children);
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
  field.focus();
  field.select();
}

/* Saving and leaving ----------------------------------------------------------------------------------------------- */

const left = new WeakSet();

function leave(form, { back = true } = {}) {
  left.add(form);
  const li = form.closest("li");
  const isNew = li.matches(".new-item");
  const place = isNew ? item(origin) : li;
  if (back && place) focus(place);
  if (isNew) return li.remove();
  const { row, version } = before.get(form) ?? {};
  if (version === state.version) form.parentElement.replaceWith(row);
  else get(itemUrl(uidOf(li), "row/"), `#row-${uidOf(li)}`, "outerHTML");
}

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("form.row-edit");
  if (!form || event.key !== "Escape") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  leave(form);
});

document.addEventListener("focusout", ({ target }) => {
  const form = target.closest("form.row-edit");
  if (form) setTimeout(() => form.contains(document.activeElement) || !document.hasFocus() || finish(form));
});

/** Save what was typed. A refused or conflicting name waits for a decision. */
function finish(form) {
  if (!form.isConnected || left.has(form) || form.matches(".htmx-request")) return;
  const field = form.elements.name;
  const isSame = field.value === field.defaultValue;
  if (!field.value.trim() || (isSame && !field.ariaInvalid && !form.querySelector("button"))) leave(form, { back: false });
  else if (!isSame) form.requestSubmit();
}

/* Where the focus goes --------------------------------------------------------------------------------------------- */

const isLost = () => document.activeElement === document.body;

document.addEventListener("itemAdded", ({ detail: { uid } }) => {
  const [li, ...again] = root().querySelectorAll(`#i-${uid}`); // a refresh may have added it already
  again.forEach((each) => each.remove());
  if (!li) return;
  const parent = parentOf(li);
  if (parent) parent.ariaExpanded = "true";
  if (!isLost()) return;
  focus(li);
  select(li);
});

const returning = new Set();
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (detail.elt.closest?.("form.row-edit")) returning.add(detail.target?.id);
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const row = detail.elt?.id && returning.delete(detail.elt.id) ? byId(detail.elt.id) : null;
  if (row?.matches(".row") && !row.querySelector("form") && isLost()) focus(row.closest("li"));
});
