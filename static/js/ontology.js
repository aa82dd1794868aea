// The editor of an ontology: mouse, keys, and what happens around the forms. All writes go through htmx.

import {
  above, base, below, byId, chosen, close, editable, first, focus, focused, follow, get, home, inTurn, isOlder, isOpen, item, items, itemUrl, last, listOf, mark,
  open, opened, panel, parentOf, refresh, reveal, say, select, selectNone, show, showBranch, state, tell, uidOf,
} from "./ontology/tree.js";
import { add, addBeside, rename } from "./ontology/naming.js";
import "./ontology/search.js";
import "./ontology/filters.js";
import "./ontology/figures.js";
import "./ontology/fields.js";
import "./ontology/pane.js";
import "./ontology/memory.js";
import "./ontology/menu.js";
import "./ontology/path.js";
import { key as moveKey } from "./ontology/moving.js";
import * as selection from "./ontology/selection.js";
import { enter } from "./ontology/sheet.js";

mark();
if (state.selected) byId(`row-${state.selected}`)?.scrollIntoView({ block: "center" });

/* Other people's changes ------------------------------------------------------------------------------------------- */

// Each answer names the version of the ontology before and after the request.
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  const [needed, now] = detail.xhr?.getResponseHeader("X-Ontology-Version")?.split(" ") ?? [];
  if (!now) return;
  const missed = needed !== state.version;
  if (!isOlder(now)) state.version = now;
  if (missed) refresh(); // also if it was overtaken and shows what was before
});

// And somebody who only looks asks for it now and then.
async function look() {
  if (document.hidden) return;
  const answer = await fetch(`${home}version/`, { headers: { "HX-Request": "true" } }).catch(() => null);
  const now = answer?.headers.get("X-Ontology-Version")?.split(" ")[1];
  if (now && now !== state.version && !isOlder(now)) refresh({ quiet: true });
}
window.addEventListener("focus", look);
setInterval(look, 30_000);

document.addEventListener("ontologyChanged", async ({ detail: { uid } }) => {
  const isMoved = Boolean(item(uid)); // not new
  if (!uid || (isMoved && isAtOther(uid))) return void refresh();
  tell("leave-search");
  await refresh({ reveal: uid });
  if (!isMoved || !isAtOther(uid)) reveal(uid);
});

/** Whether somebody has gone on to another label, or types, while one was moved: they stay there. */
function isAtOther(uid) {
  const at = document.activeElement;
  if (at.closest("dialog")) return false;
  return at.matches("#tree li[role=treeitem]") ? uidOf(at) !== uid && !chosen.has(uidOf(at)) : at.matches("input, textarea, select");
}

/* Undo and redo ---------------------------------------------------------------------------------------------------- */

async function takeStep(direction) {
  await inTurn(() => window.htmx.ajax("POST", `${home}${direction}/`, { swap: "none" }));
  if (document.activeElement === document.body && focused()) focus(focused()); // the button may be disabled now
}

/* Mouse ------------------------------------------------------------------------------------------------------------ */

function press(button) {
  const { levels, go, open: dialog, branch, add: parent, rename: named, step: direction } = button.dataset;
  if (direction) return takeStep(direction);
  if (levels) return show(Number(levels));
  if (dialog) return byId(dialog).showModal();
  if (branch !== undefined) return showBranch(branch);
  if (parent !== undefined) return add(parent || state.branch);
  if (named) return rename(named);
  byId("dialog").close();
  return reveal(go);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-levels], [data-add], [data-rename], [data-branch]:not(nav), [data-go], [data-open], [data-step]");
  if (button) return void press(button);
  if (event.target.closest("[data-overview]")) return void selectNone();
  const li = event.target.closest("#tree .row") && event.target.closest("li[role=treeitem]");
  if (!li || event.target.closest("form")) return;
  if (editable && !event.target.closest("button.twisty") && selection.click(li, event)) return;
  focus(li);
  if (event.target.closest("button.twisty")) isOpen(li) ? close(li) : open(li);
  else if (state.selected !== uidOf(li) || event.detail < 2) select(li), enter(li);
});

panel.addEventListener("dblclick", (event) => {
  const li = event.target.closest(".row .name")?.closest("li[role=treeitem]");
  if (li && editable) rename(uidOf(li));
});

/* Keys ------------------------------------------------------------------------------------------------------------- */

const KEYS = {
  Escape: () => void (state.selected && selectNone()),
  ArrowDown: below,
  ArrowUp: above,
  ArrowRight: (li) => (isOpen(li) ? listOf(li).querySelector("li[role=treeitem]") : void open(li)),
  ArrowLeft: (li) => (isOpen(li) ? void close(li) : parentOf(li)),
  Home: first,
  End: last,
  Enter: (li) => void (editable && li !== reached ? rename(uidOf(li)) : select(li)),
  " ": (li) => void select(li),
  "*": (li) => void [...li.parentElement.children].filter((other) => other.matches("li[role=treeitem]")).forEach(open),
};
const EDIT_KEYS = {
  F2: (li) => void rename(uidOf(li)),
  Insert: (li, event) => void (event.shiftKey ? addBeside(li) : add(uidOf(li))),
  Delete: (li) => void (chosen.size > 1 ? selection.askToSwitch() : get(itemUrl(uidOf(li), "active/"), "#dialog", "innerHTML")),
};

