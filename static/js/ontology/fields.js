// The fields of the details pane: their keys, what is kept of them until it is saved, and the example terms.

import { deliver, drop, formOf, keep, passes, takeOver, waiting } from "./sending.js";
import { save } from "./morph.js";
import { restoreName } from "./naming.js";
import { base, focus, item, say, select, state, tell } from "./tree.js";

const TYPED = "#details textarea, #details input[name=add]";
const FORMS = "#details form:is(.terms, .description)";
const uidIn = (form) => form.closest("[data-uid]").dataset.uid;

// Escape discards what was typed, Ctrl+Enter saves it; both return to the item.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  const save = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (!field.matches?.(TYPED) || (event.key !== "Escape" && !save)) return;
  event.preventDefault();
  const li = item(state.selected);
  const refused = field.ariaInvalid || field.form.querySelector("[role=alert]");
  if (!save) {
    field.value = field.defaultValue;
    forget(field.form);
  }
  li ? focus(li) : field.blur();
  if (!save && li && refused) select(li);
});

/* What was typed --------------------------------------------------------------------------------------------------- */

/** Keep what a form has that is not saved. */
function typedIn(form) {
  const uid = uidIn(form);
  const key = form.getAttribute("hx-post");
  const known = { key, uid, name: form.closest("[data-uid]").querySelector("h2").textContent.trim() };
  const { description, was, add } = form.elements;
  if (description) return keep({ ...known, text: description.value, url: key, values: { description: description.value, was: was.value } });
  const [dropped] = listOf(uid).filter(({ isDrop }) => isDrop);
  const terms = [...listOf(uid).filter((each) => !each.isDrop).map(({ term }) => term), ...split(add.value)];
  const values = { add: terms.join("\n"), ...(dropped ? { drop: dropped.term, was: was.value } : { uids: uid }) };
  const text = [...terms, dropped && `${dropped.term} (to be removed)`].filter(Boolean).join(", ");
  return keep({ ...known, text, url: dropped ? key : `${base}example-terms/`, values });
}

function forget(form) {
  if (form.matches(".terms") && listOf(uidIn(form)).length) typedIn(form);
  else drop(form.getAttribute("hx-post"));
}

document.addEventListener("input", ({ target }) => {
  if (!target.matches(TYPED) || !target.form?.matches(FORMS)) return;
  target.value === target.defaultValue ? forget(target.form) : typedIn(target.form);
});

// The browser tells of no change where a script has put the text back.
document.addEventListener("focusout", ({ target }) => {
  const form = target.matches?.(TYPED) && target.form?.matches(FORMS) && target.form;
  const isRefused = form && form.querySelector("[role=alert]"); // that waits for a decision
  if (form && !isRefused && target.value !== target.defaultValue && !waiting().some((entry) => entry.isOnItsWay && formOf(entry) === form)) save(target);
});

document.addEventListener("htmx:confirm", (event) => {
  const form = event.target;
  if (!form.matches(FORMS) || passes(form)) return;
  event.preventDefault();
  if (form.matches(".description")) deliver(typedIn(form));
  else if (event.detail.triggeringEvent?.submitter?.name === "drop") removeTerm(form, event.detail.triggeringEvent.submitter.value);
  else takeTerms(form);
});

// “Keep theirs” gives up what was typed.
document.addEventListener("click", ({ target }) => {
  const form = target.closest("[role=alert] button[hx-get]")?.form;
  if (form?.matches(FORMS)) drop(form.getAttribute("hx-post"));
}, true);

/** What is kept of the item in the pane goes into its fields. */
function fill() {
  for (const entry of waiting()) {
    const form = formOf(entry);
    const field = form?.matches(FORMS) && (form.elements.description ?? form.elements.add);
    if (!field || field.value !== field.defaultValue || listOf(entry.uid).length || form.querySelector("[role=alert]")) continue;
    if (form.matches(".description")) field.value = entry.text;
    else if (entry.isSent) queue(form, split(entry.values.add), entry.values.drop);
    else field.value = split(entry.values.add).join(", ");
    if (entry.isSent && !entry.isOnItsWay) form.matches(".terms") ? sendTerms(entry.uid) : deliver(entry);
  }
  for (const form of document.querySelectorAll("#details form.terms")) showTerms(form);
}

for (const name of ["htmx:afterSettle", "tree:refreshed", "tree:fill"]) document.addEventListener(name, fill);

const restore = (entry) => (entry.parent === undefined && !entry.key.endsWith("/rename/") ? restoreField(entry) : restoreName(entry));

function restoreField(entry) {
  if (!entry.url) tell("fill"); // typed before the details came
  else if (formOf(entry)) fill();
  else deliver(entry);
}

takeOver(restore);
addEventListener("focus", () => takeOver(restore));

/* Example terms: each leaves the field as a chip, and is sent when those before are saved --------------------------- */

const lists = new Map(); // by uid of the item: {term, isDrop, isSent}
const split = (text) => text.split(/[,\n]/).map((term) => term.trim().normalize("NFC")).filter(Boolean);

function listOf(uid) {
  if (!lists.has(uid)) lists.set(uid, []);
  return lists.get(uid);
}

