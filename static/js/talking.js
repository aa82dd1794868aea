// Forms in which somebody writes to others, and where to go on after they are sent. `drafts.js` keeps what is typed.

// The comment in which words were changed last; empty, if something else was sent since.
let changed = "";

/** Where to go on after words were changed: where they were. */
export const backTo = () => changed && document.querySelector(`#${changed} summary`);

const formOf = (element) => element.closest?.("[data-draft]");

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || !formOf(event.target)) return;
  event.preventDefault();
  if (!event.repeat) formOf(event.target).requestSubmit();
});

// Before the answer takes the form's place.
document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig } }) => {
  changed = formOf(requestConfig.elt)?.closest("details")?.closest(".comment")?.id ?? "";
});

// What took the place of a comment has not taken its focus. The workspace gives that to the text.
if (!document.querySelector(".workspace")) {
  document.addEventListener("htmx:afterSettle", ({ detail: { elt } }) => {
    if (elt.matches?.(".comment") && document.activeElement === document.body) (backTo() || elt).focus({ preventScroll: true });
  });
}
