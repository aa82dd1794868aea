// Fields for user names, `data-complete` with the address that finds them: the name that is being typed is completed from a list.

import { waitFor } from "./waiting.js";

const PAUSE = 120; // ms without a key before the server is asked
const LAST = /[^\s,;]*$/; // the name that is being typed

let field = null; // the one whose list is open
let list = null;
let at = 0;
let timer = null;
let asked = null;

const options = () => [...(list?.children ?? [])];

function ask(typing) {
  clearTimeout(timer);
  asked?.abort();
  const begun = typing.value.slice(0, typing.selectionEnd).match(LAST)[0];
  if (!begun) return close();
  timer = setTimeout(async () => {
    const request = (asked = new AbortController());
    const url = new URL(typing.dataset.complete, location.href);
    url.searchParams.set("q", begun);
    const headers = { Accept: "application/json" };
    const answer = await waitFor(fetch(url, { headers, signal: request.signal })).catch(() => null);
    const names = answer?.ok ? (await answer.json().catch(() => ({ names: [] }))).names : [];
    if (asked === request && document.activeElement === typing) show(typing, names);
  }, PAUSE);
}

function show(typing, names) {
  close();
  if (!names.length) return;
  field = typing;
  list = Object.assign(document.createElement("div"), { id: `${field.id}-names`, className: "completions", ariaLabel: "User names" });
  list.setAttribute("role", "listbox");
  list.append(...names.map((name, place) => {
    const option = Object.assign(document.createElement("div"), { id: `${list.id}-${place}`, className: "hit", textContent: name });
    option.setAttribute("role", "option");
    return option;
  }));
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the focus stays in the field
    const place = options().indexOf(event.target.closest("[role=option]"));
    if (place >= 0) choose(place);
  });
  field.after(list);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-expanded", "true");
  point(0);
}

function close() {
  list?.remove();
  field?.setAttribute("aria-expanded", "false");
  field?.removeAttribute("aria-activedescendant");
  field = list = null;
}

function point(next) {
  at = (next + options().length) % options().length;
  options().forEach((option, place) => option.setAttribute("aria-selected", String(place === at)));
  field.setAttribute("aria-activedescendant", options()[at].id);
}

/** In the place of what was typed of it. */
function choose(place) {
  const end = field.selectionEnd;
  const begin = end - field.value.slice(0, end).match(LAST)[0].length;
  field.setRangeText(`${options()[place].textContent}, `, begin, end, "end");
  close();
}

const KEYS = {
  ArrowDown: () => point(at + 1),
  ArrowUp: () => point(at - 1),
  Enter: () => choose(at),
  Tab: () => choose(at),
  Escape: close,
};

document.addEventListener("input", ({ target }) => target.matches?.("[data-complete]") && ask(target));
document.addEventListener("keydown", (event) => {
  if (event.target !== field || event.isComposing || !KEYS[event.key] || event.shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  KEYS[event.key]();
}, true);
document.addEventListener("focusout", ({ target }) => {
  if (target === field) close();
  clearTimeout(timer);
  asked?.abort();
});
