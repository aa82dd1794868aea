// Forms in which somebody writes to others, `data-draft`: what is typed is kept by this browser under that name until it is sent.

const name = (form) => `draft ${form.dataset.draft}`;
const fieldsOf = (form) => [...form.elements].filter(({ name, type }) => name && name !== "answer" && !["submit", "button"].includes(type));

function keep(form) {
  const { text } = form.elements;
  try {
    if (text.value.trim() && text.value !== text.defaultValue) {
      localStorage.setItem(name(form), JSON.stringify(Object.fromEntries(fieldsOf(form).map((field) => [field.name, field.value]))));
    } else localStorage.removeItem(name(form));
  } catch { /* storage may be off or full: it is kept as long as the page then */ }
}

function drop(form) {
  try { localStorage.removeItem(name(form)); } catch { /* nothing was kept */ }
}

function kept(form) {
  try { return JSON.parse(localStorage.getItem(name(form))); } catch { return null; }
}

/** Put what was typed earlier into the forms of an element, each of which is told by the event `draft`. */
function restore(root) {
  for (const form of [root, ...root.querySelectorAll("[data-draft]")].filter((element) => element.matches?.("[data-draft]"))) {
    const draft = kept(form);
    if (!draft) continue;
    for (const field of fieldsOf(form)) field.value = draft[field.name] ?? field.value;
    const details = form.closest("details");
    if (details) details.open = true;
    form.dispatchEvent(new CustomEvent("draft"));
  }
}

// The comment in which words were changed last; empty, if something else was sent since.
let changed = "";

/** Where to go on after words were changed: where they were. */
export const backTo = () => changed && document.querySelector(`#${changed} summary`);

const formOf = (element) => element.closest?.("[data-draft]");

document.addEventListener("input", ({ target }) => formOf(target) && keep(formOf(target)));

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || !formOf(event.target)) return;
  event.preventDefault();
  if (!event.repeat) formOf(event.target).requestSubmit();
});

// Before the answer takes the form's place.
document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig, xhr } }) => {
  const form = formOf(requestConfig.elt);
  changed = form?.closest("details")?.closest(".comment")?.id ?? "";
  if (form && xhr.status < 300) drop(form);
});
document.addEventListener("htmx:load", ({ detail: { elt } }) => elt !== document.body && restore(elt));

// What took the place of a comment has not taken its focus. The workspace gives that to the text.
if (!document.querySelector(".workspace")) {
  document.addEventListener("htmx:afterSettle", ({ detail: { elt } }) => {
    if (elt.matches?.(".comment") && document.activeElement === document.body) (backTo() || elt).focus({ preventScroll: true });
  });
}

/** Once those who wait for drafts listen. */
export function restoreDrafts() {
  restore(document.body);
}

if (!document.querySelector(".workspace")) restoreDrafts();
