// A dialog in which a label is picked: keys go through the search field and the labels.

const $ = (selector) => document.querySelector(selector);
const choices = () => [...document.querySelectorAll("#choices .pick-list :is(button:not(:disabled), a)")];

document.addEventListener("keydown", (event) => event.target.closest?.(".picker") && walk(event));

// Up and down go through the search field and the labels; Enter in the field picks the first label, letters search anew.
function walk(event) {
  const search = $("#pick-search");
  const isLetter = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (isLetter && event.target !== search) search.focus(), search.select();
  if (event.key === "Enter" && event.repeat) event.preventDefault();
  else if (event.key === "Enter" && event.target === search) {
    event.preventDefault();
    if (search.required && !search.value.trim()) return;
    waitsFor = search.value;
    search.select();
    if (!pickFirst()) window.htmx.trigger(search, "now");
  }
  if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
  waitsFor = null;
  event.preventDefault();
  const stops = [search, ...choices()];
  const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  stops[(at + stops.length) % stops.length].focus();
}

// Not before the labels are those that the field asks for: people type faster than they are searched.
let waitsFor = null;

// A label that is picked already stays: only a click takes it out again.
function pickFirst() {
  if (waitsFor === null || $("#choices .pick-list")?.dataset.searched !== waitsFor) return false;
  waitsFor = null;
  const [first] = choices();
  if (first?.ariaPressed !== "true") first?.click();
  return true;
}

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target.id === "choices") pickFirst();
  else if (detail.target.id === "dialog") waitsFor = null;
});
