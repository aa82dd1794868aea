// The field in a row for the name of a new item or a new name. Enter or leaving it saves, Escape does not.

import { answered, base, byId, focus, focused, get, isBranch, item, itemUrl, listOf, open, parentOf, refresh, select, state, uidOf } from "./tree.js";

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
  if (parent && !isBranch(parent)) {
    const list = Object.assign(document.createElement("ul"), { id: `kids-${uid}`, role: "group" });
    if (!listOf(parent)) parent.append(list);
  } else if (parent) await open(parent);
  await get(uid ? itemUrl(uid, "add/") : `${base}add/`, `#kids-${uid || "root"}`, "beforeend");
  document.querySelector(".new-item input")?.scrollIntoView({ block: "nearest" });
}

export const addBeside = (li) => add(uidOf(li) === state.branch ? state.branch : parentOf(li) ? uidOf(parentOf(li)) : "");
export const rename = (uid) => get(itemUrl(uid, "rename/"), `#row-${uid}`, "outerHTML");

const left = new WeakSet();

function leave(form, { back = true } = {}) {
  left.add(form);
  const li = form.closest("li");
  const isNew = li.matches(".new-item");
  const place = isNew ? item(origin) : li;
  if (back && place) focus(place);
  if (isNew) li.remove();
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

/** Save what was typed. A name that was refused, or that somebody else has changed, waits for a decision. */
function finish(form) {
  if (!form.isConnected || left.has(form) || form.matches(".htmx-request")) return;
  const field = form.elements.name;
  const isSame = field.value === field.defaultValue;
  if (!field.value.trim() || (isSame && !field.ariaInvalid && !form.querySelector("button"))) leave(form, { back: false });
  else if (!isSame) form.requestSubmit();
}

// A part of another answer does not take the field away: it comes with the whole tree, which leaves the field alone.
document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  if (!detail.target.querySelector("form.row-edit")) return;
  detail.shouldSwap = false;
  refresh();
});

/* Where the focus goes --------------------------------------------------------------------------------------------- */

const isLost = () => document.activeElement === document.body;

document.addEventListener("itemAdded", ({ detail: { uid } }) => {
  const li = item(uid);
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
  const field = detail.elt?.querySelector?.(".row-edit input[autofocus]");
  if (!field || (field.ariaInvalid && !isLost() && field !== document.activeElement)) return;
  field.focus();
  if (field.value && !field.ariaInvalid) field.select();
});
