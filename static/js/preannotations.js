// The page of a preannotation set: values are edited where they stand in the table.

import "./editing.js";
import "./items.js";

const $ = (selector) => document.querySelector(selector);
const formOf = (event) => (event.target instanceof Element ? event.target.closest(".cell-form") : null);
const left = new WeakSet(); // forms whose end has begun: they lose the focus once more when they go

function giveUp(form) {
  left.add(form);
  form.querySelector("[data-give-up]").click();
}

document.addEventListener("submit", (event) => formOf(event) && left.add(formOf(event)));

document.addEventListener("keydown", (event) => {
  const form = formOf(event);
  if (form && event.key === "Escape") event.preventDefault(), giveUp(form);
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.key === "n" && isPlain && !event.target.matches?.("input, textarea, select") && !$("dialog[open]")) {
    event.preventDefault();
    $("#add-row")?.click();
  }
});

// Whoever leaves a value has it saved, as in a spreadsheet.
document.addEventListener("focusout", (event) => {
  const form = formOf(event);
  if (!form || form.contains(event.relatedTarget) || left.has(form) || !document.hasFocus()) return;
  const { value, defaultValue } = form.elements.value;
  if (value !== defaultValue) form.requestSubmit();
  else if (!form.querySelector(".errors")) giveUp(form);
});
