// The details pane belongs to what is selected, at once: until its details are there, it shows fields for it, whose texts go into its own.
// They are kept as all that is typed: an entry of such an item has its address as the key, and none to send it to.

import { save } from "./morph.js";
import { deliver, drop, keep, refuse, showUnsaved, waiting } from "./sending.js";
import { ask, base, byId, chosen, item, itemUrl, state } from "./tree.js";

const pane = byId("details");
const early = (uid) => waiting().find(({ key }) => key === itemUrl(uid)); // its `values` by the names of the fields
let entered = null; // the field for what is coming that has the focus
const shown = () => pane.querySelector(":scope > [id^=details-]");
const coming = () => pane.querySelector(":scope > .coming");
const wanted = () => (chosen.size > 1 ? "details-several" : `details-${state.selected || "none"}`);

function update() {
  const root = shown();
  if (!root) return;
  const isRight = root.id === wanted();
  pane.ariaBusy = String(!isRight);
  root.inert = !isRight;
  pane.tabIndex = isRight ? -1 : 0;
  if (coming() && (isRight || coming().dataset.uid !== state.selected)) leave();
  if (isRight && (entered || early(state.selected))) fill(root);
}

/** Back to details that are there, such as those of an item whose text was refused. */
function leave() {
  const { uid } = coming().dataset;
  coming().remove();
  shown().hidden = false;
  if (uid === state.selected) return;
  entered = null; // the cursor stood in a text of that item
  if (early(uid)) sendEarly(early(uid));
}

/** What was typed for an item that was left again before its details came. */
async function sendEarly(entry) {
  const { key, uid, name } = entry;
  if (entry.isOnItsWay) return;
  keep({ key, isSent: true, isOnItsWay: true });
  const answer = await ask(key, { quiet: true, any: true });
  const html = await answer?.text().catch(() => "");
  entry.isOnItsWay = false;
  if (early(uid) !== entry || isHere(uid)) return; // its details came meanwhile, or are about to
  if (answer?.status === 404) return refuse(entry, {});
  if (!answer?.ok || !html) {
    entry.failures = (entry.failures ?? 0) + 1;
    setTimeout(resume, 3000);
    return showUnsaved();
  }
  const { description, add } = entry.values;
  const url = { description: itemUrl(uid, "describe/"), add: itemUrl(uid, "example-terms/") };
  const before = (field) => waiting().find((each) => each.key === url[field]); // what waits already
  if (description) {
    const stored = new DOMParser().parseFromString(html, "text/html").querySelector("textarea").defaultValue;
    const { was, description: text } = before("description")?.values ?? { was: stored, description: stored };
    const joint = joined(text, description);
    deliver(keep({ uid, name, key: url.description, url: url.description, text: joint, values: { was, description: joint } }));
  }
  if (add) {
    const { values } = before("add") ?? {};
    const terms = [values?.add, add].filter(Boolean).join("\n");
    deliver(keep({ uid, name, key: url.add, url: before("add")?.url ?? `${base}example-terms/`, text: terms, values: { uids: uid, ...values, add: terms } }));
  }
  drop(key);
}

const isHere = (uid) => uid === state.selected || uid === coming()?.dataset.uid;

/** Also what an earlier page left. */
function resume() {
  for (const entry of waiting()) if (early(entry.uid) === entry && !isHere(entry.uid)) sendEarly(entry);
  update();
}

const joined = (before, text) => before + (before && !/\s$/.test(before) ? " " : "") + text;

/** The name of what is selected, with fields for it. */
function show() {
  if (pane.ariaBusy !== "true" || coming() || !item(state.selected) || chosen.size > 1) return;
  const fresh = byId("details-coming").content.firstElementChild.cloneNode(true);
  fresh.dataset.uid = state.selected;
  const row = byId(`row-${state.selected}`);
  fresh.querySelector("h2").textContent = row.querySelector(".name")?.textContent ?? row.querySelector("[name=name]")?.defaultValue ?? ""; // being renamed
  for (const field of fresh.querySelectorAll("[name]")) field.value = early(state.selected)?.values[field.name] ?? "";
  shown().hidden = true;
  pane.append(fresh);
}

/** With the focus in the field at the pointer. */
function open(name) {
  if (pane.ariaBusy !== "true") return;
  show();
  (coming()?.querySelector(`[name=${name}]`) ?? coming()?.querySelector("textarea"))?.focus();
}

function fieldAt({ clientX: x, clientY: y }) {
  const isThere = (field) => {
    const { left, right, top, bottom } = field.getBoundingClientRect();
    return left <= x && x <= right && top <= y && y <= bottom;
  };
  return [...shown().querySelectorAll("textarea, input[name=add]")].find(isThere)?.name;
}

function fill(root) {
  const typed = early(state.selected)?.values ?? {};
  for (const [name, text] of Object.entries(typed)) {
    const field = root.querySelector(`[name=${name}]`);
    if (!field || !text) continue;
    field.value = joined(field.value, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    if (entered?.name !== name) save(field);
  }
  drop(itemUrl(state.selected)); // the fields keep it from now on
  if (entered && (document.activeElement === document.body || document.activeElement === pane)) goOn(entered, root.querySelector(`[name=${entered.name}]`));
  entered = null;
}

/** With the cursor where it was. */
function goOn(before, field) {
  const at = field.value.length - (before.value.length - before.selectionStart);
  field.focus();
  field.setSelectionRange(at, at);
}

pane.addEventListener("pointerdown", (event) => {
  if (event.target !== pane || pane.ariaBusy !== "true" || coming()) return;
  event.preventDefault(); // the focus stays where it is put
  open(fieldAt(event));
});
pane.addEventListener("focus", () => open());
document.addEventListener("focusin", ({ target }) => (entered = target.closest?.(".coming") ? target : null));
pane.addEventListener("input", ({ target }) => {
  const form = target.closest(".coming");
  if (!form) return;
  const { uid } = form.dataset;
  const { description, add } = Object.fromEntries(new FormData(form));
  const text = [description, add].filter(Boolean).join(", ");
  if (!text) return drop(itemUrl(uid));
  keep({ key: itemUrl(uid), uid, name: form.querySelector("h2").textContent.trim(), text, values: { description, add }, isSent: false, failures: 0 });
});
pane.addEventListener("submit", (event) => {
  const form = event.target.closest(".coming");
  if (!form) return;
  event.preventDefault();
  const { add } = form.elements;
  if (add.value.trim()) add.value = `${add.value.trim().replace(/,$/, "")}, `;
  add.dispatchEvent(new Event("input", { bubbles: true }));
});
pane.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !event.target.closest(".coming")) return;
  drop(itemUrl(state.selected));
  leave();
  item(state.selected)?.focus();
});

for (const name of ["tree:selected", "tree:refocused", "tree:refreshed", "htmx:afterSettle"]) document.addEventListener(name, update);
document.addEventListener("tree:fill", resume);
document.addEventListener("tree:unreachable", show);
