// Finds answers, or the operations of programs, as one types. The address keeps what is searched for. Without this the page shows everything.

import { plural } from "./words.js";

const tools = document.querySelector("#help-search");
const field = tools.querySelector("input");
const [one, many] = tools.dataset.words.split(","); // what is looked for
const nothing = document.querySelector("#help-nothing");
const parts = [...document.querySelectorAll("[data-part]")];
const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

const answers = [...document.querySelectorAll(".answer")].map((element) => ({
  element,
  line: document.querySelector(`.help-contents a[href="#${element.id}"]`).parentElement,
  text: fold(element.textContent),
}));

/** The words that are looked for: of "marks" also one "mark" will do. */
const wordsOf = (query) => (fold(query).match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));

function search() {
  const words = wordsOf(field.value);
  const found = answers.filter(({ text }) => words.every((word) => text.includes(word)));
  for (const answer of answers) answer.element.hidden = answer.line.hidden = !found.includes(answer);
  for (const part of parts) part.hidden = !part.querySelector(":is(.answer, .help-contents li):not([hidden])");
  nothing.hidden = found.length > 0;
  nothing.firstElementChild.textContent = `No ${one} has “${field.value.trim()}”`;
  document.querySelector("#help-found").textContent = words.length ? plural(found.length, one, many) : "";
  highlight(words, found);
}

/** Shows where the words are, without touching the page; older browsers do without. */
function highlight(words, found) {
  if (!CSS.highlights) return;
  const ranges = words.length ? found.flatMap(({ element }) => rangesIn(element, words)) : [];
  CSS.highlights.set("found", new Highlight(...ranges));
}

function rangesIn(element, words) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const ranges = [];
  while (texts.nextNode()) {
    const text = texts.currentNode.data.toLowerCase();
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        ranges.push(new StaticRange({ startContainer: texts.currentNode, startOffset: at, endContainer: texts.currentNode, endOffset: at + word.length }));
      }
    }
  }
  return ranges;
}

function keep() {
  const address = new URL(location);
  if (field.value.trim()) address.searchParams.set("q", field.value.trim());
  else address.searchParams.delete("q");
  history.replaceState(history.state, "", address);
}

function show(query) {
  field.value = query;
  search();
  keep();
}

/** An answer that the address or a link names is shown, whatever is searched for. */
function showNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named?.closest("[hidden]")) return;
  show("");
  named.scrollIntoView();
}

field.addEventListener("input", () => (search(), keep()));
field.addEventListener("keydown", ({ key }) => {
  if (key === "Enter") document.querySelector(".answer:not([hidden]) a")?.focus();
  if (key === "Escape") show("");
});
nothing.querySelector("button").addEventListener("click", () => (show(""), field.focus()));
addEventListener("hashchange", showNamed);

tools.hidden = false;
field.value = new URLSearchParams(location.search).get("q") ?? "";
search();
showNamed();
