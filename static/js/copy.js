// Buttons that copy: <button data-copy="text">. Where the browser forbids it, the text is selected, to be copied by hand.

import { announce } from "./toasts.js";

const SHOWN = 2000; // ms
const original = new WeakMap();

/** The way of old, for pages without a secure connection, and browsers that forbid the other. */
function copyByHand(text, beside) {
  const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true, className: "visually-hidden" });
  beside.after(field); // beside the button: an open dialog lets nothing outside have the focus
  field.select();
  const isCopied = document.execCommand("copy");
  if (isCopied) field.remove(), beside.focus();
  else field.addEventListener("blur", () => field.remove(), { once: true });
  return isCopied;
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const text = button.dataset.copy;
  const isCopied = await (navigator.clipboard?.writeText(text).then(() => true) ?? Promise.reject()).catch(() => copyByHand(text, button));
  if (!original.has(button)) original.set(button, button.textContent);
  button.textContent = isCopied ? "Copied" : "Press Ctrl C";
  announce(isCopied ? `Copied: ${text}` : "The browser does not let the page copy. The text is selected: press Ctrl C.");
  setTimeout(() => (button.textContent = original.get(button)), SHOWN);
});
