// Toasts: the newest is shown, the others are a list behind “3 more”. Those of errors stay until they are dismissed, others go
// after a while, unless they are pointed at or have the focus. Said once to screen readers, however they are shown.
// Modules may import showToast, or dispatch the event: new CustomEvent("toast", {detail: {text, kind, action}}).

import { make } from "./elements.js";
import { plural } from "./words.js";

const STAY = 7000; // ms
const box = document.querySelector("#toasts");
const said = box?.querySelector("[aria-live]");
const bar = box?.querySelector(".toasts-bar");
const all = () => [...box.querySelectorAll(":scope > .toast")];
const seen = new WeakSet();
let cameFrom = null;

/** kind: "success" | "info" | "warning" | "error"; action: {label, url} posts to url, or {label, run} calls run. */
export function showToast(text, { kind = "info", action } = {}) {
  if (!action && all().some((toast) => toast.firstElementChild.textContent === text)) return;
  const toast = make("div", `toast ${kind}`);
  const close = make("button", "button icon quiet", "×");
  close.dataset.toasts = "one";
  close.ariaLabel = "Dismiss";
  toast.append(make("span", "", text));
  if (action) toast.append(actionButton(toast, action));
  toast.append(close);
  placeToasts();
  announce(text, kind === "error" ? "assertive" : "polite");
  said.after(toast);
}

/** Said to screen readers, not shown. */
export function announce(text, manner = "polite") {
  said.ariaLive = manner;
  said.textContent = text;
}

function actionButton(toast, { label, url, run }) {
  const button = make("button", "button", label);
  button.addEventListener("click", () => {
    toast.remove();
    run ? run() : window.htmx.ajax("POST", url, { swap: "none" });
  });
  return button;
}

/** What lies outside an open modal dialog cannot be clicked or read out, so the toasts move into it. */
export function placeToasts(host = document.querySelector("dialog:modal") ?? document.body) {
  if (box && box.parentElement !== host) host.append(box);
}

/* One at a time, or the list --------------------------------------------------------------------------------------- */

function arrange() {
  const toasts = all();
  if (toasts.length < 2) box.classList.remove("open");
  const isOpen = box.classList.contains("open");
  bar.hidden = toasts.length < 2;
  bar.classList.toggle("error", !isOpen && toasts.slice(1).some((toast) => toast.matches(".error")));
  const [more, dismiss] = bar.children;
  more.textContent = isOpen ? "Show one" : plural(toasts.length - 1, "more", "more");
  more.ariaExpanded = String(isOpen);
  dismiss.hidden = !isOpen;
  for (const toast of isOpen ? toasts : toasts.slice(0, 1)) beginToLeave(toast);
}

/** Its time runs from when it is first shown. */
function beginToLeave(toast) {
  if (seen.has(toast) || toast.matches(".error")) return;
  seen.add(toast);
  const leave = () => (box.matches(":hover, :focus-within") ? setTimeout(leave, 1000) : toast.remove());
  setTimeout(leave, STAY);
}

function goBack() {
  cameFrom?.isConnected ? cameFrom.focus() : document.querySelector("#main")?.focus();
  cameFrom = null;
}

/** The focus goes from a toast that is dismissed to the next one, and from the last to where it came from. */
function dismiss(toast) {
  const hadFocus = toast.contains(document.activeElement);
  const next = [toast.nextElementSibling, toast.previousElementSibling].find((each) => each?.matches(".toast"));
  toast.remove();
  arrange();
  if (hadFocus) next ? next.lastElementChild.focus() : goBack();
}

if (box) {
  new MutationObserver(arrange).observe(box, { childList: true }); // other modules remove some, too
  document.addEventListener("toast", ({ detail }) => showToast(detail.text ?? detail.value, detail));

  box.addEventListener("click", ({ target }) => {
    const { toasts } = target.dataset;
    if (toasts === "all") all().forEach((toast) => toast.remove()), goBack();
    else if (toasts === "more") box.classList.toggle("open"), arrange();
    else if (toasts === "one") dismiss(target.closest(".toast"));
  });
  box.addEventListener("focusin", ({ relatedTarget }) => {
    if (relatedTarget && !box.contains(relatedTarget)) cameFrom = relatedTarget;
  });
  addEventListener("keydown", (event) => {
    if (event.key === "F8" && all().length) {
      all()[0].querySelector("button").focus();
    } else if (event.key === "Escape" && box.contains(event.target)) {
      const toast = event.target.closest(".toast");
      toast ? dismiss(toast) : goBack();
    } else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
}
