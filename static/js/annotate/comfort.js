// How the text is shown to this person: chosen in a menu, seen at once, and kept on the server.

import { Marks } from "./marks.js";
import { post } from "./post.js";
import { load, refreshAll } from "./saving.js";
import { dropGone } from "./selection.js";
import { show } from "./showing.js";
import { $, focusText, here, items, state, toast } from "./workspace.js";

const menu = $("comfort");
let saved = Promise.resolve();

function showChosen() {
  for (const button of menu.querySelectorAll("[data-comfort] button")) {
    button.ariaPressed = String(state.comfort[button.parentElement.dataset.comfort] === button.value);
  }
}

async function save(body) {
  const answer = await post(state.urls.comfort, state.annotator, body).catch(() => null);
  if (!answer?.ok) toast("How the text is shown could not be saved: it holds on this page only. Choose it again later.", "error");
}

function choose(name, value) {
  state.comfort[name] = value;
  showChosen();
  saved = saved.then(() => save({ name, value })); // the last one chosen is the last one sent
  if (name === "on_page") return void saved.then(turnPage);
  if (name === "sureness") return showSure(value);
  for (const { sheet } of items) sheet.dataset[name] = value;
  for (const { text } of items) text.refit();
}

/** Hide what is less sure at once; what is shown again comes from the server. */
function showSure(percent) {
  Marks.least = percent / 100;
  for (const { marks } of items) marks.replace(marks);
  dropGone();
  show();
  refreshAll();
}

/** The item that is worked on is on the new page, too. An address that names another number would win. */
function turnPage() {
  const url = new URL(here.page, location);
  url.searchParams.delete("on_page");
  load(url.pathname + url.search);
}

export function listenToComfort() {
  if (!menu) return;
  showChosen();
  menu.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-comfort] button");
    if (button) choose(button.parentElement.dataset.comfort, button.value);
  });
  // Closed by a key: the next key is for the text again.
  menu.addEventListener("toggle", () => !menu.open && menu.contains(document.activeElement) && focusText());
}
