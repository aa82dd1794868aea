// What the pages of all sets share: keys for undo and redo, and for the dialog in which labels are picked.

import "./picking.js";

const $ = (selector) => document.querySelector(selector);

document.addEventListener("keydown", (event) => {
  const isField = event.target.matches?.("input, textarea, select");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !isField && !$("#dialog[open]")) {
    event.preventDefault();
    $(`[data-step=${event.shiftKey ? "redo" : "undo"}]:not(:disabled)`)?.click();
  }
});
