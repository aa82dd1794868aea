// The dialog of the page: whatever is swapped into #dialog opens it, an empty answer closes it.

import { placeToasts } from "./toasts.js";

const dialog = document.querySelector("#dialog");
const $ = (selector) => dialog.querySelector(selector);

function afterSwap({ detail: { target } }) {
  if (target !== dialog) return;
  if (!dialog.firstElementChild) return void dialog.close();
  showDialog();
  handOver();
}

function showDialog() {
  dialog.setAttribute("aria-label", $("h1, h2")?.textContent.trim() ?? "");
  if (!dialog.open) dialog.showModal(), $("input[autofocus]")?.select();
  else ($("[aria-invalid=true]") ?? $("[autofocus], input:not([type=hidden]), button:not([data-close])"))?.focus();
  placeToasts();
}

if (dialog) {
  document.addEventListener("htmx:beforeSwap", ({ detail }) => detail.shouldSwap && detail.target === dialog && placeToasts(document.body));
  document.addEventListener("htmx:afterSwap", afterSwap);
  document.addEventListener("htmx:oobAfterSwap", afterSwap);
  document.addEventListener("closeDialog", () => dialog.close());
  dialog.addEventListener("close", () => (placeToasts(), dialog.replaceChildren()));
  if (dialog.firstElementChild) showDialog(); // the page was asked for by the address of the dialog
}
document.addEventListener("close", () => placeToasts(), true); // of other dialogs

document.addEventListener("click", ({ target }) => target.closest?.("[data-close]")?.closest("dialog")?.close());

/* What is typed while a dialog is on its way is meant for it, and is no command of the page ------------------------- */

let coming = null; // the request
let early = "";

document.addEventListener("htmx:beforeSend", ({ detail: { target, xhr } }) => {
  if (target !== dialog || dialog.open) return;
  coming = xhr;
  early = "";
  xhr.addEventListener("loadend", () => coming === xhr && (coming = null));
});

const TEXT = ":is(input:is([type=text], [type=search], :not([type])), textarea):not([readonly], :disabled)";

function handOver() {
  const field = early && ($(`${TEXT}:focus`) ?? $(TEXT));
  if (field) {
    field.focus();
    field.select();
    document.execCommand("insertText", false, early.trimEnd());
    const enter = early.endsWith("\n") && new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
    // A field that searches listens from then on.
    const search = () => (enter ? field.dispatchEvent(enter) : window.htmx.trigger(field, "now"));
    document.addEventListener("htmx:afterSettle", () => setTimeout(search), { once: true });
  }
  early = "";
}

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (!coming || event.isComposing || target.closest?.("input, textarea, select, [contenteditable]")) return;
  event.stopImmediatePropagation();
  if (event.ctrlKey || event.metaKey || event.altKey || ["Tab", "F5"].includes(key)) return; // the browser's own
  event.preventDefault();
  if (key === "Escape") coming.abort();
  else if (key === "Backspace") early = early.slice(0, -1);
  else if (key.length === 1) early += key;
  else if (key === "Enter" && early) early = `${early.trimEnd()}\n`; // takes what is found in a picker
}, true);
