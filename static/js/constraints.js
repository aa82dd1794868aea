// The page of a constraint set: keys for undo and redo, and for the dialog in which labels are picked.

const $ = (selector) => document.querySelector(selector);
const choices = () => [...document.querySelectorAll("#choices button:not(:disabled)")];

document.addEventListener("keydown", (event) => {
  const isField = event.target.matches?.("input, textarea, select");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !isField && !$("#dialog[open]")) {
    event.preventDefault();
    $(`[data-step=${event.shiftKey ? "redo" : "undo"}]:not(:disabled)`)?.click();
  }
  if (event.target.closest?.(".picker")) walk(event);
});

// Up and down go through the search field and the labels; Enter in the field picks the first label.
function walk(event) {
  const search = $("#pick-search");
  if (event.key === "Enter" && event.target === search) {
    event.preventDefault();
    choices()[0]?.click();
  }
  if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
  event.preventDefault();
  const stops = [search, ...choices()];
  const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  stops[(at + stops.length) % stops.length].focus();
}
