// Where to go on after something was written to others. `drafts.js` keeps and sends what is typed.

// The comment in which words were changed last; empty, if something else was sent since.
let changed = "";

/** Where to go on after words were changed: where they were. */
export const backTo = () => changed && document.querySelector(`#${changed} summary`);

const formOf = (element) => element.closest?.("[data-draft]");

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