function takeTerms(form) {
  const { add: field } = form.elements;
  const there = [...form.querySelectorAll(".chips-input > span:not(.leaving)")].map((chip) => chip.firstChild.textContent);
  const terms = split(field.value);
  const doubled = terms.filter((term, at) => there.includes(term) || terms.indexOf(term) < at);
  const fresh = terms.filter((term, at) => !there.includes(term) && terms.indexOf(term) === at);
  field.value = "";
  form.querySelector(".doubled").textContent = doubled.length ? `“${doubled[0]}” is there already.` : "";
  if (doubled.length && document.activeElement === field) {
    field.value = doubled.join(", ");
    field.select();
  }
  form.querySelector("[role=alert]")?.remove();
  field.ariaInvalid = null;
  queue(form, fresh);
  sendTerms(uidIn(form));
}

function queue(form, terms, dropped) {
  listOf(uidIn(form)).push(...terms.map((term) => ({ term })));
  if (dropped) listOf(uidIn(form)).push({ term: dropped, isDrop: true });
  typedIn(form);
  showTerms(form);
}

function removeTerm(form, term) {
  const list = listOf(uidIn(form));
  const at = list.findIndex((each) => each.term === term && !each.isSent && !each.isDrop);
  at < 0 ? list.push({ term, isDrop: true }) : list.splice(at, 1);
  typedIn(form);
  showTerms(form);
  sendTerms(uidIn(form));
  form.elements.add.focus();
}

async function sendTerms(uid) {
  const list = listOf(uid);
  if (list.isBusy) return;
  list.isBusy = true;
  const key = `${base}${uid}/example-terms/`;
  let isAlone = false; // one by one, since one of them was refused
  while (list.length) {
    const { isDrop } = list[0];
    const end = list.findIndex((each) => each.isDrop !== isDrop);
    const batch = list.slice(0, isDrop || isAlone ? 1 : end < 0 ? list.length : end);
    for (const each of batch) each.isSent = true;
    const form = formOf({ key });
    const entry = waiting().find((each) => each.key === key) ?? (form && typedIn(form));
    if (!entry) break;
    const isStored = await deliver(entry);
    const shown = formOf(entry);
    if (!shown && !waiting().includes(entry)) {
      leaveTerms(list, entry);
      break;
    }
    const isChanged = !isStored && shown?.querySelector(".changed-meanwhile");
    if (isChanged) continue; // somebody else changed the terms: these go to theirs
    if (!isStored && batch.length > 1) {
      isAlone = true;
      continue;
    }
    list.splice(0, batch.length);
    if (!isStored && shown && !isDrop) giveBack(shown, batch[0].term);
    if (shown) showTerms(shown), list.length || shown.elements.add.value ? typedIn(shown) : drop(key);
  }
  list.isBusy = false;
}

/** Without its form all was sent at once; but the server removes one term at a time. */
function leaveTerms(list, { name, values }) {
  for (const { term, isDrop } of list.splice(0)) {
    if (isDrop && term !== values.drop) say(`Not saved: “${term}” is still a term of “${name}”. Open it to remove it.`);
  }
}

/** A refused term, in front of whatever is being typed. */
function giveBack(form, term) {
  const { add: field } = form.elements;
  const isEmpty = !field.value;
  field.value = [term, field.value].filter(Boolean).join(", ");
  if (isEmpty && document.activeElement === field) field.select();
  typedIn(form);
}

document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (!target.matches?.("form.terms")) return;
  const sent = listOf(uidIn(target)).filter((each) => each.isSent);
  detail.parameters.add = sent.filter((each) => !each.isDrop).map(({ term }) => term).join("\n");
  if (sent[0]?.isDrop) detail.parameters.drop = sent[0].term;
});

function showTerms(form) {
  const list = listOf(uidIn(form));
  const chips = form.querySelector(".chips-input");
  for (const chip of chips.querySelectorAll(".saving")) chip.remove();
  for (const chip of chips.children) chip.classList.toggle("leaving", list.some(({ term, isDrop }) => isDrop && chip.firstChild?.textContent === term));
  form.elements.add.before(...list.filter((each) => !each.isDrop).map(({ term }) => {
    const chip = form.querySelector("template").content.firstElementChild.cloneNode(true);
    chip.firstChild.textContent = term;
    Object.assign(chip.lastElementChild, { value: term, ariaLabel: `Remove “${term}”, which is being saved` });
    return chip;
  }));
}

// Backspace in the empty field takes the last term back; arrows go through the terms, Delete and Backspace remove one.
document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("#details form.terms");
  if (!form || event.ctrlKey || event.metaKey || event.altKey) return;
  const { add: field } = form.elements;
  const stops = [...form.querySelectorAll(".chips-input > span > button"), field];
  const at = stops.indexOf(event.target);
  const isFirst = event.target !== field || (!field.selectionStart && !field.selectionEnd);
  const next = { ArrowLeft: isFirst && stops[at - 1], ArrowRight: event.target !== field && stops[at + 1] }[event.key];
  if (next) next.focus();
  else if (event.target !== field && ["Delete", "Backspace"].includes(event.key)) event.target.click();
  else if (event.target === field && event.key === "Backspace" && !field.value && stops.length > 1 && !event.repeat) {
    const term = stops.at(-2).value;
    removeTerm(form, term);
    field.value = term;
    typedIn(form);
  } else return;
  event.preventDefault();
});

// Example terms pasted as lines become several.
document.addEventListener("paste", (event) => {
  const field = event.target;
  const text = event.clipboardData.getData("text");
  if (!field.matches?.("input[data-lines]") || !text.includes("\n")) return;
  event.preventDefault();
  field.setRangeText(text.trim().split(/\s*[\r\n]+\s*/).join(", "), field.selectionStart, field.selectionEnd, "end");
  if (field.form.matches(".terms")) takeTerms(field.form);
});
