// Several items at once: Ctrl and Shift with the mouse or keys, a branch, all siblings.

import {
  above, base, below, byId, chosen, focus, focused, get, item, items, itemUrl, listOf, mark, openAll, several, showOverview, state, tell, uidOf,
} from "./tree.js";

const bar = byId("selection");
let anchor = "";
let showing = 0;

function show() {
  if (!bar) return;
  mark();
  tell("refocused");
  const uids = document.querySelector("#several [name=uids]");
  if (uids) uids.value = [...chosen].join(","); // what is typed there is for those that are selected now
  if (bar.hidden && chosen.size < 2) return;
  bar.hidden = chosen.size < 2;
  byId("selected-count").textContent = `${chosen.size} selected`;
  clearTimeout(showing);
  if (chosen.size > 1) showing = setTimeout(showSeveral, 150);
  else if (byId("details-several")) state.selected ? get(itemUrl(state.selected), "#details", "morph:innerHTML") : showOverview();
}

const post = (url, target, swap, values = {}) =>
  window.htmx.ajax("POST", url, { source: target, target, swap, values: { uids: [...chosen].join(","), ...values } });

async function showSeveral() {
  await post(several, "#details", "morph:innerHTML");
  if (document.activeElement === document.body && focused()) focus(focused()); // what was pressed in the pane is gone
}

// Terms that were added are no unsaved text any more.
document.addEventListener("htmx:afterRequest", ({ target, detail }) => target.matches?.("#several") && detail.successful && target.reset());

/** Ask whether all that is selected shall be off. */
export const askToSwitch = () => post(`${base}active/ask/`, "#dialog", "innerHTML", { active: "0" });

/** Ask where all that is selected shall stand; `li` is among them. */
export const askForPlace = (li) => post(itemUrl(uidOf(li), "move/"), "#dialog", "innerHTML");

const begin = () => {
  if (!chosen.size && state.selected && item(state.selected)) chosen.add(state.selected);
};

function toggle(li) {
  begin();
  const uid = uidOf(li);
  chosen.has(uid) ? chosen.delete(uid) : chosen.add(uid);
  anchor = uid;
  focus(li);
  show();
}

/** Everything that is visible from the item where the selection began to this one. */
function upTo(li) {
  const all = items().filter((each) => each.offsetParent !== null);
  const from = all.indexOf(item(anchor) ?? item(state.selected) ?? focused());
  const to = all.indexOf(li);
  if (from < 0) return toggle(li);
  anchor = uidOf(all[from]);
  chosen.clear();
  for (const each of all.slice(Math.min(from, to), Math.max(from, to) + 1)) chosen.add(uidOf(each));
  focus(li);
  show();
}

/** Select everything in the branches of what is selected. */
export async function branch() {
  const tops = chosen.size ? [...chosen] : [state.selected];
  for (const uid of tops) {
    const li = item(uid);
    if (!li) continue;
    if (!(await openAll(li))) break;
    chosen.add(uid);
    for (const below of listOf(li)?.querySelectorAll("li[role=treeitem]") ?? []) chosen.add(uidOf(below));
  }
  show();
}

export function clear() {
  chosen.clear();
  anchor = "";
  show();
}

/** Whether the click was about the selection. */
export function click(li, event) {
  if (event.shiftKey) return upTo(li), getSelection().removeAllRanges(), true;
  if (event.ctrlKey || event.metaKey) return toggle(li), true;
  anchor = uidOf(li);
  if (chosen.size) clear();
  return false;
}

/** Whether the key was about the selection. */
export function key(event) {
  const li = event.target;
  if (!li.matches?.("#tree li[role=treeitem]") || event.altKey) return false;
  const control = event.ctrlKey || event.metaKey;
  if (event.key === "Escape" && chosen.size) return clear(), true;
  if (event.key === " " && control) return toggle(li), true;
  if (event.key.toLowerCase() === "a" && control) {
    chosen.clear();
    for (const each of li.parentElement.children) if (each.matches("li[role=treeitem]")) chosen.add(uidOf(each));
    return show(), true;
  }
  if (!event.shiftKey || !["ArrowDown", "ArrowUp"].includes(event.key)) return false;
  const next = event.key === "ArrowDown" ? below(li) : above(li);
  if (!chosen.size) anchor = uidOf(li);
  if (next) upTo(next);
  return true;
}

document.addEventListener("click", (event) => {
  const wanted = event.target.closest("[data-select]")?.dataset.select;
  if (wanted === "branch") branch();
  if (wanted === "none") clear();
});
document.addEventListener("tree:selected", show);
document.addEventListener("tree:refreshed", () => {
  for (const uid of chosen) if (!item(uid)) chosen.delete(uid);
  if (chosen.size) show();
});
