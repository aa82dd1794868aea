// The details pane belongs to what is selected, at once: until its details are there, it shows fields for it, whose texts go into its own.

import { save } from "./morph.js";
import { deliver, keep } from "./sending.js";
import { ask, base, byId, chosen, item, itemUrl, state } from "./tree.js";

const pane = byId("details");
const early = new Map(); // by uid: what was typed before the details came, by the name of the field
let entered = ""; // the name of the field that has the focus
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
  if (isRight && (entered || early.has(state.selected))) fill(root);
}

/** Back to details that are there, such as those of an item whose text was refused. */
function leave() {
  const { uid } = coming().dataset;
  coming().remove();
  shown().hidden = false;
  if (uid !== state.selected && early.has(uid)) sendEarly(uid);
}

/** What was typed for an item that was left again before its details came. */
async function sendEarly(uid) {
  const answer = await ask(itemUrl(uid), { quiet: true, any: true });
  if (!early.has(uid)) return; // its details came meanwhile
  if (!answer?.ok) return void setTimeout(sendEarly, 3000, uid);
  const details = new DOMParser().parseFromString(await answer.text(), "text/html");
  const { description = "", add = "" } = early.get(uid);
  early.delete(uid);
  const known = { uid, name: details.querySelector("h2").textContent.trim() };
  if (description) {
    const was = details.querySelector("textarea").defaultValue;
    const [key, text] = [itemUrl(uid, "describe/"), joined(was, description)];
    deliver(keep({ ...known, key, url: key, text, values: { was, description: text } }));
  }
  if (add) deliver(keep({ ...known, key: itemUrl(uid, "example-terms/"), url: `${base}example-terms/`, text: add, values: { uids: uid, add } }));
}

const joined = (before, text) => before + (before && !/\s$/.test(before) ? " " : "") + text;

/** Fields for what is selected, the one at the pointer with the focus. */
function open(name) {
  const li = item(state.selected);
  if (pane.ariaBusy !== "true" || coming() || !li || chosen.size > 1 || !byId("details-coming")) return;
  const fresh = byId("details-coming").content.firstElementChild.cloneNode(true);
  fresh.dataset.uid = state.selected;
  const row = byId(`row-${state.selected}`);
  fresh.querySelector("h2").textContent = row.querySelector(".name")?.textContent ?? row.querySelector("[name=name]")?.defaultValue ?? ""; // being renamed
  for (const field of fresh.querySelectorAll("[name]")) field.value = early.get(state.selected)?.[field.name] ?? "";
  shown().hidden = true;
  pane.append(fresh);
  (fresh.querySelector(`[name=${name}]`) ?? fresh.querySelector("textarea")).focus();
}

function fieldAt({ clientX: x, clientY: y }) {
  const isThere = (field) => {
    const { left, right, top, bottom } = field.getBoundingClientRect();
    return left <= x && x <= right && top <= y && y <= bottom;
  };
  return [...shown().querySelectorAll("textarea, input[name=add]")].find(isThere)?.name;
}

function fill(root) {
  const typed = early.get(state.selected) ?? {};
  early.delete(state.selected);
  for (const [name, text] of Object.entries(typed)) {
    const field = root.querySelector(`[name=${name}]`);
    if (!field || !text) continue;
    field.value = joined(field.value, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    if (entered !== name) save(field);
  }
  if (entered && (document.activeElement === document.body || document.activeElement === pane)) root.querySelector(`[name=${entered}]`)?.focus();
  entered = "";
}

pane.addEventListener("pointerdown", (event) => {
  if (event.target !== pane || pane.ariaBusy !== "true" || coming()) return;
  event.preventDefault(); // the focus stays where it is put
  open(fieldAt(event));
});
pane.addEventListener("focus", () => open());
document.addEventListener("focusin", ({ target }) => (entered = target.closest?.(".coming") ? target.name : ""));
pane.addEventListener("input", ({ target }) => {
  const uid = target.closest(".coming")?.dataset.uid;
  if (uid) early.set(uid, { ...early.get(uid), [target.name]: target.value });
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
  early.delete(state.selected);
  leave();
  item(state.selected)?.focus();
});
addEventListener("beforeunload", (event) => early.size && event.preventDefault());

for (const name of ["tree:selected", "tree:refocused", "tree:refreshed", "htmx:afterSettle"]) document.addEventListener(name, update);
