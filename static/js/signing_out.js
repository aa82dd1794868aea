// Who signs out is told of changes that wait in this browser to be saved.

import { showToast } from "./toasts.js";
import { plural } from "./words.js";

async function waitingOf(person) {
  const { countWaiting } = await import("./annotate/store.js");
  return countWaiting(person);
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.signsOut) return;
  event.preventDefault();
  const count = await waitingOf(Number(form.dataset.signsOut)).catch(() => 0);
  if (!count) return form.submit();
  const words = `${plural(count, "change is", "changes are")} not saved on the server yet. What waits in this browser is saved when you sign in here again and open the project.`;
  showToast(words, { kind: "warning", action: { label: "Sign out now", run: () => form.submit() } });
});
