// Finds words in the texts of the page, whatever their case, also over several tokens. Each hit that is gone to is selected: when the search
// ends, it can be marked at once. The browser's own search works, too: all of the text is in the page.

import { enter } from "./entering.js";
import { showOverview } from "./overview.js";
import { fold } from "./search.js";
import { select } from "./selection.js";
import { $, active, focusText, items, now, span, text, withItems } from "./workspace.js";

const form = $("find");
const field = form.querySelector("input");
const CLEAR = 110; // pixels at the bottom of the window, where the buttons of a mark may stand
const folded = new Map(); // of an item: the whole text, and where each token begins in it
let at = -1; // the hit that is selected, counted from 0
let from = { item: active, token: 0 }; // from where the first one is looked for

function foldedText(item) {
  if (folded.has(item)) return folded.get(item);
  const text = { whole: "", starts: [] };
  item.tokens.forEach((token, i) => {
    text.whole += item.gaps[i];
    text.starts.push(text.whole.length);
    text.whole += fold(token);
  });
  folded.set(item, text);
  return text;
}

/** The token over a place of a folded text. */
function tokenAt({ starts }, place) {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

function hitsIn(item, wanted) {
  const found = [];
  const text = foldedText(item);
  for (let place = text.whole.indexOf(wanted); place >= 0; place = text.whole.indexOf(wanted, place + wanted.length)) {
    const end = place + wanted.length;
    found.push({ item, place, end, start: tokenAt(text, place), last: tokenAt(text, end - 1) });
  }
  return found;
}

function hitsOf(words) {
  const wanted = fold(words.trim().replace(/\s+/g, " "));
  return wanted ? items.flatMap((item) => hitsIn(item, wanted)) : [];
}

/** From where to where a hit goes in the page; a token that has become longer without its case is taken as a whole. */
function rangeOf({ item, place, end, start, last }) {
  const { starts } = foldedText(item);
  const within = (token, place, whole) => {
    const { length } = item.tokens[token];
    return fold(item.tokens[token]).length === length ? place - starts[token] : whole * length;
  };
  const nodes = [start, last].map((token) => item.text.elementOf(token).firstChild);
  return new StaticRange({ startContainer: nodes[0], startOffset: within(start, place, 0), endContainer: nodes[1], endOffset: within(last, end, 1) });
}

/** Those near the window, where the browser can. */
function light() {
  if (!globalThis.Highlight) return;
  const isNear = ({ item, start }) => {
    const { lines, near } = item.text;
    return near.span[0] <= lines.lineOf[start] && lines.lineOf[start] <= near.span[1];
  };
  CSS.highlights.set("found", new Highlight(...now.hits.filter(isNear).map(rangeOf)));
}

/** From where the search began. */
const isAhead = ({ item, start }) => (item === from.item ? start >= from.token : items.indexOf(item) > items.indexOf(from.item));

function seek() {
  now.hits = hitsOf(field.value);
  at = now.hits.length ? Math.max(0, now.hits.findIndex(isAhead)) : -1;
  go();
  showOverview();
  light();
}

function step(way) {
  const { length } = now.hits;
  if (!length) return;
  at = (at + way + length) % length;
  go();
}

/** While the target of a relation is chosen, nothing else is selected. */
function go() {
  const hit = now.hits[at];
  form.querySelector("output").textContent = hit ? `${at + 1} of ${now.hits.length}` : field.value.trim() && "Not found";
  if (!hit || (now.view.relating && hit.item !== active)) return;
  enter(hit.item);
  const { top, bottom } = text.rectOf(hit.start, hit.last);
  if (top < form.getBoundingClientRect().bottom || bottom > innerHeight - CLEAR) text.center(text.lines.placeOf(hit.start).top);
  if (!now.view.relating) select({ words: { anchor: hit.start, focus: hit.last } });
}

/** The words that are selected are looked for first. */
function openSearch() {
  const { words } = now.view;
  from = { item: active, token: words ? span(words)[0] : now.cursor };
  form.hidden = false;
  if (words && !now.hits.length) field.value = text.between(...span(words)).slice(0, field.maxLength);
  field.select();
  seek();
}

/** To the next hit or the one before; without any, to the search. */
export const goToHit = (way) => (now.hits.length ? step(way) : openSearch());

function close() {
  form.hidden = true;
  field.value = "";
  seek();
}

function end() {
  close();
  focusText();
}

const KEYS = {
  Enter: () => step(1),
  "Shift+Enter": () => step(-1),
  F3: () => step(1),
  "Shift+F3": () => step(-1),
  Escape: end,
};

export function listenToHits() {
  form.addEventListener("keydown", (event) => {
    const { key, shiftKey, isComposing, target } = event;
    const run = KEYS[shiftKey ? `Shift+${key}` : key];
    if (!run || isComposing || (key === "Enter" && target !== field)) return;
    event.preventDefault();
    run();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", seek);
  form.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button?.dataset.step) step(Number(button.dataset.step));
    else if (button) end();
  });
  $("open-find").addEventListener("click", openSearch);
  document.addEventListener("turned", () => {
    folded.clear();
    close();
  });
  document.addEventListener("corrected", () => {
    folded.clear();
    if (now.hits.length) seek();
  });
  withItems(({ text }) => text.whenFilled.push(() => now.hits.length && light()));
}
