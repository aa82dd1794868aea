// A new project in steps: one of them is shown, as the address says. Without scripts all are, one below the other. Whoever leaves a
// step is told what is wrong with it, and stays free to go on.

const form = document.querySelector("#new-project");
const steps = form ? [...form.querySelectorAll(".step")].map(({ id }) => id) : [];
const $ = (selector) => form.querySelector(selector);

let now = null;
const REVIEW = "step-review";

const check = (step) => window.htmx.trigger($(`#${step} [data-check]`), "check");

/** Its own element comes anew with every check. */
function markLink() {
  for (const link of form.querySelectorAll(".step-list a")) {
    if (link.hash === `#${now}`) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  }
}

function show(step) {
  const left = now;
  now = step;
  form.setAttribute("data-step", step); // not form.dataset: that is the field of this name
  markLink();
  if (left && left !== step) check(step === REVIEW ? step : left); // the review looks at all steps
  if (left) $(`#${step} h2`).focus();
}

const asked = () => steps.find((step) => `#${step}` === location.hash);

/** What goes with the dataset and the ontologies of a draft, which are in their fields at once. */
async function fit({ dataset = [], keep_violations: kept, ...others }) {
  if (!dataset[0]) return;
  const place = $("#project-ontologies");
  const names = [...place.querySelectorAll("select")].map(({ name }) => name);
  const chosen = new URLSearchParams(["task", ...names].map((name) => [name, others[name]?.[0] ?? ""]));
  chosen.set("dataset", dataset[0]);
  await window.htmx.ajax("GET", `${place.getAttribute("hx-get")}?${chosen}`, { target: "#project-ontologies", swap: "outerHTML" });
  const box = $("[name=keep_violations]");
  if (box) box.checked = Boolean(kept?.length);
}

if (form) {
  form.addEventListener("draft", async ({ detail }) => {
    await fit(detail);
    if (now === REVIEW) check(now);
  });
  const wrong = $(".step-list .bad a")?.hash.slice(1);
  show(wrong ?? asked() ?? steps[0]);
  if (wrong) $(`#${wrong} [aria-invalid=true]`)?.focus();
  document.addEventListener("DOMContentLoaded", () => now === REVIEW && check(now)); // htmx listens from then on
  addEventListener("hashchange", () => asked() && show(asked()));
  document.addEventListener("htmx:oobAfterSwap", markLink);
  // Enter in a field leads to the next step, and makes nothing.
  form.addEventListener("submit", (event) => {
    if (now === REVIEW) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    location.hash = steps[steps.indexOf(now) + 1];
  }, { capture: true });
}
