// The command palette, Ctrl K: pages, what the page offers, and what the server finds. Recent choices come first.

import { make } from "./elements.js";
import { waitFor } from "./waiting.js";

const KINDS = ["Recent", "On this page", "This project", "People", "Pages", "Labels", "Ontologies", "Constraints", "Preannotations", "Datasets",
  "Projects", "Actions", "Help"];
const PAUSE = 80; // ms without a key before the server is asked
const REMEMBERED = 6;
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const palette = document.querySelector("#palette");
const field = palette?.querySelector("input");
const list = palette?.querySelector("[role=listbox]");
const note = palette?.querySelector("[role=status]");
const key = `palette ${palette?.dataset.person}`;

let here = []; // what needs no server
let found = [];
let rows = [];
let at = 0;
let timer = null;
let asked = null;
let answered = ""; // the text for which there are hits
let isHurried = false; // Enter came before the answer

/* What can be chosen: {kind, title, note, url, color}, or with `run` instead of `url` ------------------------------- */

/** Without keys and counts, and without words that are hidden in what is shown. */
const wordsOf = (element) => {
  const copy = element.cloneNode(true);
  const isHidden = [...element.querySelectorAll("*")].map((part) => !part.checkVisibility() && element.checkVisibility());
  [...copy.querySelectorAll("*")].forEach((part, i) => (isHidden[i] || part.matches("kbd, small, .count")) && part.remove());
  return (element.ariaLabel ?? copy.textContent).trim().replace(/\s+/g, " ");
};

/** With the menu that it is in, if that has a name in words: “Download: JSON”. */
const nameOf = (element) => {
  const group = element.closest("[role=group]")?.ariaLabel ?? element.closest("details.menu")?.querySelector("summary:not([aria-label])")?.textContent.trim();
  return group ? `${group}: ${wordsOf(element)}` : wordsOf(element);
};
const click = (element) => ({ run: () => element.click(), note: element.querySelector("kbd")?.textContent ?? "" });

const pages = () =>
  [...palette.querySelector("template").content.querySelectorAll("a")].map((link) => ({
    kind: link.dataset.kind ?? "Pages", title: nameOf(link), note: "", url: link.getAttribute("href"),
  }));

const OFFERED = "main :is(.page-head, .tools, .item-bar, .empty) :is(a.button, button.button, .menu-items :is(a, button)), .work-bar .end > button";
const isOffered = (element) =>
  wordsOf(element) && !element.closest("[hidden], :disabled, [aria-disabled=true], [data-palette], form:has(input:not([type=hidden]), textarea, select)");

const actions = () => [
  ...[...document.querySelectorAll(OFFERED)].filter(isOffered).map((element) => ({ kind: "On this page", title: nameOf(element), ...click(element) })),
  ...[...document.querySelectorAll(".topbar .end > details:last-child .menu-items :is(a, button)")].map((element) => ({ kind: "Actions", title: nameOf(element), ...click(element) })),
];

function recent() {
  try { return JSON.parse(localStorage.getItem(key)) ?? []; } catch { return []; }
}

function remember({ kind, title, note: place, url, color }) {
  if (!url) return;
  const others = recent().filter((each) => each.url !== url);
  try { localStorage.setItem(key, JSON.stringify([{ kind, title, note: place, url, color }, ...others].slice(0, REMEMBERED))); } catch { /* forgotten */ }
}

/* Finding ---------------------------------------------------------------------------------------------------------- */

const fold = (text) => text.normalize("NFC").toLowerCase();

function matching(text) {
  const words = fold(text).split(/\s+/).filter(Boolean);
  const fits = ({ title }) => words.every((word) => fold(title).includes(word));
  const known = recent().map((each) => ({ ...each, kind: "Recent" })).filter(fits);
  const hits = text.trim() === answered ? found : found.filter(fits);
  const urls = new Set(known.map(({ url }) => url));
  return [...known, ...[...here.filter(fits), ...hits].filter(({ url }) => !url || !urls.has(url))];
}

function type() {
  stop();
  if (field.value.trim()) timer = setTimeout(ask, PAUSE);
  else found = [];
  show();
}

function stop() {
  clearTimeout(timer);
  asked?.abort();
  timer = asked = null;
  isHurried = false;
}

