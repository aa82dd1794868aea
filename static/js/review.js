// An item in review: its keys, and the letters of its rows at the beginning of each line. What is decided is sent by htmx, and
// comes back as the whole of `#review`.

import { announce, showToast } from "./toasts.js";

const $ = (selector) => document.querySelector(selector);
const review = () => $("#review");
let coming = 0; // requests that are on their way
let changed = 0; // when the last answer came
let last = ""; // the key that was taken last
const DOUBLE = 400; // ms: two presses so near each other are one that trembled

/* Letters: rows are told apart by them, wherever a line begins ------------------------------------------------------- */

function showLetters() {
  let bottom = -Infinity;
  for (const column of document.querySelectorAll("#columns .column")) {
    const { offsetTop, offsetHeight } = column;
    column.classList.toggle("starts", offsetTop >= bottom - 1);
    bottom = Math.max(bottom, offsetTop + offsetHeight);
  }
}

const resized = new ResizeObserver(showLetters);

function begin() {
  resized.disconnect();
  if ($("#columns")) resized.observe($("#columns"));
  $("#columns .now")?.scrollIntoView({ block: "nearest" });
}

/* Requests ------------------------------------------------------------------------------------------------------------ */

// What is pressed while an answer is on its way was meant for what stands there now: it is not done to what comes next.
document.addEventListener("htmx:beforeSend", () => (coming += 1));
document.addEventListener("htmx:afterRequest", () => (coming -= 1));
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target.id === "review" || detail.elt?.id === "review") {
    begin();
    changed = performance.now();
    announce($(".work-pane h2")?.parentElement.querySelector("p")?.textContent.trim().replace(/\s+/g, " ") ?? "");
    if (document.activeElement === document.body) review().focus({ preventScroll: true });
  }
});

/* Keys ---------------------------------------------------------------------------------------------------------------- */

function press(name) {
  const button = $(`[data-key="${name}"]`);
  if (!button || button.matches(":disabled, [aria-disabled=true]") || button.closest("fieldset:disabled")) return false;
  const isDouble = name === last && performance.now() - changed < DOUBLE;
  if (coming || isDouble) showToast("This key was not taken: look at what comes first.");
  else [last] = [name, button.click()];
  return true;
}

/** To the next or previous of the disputes or, while one that is settled is looked at, of all. */
function step(by) {
  const links = [...document.querySelectorAll(".groups [data-at]")];
  const now = links.findIndex((link) => link.ariaCurrent === "true");
  const to = links[now < 0 ? 0 : now + by];
  if (to && !coming) {
    to.closest("details")?.setAttribute("open", "");
    to.click();
  }
}

const keys = {
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  PageDown: () => press("next"),
  PageUp: () => press("previous"),
  n: () => press("next-disputed"),
  r: () => $(".reason input")?.focus(),
  "?": () => $("#keys").showModal(),
};
const withControl = { Enter: "finish", z: "undo", y: "redo" };

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.repeat || $("dialog[open]")) return;
  const { key, target } = event;
  const control = event.ctrlKey || event.metaKey;
  if (target.matches?.("input, textarea, select")) {
    const leaves = key === "Escape" || (key === "Enter" && !control);
    if (leaves) review().focus({ preventScroll: true });
    if (leaves || (control && key === "Enter")) event.preventDefault();
    if (!(control && key === "Enter")) return;
  }
  if (control) {
    const name = event.shiftKey && key.toLowerCase() === "z" ? "redo" : withControl[key.length > 1 ? key : key.toLowerCase()];
    if (name && press(name)) event.preventDefault();
  } else if (event.altKey) {
    if (key === "Enter" && press("reopen")) event.preventDefault();
  } else if (keys[key]) {
    event.preventDefault();
    keys[key]();
  } else if (/^[0-9be]$/.test(key) && press(key)) event.preventDefault();
});

// The second click of a double one would meet what has just come.
document.addEventListener("click", (event) => event.detail > 1 && event.target.closest(".deciding") && event.preventDefault(), true);

document.addEventListener("click", ({ target }) => {
  const opener = target.closest("[data-open]");
  if (opener) document.getElementById(opener.dataset.open).showModal();
  const strip = target.closest("#columns [data-group]");
  const link = strip && $(`.groups [data-at="${strip.dataset.group}"]`);
  if (link) link.click();
});

begin();
review().focus({ preventScroll: true });
