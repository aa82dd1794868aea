// The fields of the details pane: what is typed is kept, Escape leaves it, and the focus stays where it is expected.

import { byId, focus, item, select, state } from "./tree.js";

const TYPED = "#details textarea, #details input[name=add]";

// Who types on while a field is being saved keeps what they have typed; it is saved in its turn.
let kept = null;
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const field = document.activeElement;
  kept = null;
  if (!field.matches(TYPED) || !detail.target.contains(field)) return;
  const { value, selectionStart, selectionEnd } = field;
  if (value !== detail.requestConfig.parameters[field.name]) kept = { id: field.id, value, selectionStart, selectionEnd };
});
document.addEventListener("htmx:afterSwap", () => {
  const field = kept && byId(kept.id);
  if (!field) return;
  field.value = kept.value;
  field.focus();
  field.setSelectionRange(kept.selectionStart, kept.selectionEnd);
  field.dataset.kept = "";
  kept = null;
});
document.addEventListener("focusout", ({ target }) => {
  if (!("kept" in target.dataset)) return;
  delete target.dataset.kept;
  target.dispatchEvent(new Event("change", { bubbles: true }));
});

/* Keys ------------------------------------------------------------------------------------------------------------- */

// Escape takes back what was typed, Ctrl and Enter save it; both lead back to the item.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  const save = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (!field.matches?.(TYPED) || (event.key !== "Escape" && !save)) return;
  event.preventDefault();
  const li = item(state.selected);
  const refused = field.ariaInvalid || field.form.querySelector("[role=alert]");
  if (!save) {
    field.value = field.defaultValue;
    delete field.dataset.kept;
  }
  li ? focus(li) : field.blur();
  if (!save && li && refused) select(li);
});

// A control that was pressed comes back without the focus.
const pressed = new Set();
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (detail.elt.matches("#details form") && detail.elt.contains(document.activeElement)) pressed.add(detail.elt.id);
});
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (pressed.delete(detail.elt.id) && document.activeElement === document.body) {
    byId(detail.elt.id)?.querySelector("input[name=add]")?.focus();
  }
});

// Example terms pasted as lines become a list.
document.addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text");
  if (!event.target.matches?.("input[data-lines]") || !text.includes("\n")) return;
  event.preventDefault();
  event.target.setRangeText(text.trim().split(/\s*[\r\n]+\s*/).join(", "), event.target.selectionStart, event.target.selectionEnd, "end");
});
