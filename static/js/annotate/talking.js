// Comments on the item or on what is selected, in the pane. Each item of the page has its list and its form.

import { plural } from "../words.js";
import { backTo } from "../talking.js";
import { current, forget } from "./pages.js";
import { select, selectMark } from "./selection.js";
import { inWords, say } from "./showing.js";
import { $, active, chosen, focusText, items, marks, toast, withItems, wordsOf } from "./workspace.js";

class Talk {
  constructor({ pk }) {
    this.root = $(`comments-of-${pk}`);
    this.list = this.root.querySelector(".comments");
    this.form = this.root.querySelector(".comment-form");
    this.about = this.form.querySelector(".comment-about");
    this.text = this.form.elements.text;
  }

  listen() {
    const { about, form, list, text } = this;
    form.querySelector("[data-later]").addEventListener("click", () => this.close());
    about.querySelector("button").addEventListener("click", () => {
      this.showAbout({});
      text.dispatchEvent(new Event("input", { bubbles: true }));
      text.focus();
    });
    form.addEventListener("draft", ({ detail: { kind, uid, words } }) => {
      this.showAbout({ kind: kind[0], uid: uid[0], words: words[0] });
      form.hidden = false;
      show();
    });
    form.addEventListener("htmx:afterRequest", ({ target, detail }) => target === form && detail.xhr.status === 200 && this.#sent(detail.requestConfig.parameters.text));
    list.addEventListener("click", (event) => {
      const link = event.target.closest(".about");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      selectAbout(link.dataset);
    });
    new MutationObserver(() => {
      show();
      // What took the place of a comment has not taken its focus.
      if (document.activeElement !== document.body) return;
      const place = backTo();
      place ? place.focus({ preventScroll: true }) : focusText();
    }).observe(list, { childList: true });
  }

  showAbout({ kind = "", uid = "", words = "" }) {
    const { about, form } = this;
    Object.entries({ kind, uid, words }).forEach(([name, value]) => (form.elements[name].value = value));
    about.hidden = !uid;
    about.querySelector("b").textContent = words;
  }

  open() {
    this.form.hidden = false;
    show();
    this.text.focus();
    this.form.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.form.hidden = true;
    show();
    focusText();
  }

  #sent(words) {
    const { text } = this;
    const since = text.value === words ? "" : text.value.replace(words, "");
    this.form.reset();
    this.showAbout({});
    this.form.hidden = !since;
    if (since) return Object.assign(text, { value: since }).dispatchEvent(new Event("input", { bubbles: true }));
    show();
    if (this === talk()) focusText();
    say("Your comment is saved.");
  }
}

const talks = new WeakMap(); // by item
const talk = () => talks.get(active);

/** Write about what is selected, or go on with what was begun. */
export function comment() {
  if ($("comment").disabled) return toast("Observers read comments, and write none.");
  const { kind, uid } = chosen() ?? {};
  if (!talk().text.value.trim()) talk().showAbout(uid ? { kind, uid, words: inBrief(kind, uid) } : {});
  talk().open();
}

function inBrief(kind, uid) {
  if (kind === "entity") return wordsOf(marks.entity.get(uid));
  const { source, name, target } = inWords(marks.relation.get(uid));
  return `${source} ${name} ${target}`;
}

/** Select the mark that a comment is about. */
function selectAbout({ kind, uid }) {
  if (!marks[kind].has(uid)) return toast("This mark is not there any more.");
  if (kind === "entity") selectMark(uid);
  else select({ relation: uid, actions: true });
  focusText();
}

/** What is said about the item that is worked on. */
function show() {
  for (const item of items) talks.get(item).root.hidden = item !== active;
  const { form, list } = talk();
  $("comment").hidden = !form.hidden;
  const count = list.querySelectorAll(":scope > .comment:not(.resolved)").length;
  $("open-comments").hidden = !count;
  $("open-comments").textContent = `${count} open`;
  $("no-comments").hidden = list.childElementCount > 0;
  const button = $("to-comments");
  button.classList.toggle("has-open", count > 0);
  button.querySelector("b").textContent = count || "";
  button.ariaLabel = count ? plural(count, "open comment", "open comments") : "Comments";
}

/** The comment that the address names, as the list of the project does. */
export function showNamedComment() {
  const named = document.getElementById(location.hash.slice(1));
  if (!named?.matches(".comment")) return;
  named.scrollIntoView({ block: "nearest" });
  const { dataset } = named.querySelector(".about") ?? {};
  if (dataset && marks[dataset.kind].has(dataset.uid)) selectAbout(dataset);
  named.focus();
}

/** What others said meanwhile. */
function readAnew() {
  const { content } = Object.assign(document.createElement("template"), current.parts.talks);
  for (const { list } of items.map((item) => talks.get(item))) {
    const fresh = content.getElementById(list.id); // none of an item that was removed
    if (!fresh || list.contains(document.activeElement)) continue;
    list.replaceChildren(...fresh.children);
    window.htmx.process(list);
  }
}

export function listenToComments() {
  withItems((item) => {
    talks.set(item, new Talk(item));
    talks.get(item).listen();
    talks.get(item).form.addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => xhr.addEventListener("loadend", () => items.includes(item) || forget(item.here)));
  });
  $("comment").addEventListener("click", comment);
  $("to-comments").addEventListener("click", () => (talk().list.childElementCount ? talk().list.lastElementChild.focus() : comment()));
  $("comments").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    talk().text.value.trim() || talk().form.hidden ? focusText() : talk().close();
  });
  document.addEventListener("entered", show);
  document.addEventListener("renewed", readAnew);
  show();
}
