// The fields of the details pane: their keys, and the focus after a term is removed.

import { focus, item, select, state } from "./tree.js";

const TYPED = "#details textarea, #details input[name=add]";

// Escape discards what was typed, Ctrl+Enter saves it; both return to the item.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  const save = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (!field.matches?.(TYPED) || (event.key !== "Escape" && !save)) return;
  event.preventDefault();
  const li = item(state.selected);
  const refused = field.ariaInvalid || field.form.querySelector("[role=alert]");
  if (!save) field.value = field.defaultValue;
  li ? focus(li) : field.blur();
  if (!save && li && refused) select(li);
});

// Removing a term removes the pressed button.
document.addEventListener("submit", ({ submitter }) => {
  if (submitter?.matches("#details button[name=drop]")) submitter.form.elements.add.focus();
});

// Example terms pasted as lines become a list.
document.addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text");
  if (!event.target.matches?.("input[data-lines]") || !text.includes("\n")) return;
  event.preventDefault();
  event.target.setRangeText(text.trim().split(/\s*[\r\n]+\s*/).join(", "), event.target.selectionStart, event.target.selectionEnd, "end");
});
