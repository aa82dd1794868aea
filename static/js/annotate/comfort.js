// How the text is shown to this person: chosen in a menu, seen at once, and kept on the server.

import { post } from "./post.js";
import { $, focusText, sheet, state, text, toast } from "./workspace.js";

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
  state.comfort[name] = sheet.dataset[name] = value;
  showChosen();
  text.refit();
  saved = saved.then(() => save({ name, value })); // the last one chosen is the last one sent
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