async function ask() {
  const text = field.value.trim();
  const request = (asked = new AbortController());
  timer = null;
  const query = new URLSearchParams({ q: text, project: palette.dataset.project });
  const headers = { Accept: "application/json" };
  const answer = await waitFor(fetch(`${palette.dataset.url}?${query}`, { headers, signal: request.signal })).catch(() => null);
  const hits = answer?.ok ? (await answer.json().catch(() => ({ hits: [] }))).hits : [];
  if (asked !== request) return;
  asked = null;
  found = hits;
  answered = text;
  show({ keep: true, failed: !answer?.ok });
  if (isHurried) choose(rows[0]);
}

/* Showing ---------------------------------------------------------------------------------------------------------- */

function show({ keep = false, failed = false } = {}) {
  const chosen = keep && rows[at];
  const groups = Map.groupBy(matching(field.value), ({ kind }) => kind);
  rows = KINDS.flatMap((kind) => groups.get(kind) ?? []);
  list.replaceChildren(...KINDS.filter((kind) => groups.has(kind)).map((kind) => {
    const group = make("div", "");
    group.setAttribute("role", "group");
    group.ariaLabel = kind;
    const head = make("p", "menu-head", kind);
    head.ariaHidden = "true";
    group.append(head, ...groups.get(kind).map(option));
    return group;
  }));
  const same = chosen ? rows.findIndex(({ title, url, kind }) => title === chosen.title && url === chosen.url && kind === chosen.kind) : -1;
  point(Math.max(0, same));
  const text = field.value.trim();
  if (failed) note.textContent = "The server did not answer: only what is on this page is shown.";
  else if (rows.length) note.textContent = "";
  else note.textContent = timer || asked ? "Looking …" : `Nothing found for “${text}”`;
  note.hidden = !note.textContent;
}

function option(row) {
  const element = make("div", "hit");
  element.setAttribute("role", "option");
  element.id = `palette-${rows.indexOf(row)}`;
  if (row.color) {
    const swatch = make("span", "swatch");
    swatch.style.setProperty("--c", row.color);
    element.append(swatch);
  }
  element.append(make("span", "title", row.title), make("small", "", row.note ?? ""));
  return element;
}

function point(next) {
  at = next;
  list.querySelectorAll("[role=option]").forEach((each, place) => each.setAttribute("aria-selected", String(place === at)));
  const current = list.querySelector("[aria-selected=true]");
  current?.scrollIntoView({ block: "nearest" });
  current ? field.setAttribute("aria-activedescendant", current.id) : field.removeAttribute("aria-activedescendant");
}

/* Opening, choosing, keys ------------------------------------------------------------------------------------------ */

function open() {
  here = [...pages(), ...actions()];
  found = [];
  field.value = "";
  document.querySelectorAll("details.menu[open]").forEach((menu) => (menu.open = false));
  palette.showModal();
  show();
}

function choose(row) {
  if (!row) return;
  remember(row);
  palette.close();
  row.run ? row.run() : location.assign(row.url);
}

const KEYS = {
  ArrowDown: () => point((at + 1) % rows.length),
  ArrowUp: () => point((at - 1 + rows.length) % rows.length),
  PageDown: () => point(Math.min(at + 8, rows.length - 1)),
  PageUp: () => point(Math.max(at - 8, 0)),
  Enter: () => (rows.length ? choose(rows[at]) : (isHurried = Boolean(timer || asked))),
};

if (palette) {
  // On the way down: the tree and the workspace have keys of their own. On a Mac, Ctrl K is a key of text fields.
  addEventListener("keydown", (event) => {
    const isControl = isMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
    if (!isControl || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    if (event.target.closest?.("[contenteditable]") || (document.querySelector("dialog:modal") && !palette.open)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    palette.open ? palette.close() : open();
  }, true);
  document.addEventListener("click", ({ target }) => target.closest?.("[data-palette]") && open());
  field.addEventListener("input", type);
  palette.addEventListener("keydown", (event) => {
    event.stopPropagation(); // no key reaches the page
    if (event.isComposing || !KEYS[event.key]) return;
    event.preventDefault();
    if (rows.length || event.key === "Enter") KEYS[event.key]();
  });
  palette.addEventListener("close", stop);
  palette.addEventListener("click", ({ target }) => {
    if (target === palette) return palette.close(); // beside it
    const place = [...list.querySelectorAll("[role=option]")].indexOf(target.closest("[role=option]"));
    if (place >= 0) choose(rows[place]);
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
  if (isMac) document.querySelector("[data-palette] kbd").textContent = "⌘";
}
