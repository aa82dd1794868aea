// Pairs of nodes that may be the same: decided by keys, one after the other.

const rows = () => [...document.querySelectorAll("#pairs .pair")];
const rowOf = (pair) => document.querySelector(`#pairs .pair[data-pair="${CSS.escape(pair)}"]`);
const now = () => document.activeElement.closest("#pairs .pair") ?? rows()[0];
const decided = []; // pairs with their keys, each sent when the table has come that the one before has changed
let isSent = false; // the first of them
let focused = ["", 0]; // the pair that had the focus, and its place, while another table comes

function step(by) {
  const all = rows();
  all[Math.min(all.length - 1, Math.max(0, all.indexOf(now()) + by))]?.focus();
}

function decide(key) {
  if (!now()) return;
  decided.push([now().dataset.pair, key]);
  step(1); // a second press is for the next pair
  send();
}

function send() {
  while (decided.length && !isSent) {
    const [pair, key] = decided[0];
    const button = rowOf(pair)?.querySelector(`[data-decide="${key}"]`);
    if (!button) decided.shift(); // no longer suggested
    else (isSent = true), button.click();
  }
}

const KEYS = {
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  y: () => decide("y"),
  n: () => decide("n"),
  u: () => document.querySelector("[data-key=u]:enabled")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (Object.hasOwn(KEYS, event.key)) event.preventDefault(), KEYS[event.key]();
});
document.addEventListener("htmx:afterRequest", ({ detail: { successful, elt } }) => {
  if (!successful) (decided.length = 0), elt.closest(".pair")?.focus();
  else if (elt.matches("[data-decide]")) decided.shift();
  isSent &&= !elt.matches("[data-decide]");
});
document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (target.id === "pairs") focused = [now()?.dataset.pair ?? "", rows().indexOf(now())];
});
document.addEventListener("htmx:afterSettle", ({ detail: { target, elt } }) => {
  if (target.id !== "pairs" && elt?.id !== "pairs") return;
  (rowOf(focused[0]) ?? rows()[Math.min(focused[1], rows().length - 1)])?.focus();
  send();
});
