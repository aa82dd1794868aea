// What was not saved because the text of its item was corrected meanwhile: it stays in sight until its person has looked at it.

import { make } from "../elements.js";
import { $, marks, now, state, wordsOf } from "./workspace.js";

const KEY = `not saved ${state.project} ${state.annotator}`;
const root = $("not-saved");

function stored() {
  try { return JSON.parse(sessionStorage.getItem(KEY)) ?? []; } catch { return []; }
}

let list = stored(); // {item, words}

/** What a change of the item that is worked on is about; when it is refused, the item may have another text. */
export function wordsOfChange(operation, [inverse]) {
  const { kind, verb, uid, done } = operation;
  if (kind === "item") return done ? "Done" : "Reopened";
  const { label, ...mark } = { ...(marks[kind].get(uid) ?? inverse), ...operation };
  const { name } = now.labels[kind].get(label);
  const [from, to] = [mark.source, mark.target].map((end) => `“${wordsOf(marks.entity.get(end))}”`);
  return `${kind === "entity" ? `“${wordsOf(mark)}” as ${name}` : `${from} ${name} ${to}`}${verb === "remove" ? ", removed" : ""}`;
}

export function tellNotSaved(entries) {
  put([...list, ...entries.map(({ item, words = "a change" }) => ({ item, words }))]);
}

function put(next) {
  list = next;
  try { sessionStorage.setItem(KEY, JSON.stringify(list)); } catch { /* it goes with this page then */ }
  show();
}

function show() {
  root.hidden = !list.length;
  root.querySelector("ul").replaceChildren(...list.map(({ item, words }) => make("li", "", `${words}: `, linkTo(item))));
}

function linkTo(item) {
  const link = make("a", "", `item ${item.number}`);
  link.href = item.page;
  return link;
}

export function listenToNotSaved() {
  root.querySelector("button").addEventListener("click", () => put([]));
  show();
}
