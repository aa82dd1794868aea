// The flags of the item: each is set or taken away at once, and may be said why.

import { forget } from "./pages.js";
import { post } from "./post.js";
import { say } from "./showing.js";
import { $, active, focusText, onPage, state } from "./workspace.js";

const make = (tag, props) => Object.assign(document.createElement(tag), props);
const menu = $("flag-menu");
const choices = menu ? [...menu.querySelectorAll("[data-kind]")] : [];
const partsOf = (choice) => [choice.querySelector("button"), choice.querySelector("input")];
let drawn = ""; // the flags whose badges are shown

export function openFlags(kind = active.flags[0]?.kind) {
  if (!menu || state.gold) return;
  menu.open = true;
  const [button, why] = partsOf(choices.find(({ dataset }) => dataset.kind === kind) ?? choices[0]);
  (why.hidden ? button : why).focus();
}

function show() {
  const why = new Map(active.flags.map((flag) => [flag.kind, flag.why]));
  for (const choice of choices) {
    const [button, field] = partsOf(choice);
    const isSet = why.has(choice.dataset.kind);
    button.ariaPressed = String(isSet);
    if (document.activeElement === field) continue; // what is being typed stays
    field.hidden = !isSet;
    if (isSet) field.value = why.get(choice.dataset.kind) || field.value; // one that was taken away comes back with its reason
  }
  const wanted = JSON.stringify(active.flags);
  if (wanted === drawn) return; // a badge that has the focus keeps it
  drawn = wanted;
  for (const old of $("flags").querySelectorAll(".flag")) old.remove();
  $("flags").append(...active.flags.map(badge));
}

function badge({ kind, name, why }) {
  const shown = make("button", { type: "button", className: "chip warn flag", textContent: `⚑ ${name}`, ariaLabel: `Flag: ${name}${why ? `. ${why}` : ""}` });
  if (why) shown.dataset.why = why;
  shown.addEventListener("click", () => setTimeout(openFlags, 0, kind)); // the click closes menus first
  return shown;
}

let sent = Promise.resolve(true);

/** One after the other, so that the last is what stays. True if the server has it. */
function send(kind, isSet, why) {
  const item = active;
  return (sent = sent.then(() => ask(item, { kind, is_set: isSet, why })));
}

async function ask(item, flag) {
  const failure = menu.querySelector("[data-failure]");
  const response = await post(`${item.here.url}flags/`, state.annotator, flag).catch(() => null);
  const answer = await response?.json().catch(() => null);
  const shown = onPage(item.here); // perhaps as another page has it
  if (response?.ok && shown) shown.flags = answer.flags;
  if (!shown) forget(item.here);
  failure.textContent = response?.ok ? "" : `Not saved: ${answer?.error ?? "the server cannot be reached."} What you typed is kept.`;
  show();
  return Boolean(response?.ok);
}

/** What is typed next says why, also while the flag is on its way. */
async function choose(choice) {
  const { kind } = choice.dataset;
  const [button, why] = partsOf(choice);
  const isSet = button.ariaPressed !== "true";
  button.ariaPressed = String(isSet);
  if (isSet) {
    why.hidden = false;
    why.focus();
  }
  if (await send(kind, isSet, why.value)) say(isSet ? "Flagged" : "The flag is taken away");
}

/** What is typed belongs to the item that is left. */
function leaveMenu() {
  if (menu?.contains(document.activeElement)) document.activeElement.blur();
}

function enterMenu() {
  for (const choice of choices) partsOf(choice)[1].value = "";
  show();
}

/** A letter chooses the flag that begins with it. */
function chooseByLetter(event) {
  if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  const choice = choices.find(({ dataset }) => dataset.kind[0] === event.key.toLowerCase());
  if (!choice) return;
  event.preventDefault();
  choose(choice);
}

export function listenToFlags() {
  for (const choice of choices) {
    const [button, why] = partsOf(choice);
    button.addEventListener("click", () => choose(choice));
    why.addEventListener("change", () => send(choice.dataset.kind, true, why.value));
    why.addEventListener("keydown", async (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      if (await send(choice.dataset.kind, true, why.value)) menu.open = false;
    });
  }
  document.addEventListener("leaving", leaveMenu);
  document.addEventListener("entered", enterMenu);
  document.addEventListener("renewed", show);
  menu?.addEventListener("keydown", chooseByLetter);
  menu?.addEventListener("toggle", () => !menu.open && (menu.contains(document.activeElement) || document.activeElement === document.body) && focusText());
  show();
}
