// Answers change the page in place: elements stay, and with them the focus, the selection and what is being typed.

const FIELDS = "#details textarea, #details input[name=add], .row-edit input[name=name]";
const NO_ANSWER = {};
let answer = NO_ANSWER; // the one that is being put in: its request and its target

/** The fields with something that is not stored. */
export const typed = (place) => [...place.querySelectorAll(FIELDS)].filter((field) => field.value !== field.defaultValue);
/** Whether something was typed in a field after its form was sent. */
const isTypedSince = (field) => field.form === answer.elt && field.value !== answer.parameters[field.name];

/** Another answer leaves a form alone in which somebody types or which is being saved: it would take what was seen for what is stored. */
function isKept(element) {
  if (element.matches(".row")) return element.querySelector("form") !== null;
  if (!element.matches("#details form") || element === answer.target) return element.matches("[hx-trigger^=load]");
  return element.matches(".htmx-request") || element.querySelector(".htmx-request") !== null || typed(element).length > 0;
}

Object.assign(window.Idiomorph.defaults.callbacks, {
  beforeNodeMorphed: (node) => !(node instanceof Element && isKept(node)),
  beforeAttributeUpdated: (name, element) => !(name === "value" && element.matches(FIELDS) && isTypedSince(element)),
});

export function morph(place, fresh, morphStyle = "outerHTML") {
  window.Idiomorph.morph(place, fresh, { morphStyle });
  window.htmx.process(place);
}

// Beside its own place an answer may update others, which are found by their ids. Those that are not on the screen are left out.
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
  // What was typed and left meanwhile is saved now: htmx forgets what waits for the answer when it finds the form changed.
  for (const field of typed(elt)) if (field !== document.activeElement) setTimeout(save, 0, field);
});

export const save = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));