// With Ctrl the focus goes alone, to select further items with Ctrl and Space.
const CONTROL_KEYS = Object.fromEntries(["ArrowDown", "ArrowUp", "Home", "End"].map((key) => [key, KEYS[key]]));
const EDIT_CONTROL_KEYS = { Enter: (li, event) => void (event.shiftKey ? addBeside(li) : add(uidOf(li))) };

let typed = "";
let typedAt = 0;
let reached = null; // by typing: Enter, which may be meant for what was typed, does not rename it

/** Typing letters goes to the next visible item whose name starts with them. */
function typeAhead(li, key) {
  typed = Date.now() - typedAt < 700 ? typed + key.toLowerCase() : key.toLowerCase();
  typedAt = Date.now();
  const all = items().filter((each) => each.offsetParent !== null);
  const at = all.indexOf(li);
  const inTurn = [...all.slice(at + 1), ...all.slice(0, at + 1)];
  if (typed.length > 1) inTurn.unshift(inTurn.pop());
  return inTurn.find((other) => byId(`row-${uidOf(other)}`).querySelector(".name")?.textContent.toLowerCase().startsWith(typed));
}

/** Keys that work wherever the focus is, except in a field or a dialog; whether it was one. */
function general(event) {
  if (event.target.closest?.("input:not([type=color], [type=checkbox]), textarea, select, dialog[open]") || document.querySelector("dialog[open]")) return false;
  const control = (event.ctrlKey || event.metaKey) && !event.altKey;
  if (event.key === "?" && !control) return byId("keys").showModal(), true;
  if (!editable || !control || event.key.toLowerCase() !== "z") return false;
  takeStep(event.shiftKey ? "redo" : "undo");
  return true;
}

document.addEventListener("keydown", (event) => {
  if (general(event) || (editable && (selection.key(event) || moveKey(event)))) return void event.preventDefault();
  const li = event.target;
  if (!(li instanceof HTMLElement) || !li.matches("#tree li[role=treeitem]") || event.altKey || event.defaultPrevented) return;
  const control = event.ctrlKey || event.metaKey;
  const action = (control ? CONTROL_KEYS : KEYS)[event.key] ?? (editable && (control ? EDIT_CONTROL_KEYS : EDIT_KEYS)[event.key]);
  const isLetter = !action && !control && event.key.length === 1 && !"/? ".includes(event.key);
  if (!action && !isLetter) return;
  event.preventDefault();
  const next = action ? action(li, event) : typeAhead(li, event.key);
  reached = isLetter ? next : null;
  if (!next) return;
  focus(next);
  if (!control && !chosen.size) follow(next);
});

// Several lines pasted onto the tree become the list of the dialog, below the item with the focus.
document.addEventListener("paste", async (event) => {
  const text = event.clipboardData.getData("text").trimEnd();
  const field = event.target.closest("input, textarea, select");
  const isHere = !field || (field.matches(".new-item input") && !field.value);
  if (!editable || !isHere || !text.includes("\n") || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  const li = event.target.closest("li[role=treeitem]");
  await get(li ? itemUrl(uidOf(li), "paste/") : `${base}paste/`, "#dialog", "innerHTML");
  byId("pasted").value = text;
  byId("pasted").dispatchEvent(new Event("input", { bubbles: true }));
});

/* Around the forms ------------------------------------------------------------------------------------------------- */

document.addEventListener("htmx:afterSettle", mark);

// A control may be gone before its answer arrives. htmx could not place any part of that answer.
function keepAnswer({ detail }) {
  if (detail.requestConfig.elt.isConnected && detail.target.isConnected) return;
  detail.shouldSwap = false;
  if (detail.requestConfig.verb === "post") refresh();
  if (![409, 422].includes(detail.xhr.status) || detail.requestConfig.elt.matches(".row-edit, .terms, .description")) return;
  say("The last change was not saved: it was refused, or somebody else changed the item meanwhile. Open it again.");
}

// On the elements themselves: events of detached elements do not bubble up to the document.
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  for (const place of [detail.target, detail.elt]) place.addEventListener("htmx:beforeSwap", keepAnswer);
});

// A colour that was not saved is not shown, either.
for (const name of ["sendError", "timeout", "responseError"]) {
  document.addEventListener(`htmx:${name}`, ({ target }) => target.closest?.("#details form")?.querySelector("input[type=color]")?.form.reset());
}

// The control that opened a dialog may have been replaced by its answer.
byId("dialog").addEventListener("close", () => {
  if (document.activeElement === document.body && item(state.selected)) focus(item(state.selected));
});
