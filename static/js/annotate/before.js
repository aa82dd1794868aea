// How the words that are selected, or those of the selected mark, were labelled before: beside the text, most often first.

import { make } from "../elements.js";
import { number } from "../words.js";
import { $, marks, now, pane, precedents, span, state, text, tokensOf, wordsOf } from "./workspace.js";

const SHOWN = 6;
const MOST = 100; // the server looks at no more marks with each label
const list = $("words-before");
let asked = "";

const count = (n) => (n < MOST ? number(n) : `${MOST} or more`);

function selected() {
  const { words, mark } = now.view;
  const [start, end] = words ? span(words) : [];
  return words ? { start, end } : marks.entity.get(mark);
}

/** Ask about what is selected, anew after a change; nothing is shown of other words until it is known. */
export function showBefore() {
  const place = selected();
  const words = place ? tokensOf(place.start, place.end) : "";
  if (words === asked && precedents.has(words)) return;
  if (words !== asked) list.replaceChildren();
  asked = words;
  if (words) precedents.prepare(words, (counts) => asked === words && show(place, counts));
}

function show(place, { own = {}, given = {}, project = {} }) {
  const labels = now.labels?.entity;
  if (!labels) return;
  const sum = (uid) => (project[uid] ?? own[uid] ?? 0) + (given[uid] ?? 0);
  const uids = Object.keys({ ...own, ...given, ...project }).filter((uid) => labels.get(uid)).sort((a, b) => sum(b) - sum(a));
  if (!uids.length) return list.replaceChildren();
  const words = text.between(place.start, place.end);
  const rows = uids.slice(0, SHOWN).map((uid) => row(labels.get(uid), words, own[uid], given[uid], project[uid]));
  if (uids.length > SHOWN) rows.push(make("li", "faint small", `${number(uids.length - SHOWN)} more`));
  list.replaceChildren(make("h2", "", `“${wordsOf(place)}” before`), make("ul", "", ...rows));
  const [first] = uids.map((uid) => labels.get(uid));
  if (now.view.words) pane.showCard(first, labels.path(first));
}

/** The person's own marks of these words. */
function link({ uid }, words, own) {
  const href = `${state.urls.ownMarks}?${new URLSearchParams({ q: words, label: uid })}`;
  return Object.assign(make("a", "", `${count(own)} by you`), { href });
}

/** `project` is what everybody did, the person included, if they may know it. */
function row(label, words, own, given, project) {
  const swatch = make("span", "swatch");
  swatch.style.setProperty("--c", label.color);
  const counts = [
    project > (own ?? 0) && `${count(project - (own ?? 0))} by others`,
    given && `${count(given)} with the dataset`,
  ];
  const name = Object.assign(make("span", "name", label.name), { title: now.labels.entity.path(label) });
  const told = make("span", "faint small num", ...(own ? [link(label, words, own)] : []), counts.filter(Boolean).map((each, at) => (at || own ? ", " : "") + each).join(""));
  return make("li", "", swatch, name, told);
}
