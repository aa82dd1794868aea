// The fields of the details pane: what is typed is kept, Escape leaves it, and the focus stays where it is expected.

import { byId, focus, item, select, state } from "./tree.js";

const TYPED = "#details textarea, #details input[name=add]";

// What is typed while an answer is on its way stays in its field, and is saved in its turn. "Keep theirs" gives it up.
let kept = [];

function keep(target, shown) {
  for (const field of target.querySelectorAll(TYPED)) {
    const { id, value, selectionStart, selectionEnd } = field;
    if (value !== shown(field)) kept.push({ id, value, range: field === document.activeElement && [selectionStart, selectionEnd] });
  }
}

document.addEventListener("htmx:beforeSwap", ({ detail: { target, requestConfig: { elt, parameters } } }) => {
  kept = [];
  if (!elt.closest("[role=alert]")) keep(target, (field) => (field.form === elt ? parameters[field.name] : field.defaultValue));
});
document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => keep(detail.target, (field) => field.defaultValue));
document.addEventListener("htmx:afterSwap", () => {
  for (const { id, value, range } of kept.splice(0)) {
    const field = byId(id);
    if (!field) continue;
    field.value = value;
    field.dataset.kept = "";
    if (range) field.focus(), field.setSelectionRange(...range);
    else setTimeout(() => save(field));
  }
});

/** A browser does not know that a value was changed which a script has put there. */
function save(field) {
  if (!("kept" in field.dataset)) return;
  delete field.dataset.kept;
  field.dispatchEvent(new Event("change", { bubbles: true }));
}
document.addEventListener("focusout", ({ target }) => save(target));
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
