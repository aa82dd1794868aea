// Behaviour that every page shares. Server to client: the events `toast`, `closeDialog` and `reload` (HX-Trigger).

import "./address.js";
import "./copy.js";
import "./dialog.js";
import "./drafts.js";
import "./palette.js";
import "./signing_out.js";
import { showToast } from "./toasts.js";
import "./unsent.js";
import { isPolling } from "./waiting.js";

const $ = (selector, root = document) => root.querySelector(selector);
const closest = (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null);

/* Failed requests: said in words, until dismissed ------------------------------------------------------------------ */

const REASONS = {
  400: "The server could not read this request. Reload the page and try again.",
  403: "Your account may not do this, or you were signed out in another tab.",
  404: "This does not exist any more, or you have no access to it.",
  413: "This is larger than the server takes. Paste less at once, or upload it as a file.",
  500: "Something failed on the server. Try again; if it happens again, tell your administrator.",
  503: "The service is busy or being updated. Try again in a minute.",
  507: "There is no room left on the server’s disk, so nothing was stored. Tell your administrator.",
  offline: "You are offline. Try again when the connection is back.",
  unreachable: "The server cannot be reached. Try again in a moment.",
  timeout: "The server did not answer in time. Check whether it was done, then try again.",
  swap: "The answer could not be shown. Reload the page to see the current state.",
};

/** Beside the field, where a form has a place for it. */
function failed(reason, { elt }) {
  const words = `${reason} What you typed is kept.`;
  const place = elt.closest?.("form")?.querySelector("[data-failure]");
  if (place) place.textContent = words;
  else showToast(words, { kind: "error" });
}

document.addEventListener("htmx:beforeRequest", ({ detail: { elt } }) => elt.querySelector?.(":scope > [data-failure]")?.replaceChildren());

document.addEventListener("htmx:responseError", ({ detail, detail: { elt, xhr, xhr: { status } } }) => {
  if (status < 500 && isPolling(elt)) return stopPolling(elt, REASONS[status] ?? REASONS[404]);
  if (xhr.getResponseHeader("Content-Type") === "text/plain") return failed(xhr.responseText, detail);
  failed(REASONS[status] ?? (status < 500 ? `The server refused this (${status}).` : REASONS[500]), detail);
});

/** It would be refused again every time: said once, where the answer was expected. */
function stopPolling(element, reason) {
  const note = Object.assign(document.createElement("p"), { className: "message warning", role: "alert", textContent: reason });
  element.replaceWith(note);
}

document.addEventListener("htmx:sendError", ({ detail }) => failed(navigator.onLine ? REASONS.unreachable : REASONS.offline, detail));
document.addEventListener("htmx:timeout", ({ detail }) => failed(REASONS.timeout, detail));
document.addEventListener("htmx:swapError", ({ detail }) => failed(REASONS.swap, detail));

document.addEventListener("reload", () => location.reload());

/* Days begin where the person is: the server does not know where that is ------------------------------------------- */

document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (target.matches("[data-zone]")) detail.parameters.zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
});

/* Menus ------------------------------------------------------------------------------------------------------------ */

document.addEventListener("click", (event) => {
  const inside = closest(event, ".menu-items :is(a, button):not(.switcher *, .stays *)") ? null : closest(event, "details.menu");
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== inside) menu.open = false;
});

document.addEventListener("keydown", (event) => {
  const menu = closest(event, "details.menu");
  if (!menu) return;
  if (event.key === "Escape" && menu.open) {
    event.preventDefault();
    event.stopPropagation();
    menu.open = false;
    $("summary", menu).focus();
  }
  if (!["ArrowDown", "ArrowUp"].includes(event.key) || closest(event, "input, textarea, select")) return;
  event.preventDefault();
  menu.open = true;
  const items = [...menu.querySelectorAll(".menu-items :is(a, button, input):not(:disabled, [type=hidden])")];
  const at = items.indexOf(document.activeElement);
  const next = event.key === "ArrowDown" ? at + 1 : at < 0 ? -1 : at - 1;
  items.at(next % items.length)?.focus();
});

