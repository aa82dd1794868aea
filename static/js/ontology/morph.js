// Answers change the page in place by idiomorph: elements stay, and with them the focus, the selection and typed text.
// `ontologies/editor/answers.py` writes what is read here.

const FIELDS = "#details textarea, #details input[name=add], .row-edit input[name=name]";
const NO_ANSWER = {};
let answer = NO_ANSWER; // the answer that is being swapped in: the element that asked, its parameters, the target

/** The fields with unsaved text. */
export const typed = (place) => [...place.querySelectorAll(FIELDS)].filter((field) => field.value !== field.defaultValue);
/** Whether somebody typed in a field after its form was sent. Terms have left theirs by then: all that it has is newer. */
const isTypedSince = (field) => field.form === answer.elt && (field.form.matches(".terms") || field.value !== answer.parameters[field.name]);

/**
 * Keep a form that has unsaved text or a request in flight, unless the answer is its own: the form sends along the stored value that
 * its author has seen. Keep usage figures, too: they are fetched on their own; and what is said of doubled terms, which the server does not know.
 */
function isKept(element) {
  if (element.matches(".row")) return element.querySelector("form") !== null;
  if (!element.matches("#details form") || element === answer.target) return element.matches("[hx-trigger^=load], .doubled");
  return element.matches(".htmx-request") || element.querySelector(".htmx-request") !== null || typed(element).length > 0;
}

Object.assign(window.Idiomorph.defaults.callbacks, {
  beforeNodeMorphed: (node) => !(node instanceof Element && isKept(node)),
  // The reason stays with the refused term while the next one is stored.
  beforeNodeRemoved: (node) => !(node instanceof Element && node.matches("form.terms > .errors") && node.parentElement.elements.add.value),
  beforeAttributeUpdated: (name, element) => !(name === "value" && element.matches(FIELDS) && isTypedSince(element)),
});

export function morph(place, fresh, morphStyle = "outerHTML") {
  window.Idiomorph.morph(place, fresh, { morphStyle });
  window.htmx.process(place);
}

// An answer may update other elements than its target, found by their ids. Leave out those that are not on the page.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { elt, parameters } = detail.requestConfig;
  if (detail.shouldSwap) answer = { elt, parameters, target: detail.target };
  if (!detail.serverResponse.includes("data-updates")) return;
  const { body } = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  const updates = body.querySelector("[data-updates]");
  for (const update of updates.children) update.setAttribute("hx-swap-oob", "morph");
  updates.replaceWith(...[...updates.children].filter((update) => document.getElementById(update.id)));
  detail.serverResponse = body.innerHTML;
});

document.addEventListener("htmx:afterSwap", () => {
  const { elt, target } = answer;
  answer = NO_ANSWER;
  if (elt !== target || !elt?.matches("form") || elt.querySelector("[role=alert]")) return;
  // Save what was typed and left meanwhile: htmx drops the queued request because the answer changes the form.
  for (const field of typed(elt)) if (field !== document.activeElement) setTimeout(save, 0, field);
});

export const save = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));
