// Opened branches and scroll survive a reload.

import { base, opened, refresh, state, uidOf } from "./tree.js";
import { openedBehind } from "./search.js";

const key = `ontology:${base}`;

function keep() {
  const focused = document.activeElement?.matches("#tree li[role=treeitem]") ? uidOf(document.activeElement) : "";
  try {
    sessionStorage.setItem(key, JSON.stringify({ open: openedBehind(), branch: state.branch, top: scrollY, focused }));
  } catch { /* private windows may refuse; the page then opens as new */ }
}

function recall() {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

addEventListener("pagehide", keep);

const { open = null, branch, top = 0, focused } = recall();
if (open !== null && branch === state.branch) {
  const again = () => {
    scrollTo(0, top);
    if (focused && document.activeElement === document.body) document.getElementById(`i-${focused}`)?.focus({ preventScroll: true });
  };
  open === opened() ? again() : refresh({ open, reveal: state.selected }).then(again);
}