/* Theme ------------------------------------------------------------------------------------------------------------ */

const root = document.documentElement;
function markTheme() {
  const theme = root.dataset.theme ?? "system";
  document.querySelectorAll("[data-theme-choice]").forEach((b) => (b.ariaPressed = String(b.dataset.themeChoice === theme)));
}

document.addEventListener("click", (event) => {
  const theme = closest(event, "[data-theme-choice]")?.dataset.themeChoice;
  if (!theme) return;
  root.dataset.theme = theme; // "system" matches no rule of the style sheet
  try { localStorage.setItem("theme", theme); } catch { /* not kept, but applied to this page */ }
  markTheme();
});
markTheme();

/* Forms ------------------------------------------------------------------------------------------------------------ */

const submitButtons = (form) => [...form.elements].filter((element) => element.type === "submit");

document.addEventListener("submit", ({ target: form }) => {
  // Disabled after this turn, so that the pressed button's own value is still sent; not if it was refused at once.
  if (form.matches("[data-submit-once]")) form.disabling = setTimeout(() => submitButtons(form).forEach((b) => (b.disabled = true)));
});
const enable = (form) => (clearTimeout(form.disabling), submitButtons(form).forEach((b) => (b.disabled = false)));
document.addEventListener("htmx:afterRequest", (event) => event.target.matches?.("form[data-submit-once]") && enable(event.target));
window.addEventListener("pageshow", (event) => event.persisted && document.querySelectorAll("form[data-submit-once]").forEach(enable));

const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** What is made from a file has its name, unless somebody has typed another one. */
function nameAfter(file, field) {
  if (field.value.trim() && field.value !== field.dataset.given) return;
  field.value = file.name.replace(/(?<=.)\.[^.]*$/, "").slice(0, field.maxLength);
  field.dataset.given = field.value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("change", (event) => {
  const zone = closest(event, "[data-dropzone]");
  if (!zone || event.target.type !== "file") return;
  const files = [...event.target.files];
  zone.classList.toggle("filled", files.length > 0);
  $("output", zone)?.replaceChildren(files.map((file) => `${file.name} · ${size(file.size)}`).join(", "));
  if (zone.dataset.names && files.length) nameAfter(files[0], $(zone.dataset.names));
});

for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files") || !$("[data-dropzone]")) return;
    event.preventDefault(); // beside the zone, too: the browser would leave the form to open the file
    const zone = closest(event, "[data-dropzone]");
    if (!zone) return void (event.dataTransfer.dropEffect = "none");
    zone.classList.toggle("over", name === "dragover");
    const input = $("input[type=file]", zone);
    const dropped = [...event.dataTransfer.files];
    if (name !== "drop" || !input || !dropped.length) return;
    const files = new DataTransfer();
    const taken = input.multiple ? dropped : dropped.slice(0, 1);
    taken.forEach((file) => files.items.add(file));
    if (taken.length < dropped.length) showToast(`One file at a time: “${taken[0].name}” was taken.`, { kind: "warning" });
    input.files = files.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

document.addEventListener("click", (event) => {
  const fill = closest(event, "[data-fill-target]");
  const [area, source] = fill ? [$(fill.dataset.fillTarget), $(fill.dataset.fillFrom)] : [];
  if (!area || !source) return;
  area.focus();
  area.select();
  // The only way that leaves Ctrl+Z working: what stood there comes back with it.
  document.execCommand("insertText", false, (source.content ?? source).textContent.trim());
});

document.addEventListener("keydown", (event) => {
  const typing = closest(event, "input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing) return;
  const search = $($("dialog[open]") ? "dialog[open] .search input" : ".search input");
  if (!search?.checkVisibility()) return;
  event.preventDefault();
  search.focus();
  search.select();
});
