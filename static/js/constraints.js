// The page of a constraint set: links to its rules, and how often they are broken.

import { closeDialog } from "./address.js";
import "./editing.js";
import { plural } from "./words.js";

const $ = (selector) => document.querySelector(selector);

/* Links to a rule: on this page they lead to it without a reload, and either way it has the focus. */

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-to-rule]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !document.getElementById(link.hash.slice(1))) return;
  event.preventDefault();
  closeDialog().then(() => {
    location.hash = link.hash;
    focusRule();
  });
});

function focusRule() {
  const rule = location.hash.startsWith("#rule-") && document.getElementById(location.hash.slice(1));
  if (!rule) return;
  rule.focus();
  rule.scrollIntoView({ block: "center" });
}

focusRule();

/* How often the marks of the project break each rule. Counting may take seconds, so it is not waited for. */

const panel = $("[data-breaks]");
let broken = [];
let asked = 0;

function showBroken() {
  for (const link of panel.querySelectorAll("[data-rule]")) {
    const found = broken.find((each) => each.rule === Number(link.dataset.rule));
    link.hidden = !found;
    if (found) Object.assign(link, { href: found.url, textContent: `broken ${plural(found.count, "time", "times")}` });
  }
}

async function countBroken() {
  const turn = ++asked;
  const answer = await fetch(panel.dataset.breaks).catch(() => null); // the page works without these figures
  const found = answer?.ok ? (await answer.json()).rules : [];
  if (turn !== asked) return; // a newer count is under way
  broken = found;
  showBroken();
}

if (panel) {
  let wait;
  const countSoon = () => {
    broken = []; // the numbers may name other rules now
    clearTimeout(wait);
    wait = setTimeout(countBroken, 500);
  };
  for (const name of ["constraintsChanged", "cellsChanged"]) document.addEventListener(name, countSoon);
  document.addEventListener("htmx:afterSwap", ({ detail }) => (panel.contains(detail.target) || detail.target === panel) && showBroken());
  countBroken();
}
