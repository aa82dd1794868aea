// Answers change the page in place: elements stay, and with them the focus, the selection and what is being typed.

const FIELDS = "#details textarea, #details input[name=add], .row-edit input[name=name]";
const NO_ANSWER = {};
let answer = NO_ANSWER; // the one that is being put in: its request and its target

/** Whether a field has something that was neither stored nor sent. */
const isTyped = (field) => field.value !== (field.form === answer.elt ? answer.parameters[field.name] : field.defaultValue);
export const typed = (place) => [...place.querySelectorAll(FIELDS)].filter(isTyped);

/** Another answer leaves a form alone in which somebody types or which is being saved: it would take what was seen for what is stored. */
function isKept(element) {
  if (element.matches(".row")) return element.querySelector("form") !== null;
  if (!element.matches("#details form") || element === answer.target) return element.matches("[hx-trigger^=load]");
  return element.matches(".htmx-request") || element.querySelector(".htmx-request") !== null || typed(element).length > 0;
}

Object.assign(window.Idiomorph.defaults.callbacks, {
  beforeNodeMorphed: (node) => !(node instanceof Element && isKept(node)),
  beforeAttributeUpdated: (name, element) => !(name === "value" && element.matches(FIELDS) && isTyped(element)),
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
document.addEventListener("htmx:afterSwap", () => (answer = NO_ANSWER));
