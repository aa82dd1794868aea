// Who signs out is told of changes that wait in this browser to be saved, and asked about drafts, which go with the person, as do the pages that are kept.

import { showToast } from "./toasts.js";
import { plural } from "./words.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.signsOut) return;
  event.preventDefault();
  const person = Number(form.dataset.signsOut);
  const kept = await import("./kept.js");
  const [waiting, drafts] = await Promise.all([kept.countWaiting(person), kept.countDrafts(person)]).catch(() => [0, 0]);
  const leave = () => Promise.all([kept.dropDrafts(person), kept.dropPages(person)]).catch(() => {}).then(() => form.submit());
  if (!waiting && !drafts) return leave();
  const isWaiting = `${plural(waiting, "change is", "changes are")} not saved on the server yet. What waits in this browser is saved when you sign in here again and open its page.`;
  const goes = `${plural(drafts, "draft that was not sent is", "drafts that were not sent are")} deleted from this browser.`;
  showToast([waiting ? isWaiting : "", drafts ? goes : ""].join(" ").trim(), { kind: "warning", action: { label: "Sign out now", run: leave } });
});
