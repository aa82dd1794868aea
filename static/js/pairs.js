// Pairs of nodes that may be the same: decided by keys, one after the other.

const rows = () => [...document.querySelectorAll("#pairs .pair")];
const now = () => document.activeElement.closest("#pairs .pair") ?? rows()[0];
let place = 0; // of the row that is decided

function step(by) {
  const all = rows();
  all[Math.min(all.length - 1, Math.max(0, all.indexOf(now()) + by))]?.focus();
}

function decide(key) {
  place = rows().indexOf(now());
  const button = now()?.querySelector(`[data-decide="${key}"]`);
  if (!button || button.disabled) return;
  for (const each of now().querySelectorAll("[data-decide]")) each.disabled = true; // a second press is for the next pair
  button.disabled = false;
  button.click();
  button.disabled = true;
}

const KEYS = {
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  y: () => decide("y"),
  n: () => decide("n"),
  u: () => document.querySelector("[data-key=u]")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (Object.hasOwn(KEYS, event.key)) event.preventDefault(), KEYS[event.key]();
});
document.addEventListener("htmx:afterRequest", ({ detail: { successful, elt } }) => {
  if (!successful) for (const each of elt.closest(".pair")?.querySelectorAll("[data-decide]") ?? []) each.disabled = false;
});
document.addEventListener("htmx:afterSettle", ({ detail: { target, elt } }) => {
  if (target.id === "pairs" || elt?.id === "pairs") rows()[Math.min(place, rows().length - 1)]?.focus();
});
