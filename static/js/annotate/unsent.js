// Sends what annotation screens left, from any other page, and shows what still waits, project by project.

import { make } from "../elements.js";
import { Store } from "../kept.js";
import { showToast } from "../toasts.js";
import { number, plural } from "../words.js";
import { KEPT, Queue } from "./queue.js";

const lines = make("div", "");
const button = make("button", "button small", "Send now");
const box = make("section", "message warning unsent", lines, button);
const queues = new Map(); // by places
const STATES = { "no room": "no room is left on the server", "signed out": "sign in again" };
button.addEventListener("click", () => queues.forEach((queue) => queue.tryNow()));

/** Send what pages of these places left that are gone. Those of pages that are there are theirs. */
export async function send(person, places) {
  for (const place of places) {
    const store = new Store(person, place, KEPT);
    const entries = await store.takeOver().catch(() => []);
    if (!entries.length) continue;
    const queue = queues.get(place) ?? queueOf(person, place, store, entries[0].item.project ?? "a project");
    queues.set(place, queue);
    queue.takeOver(entries);
  }
}

function queueOf(person, place, store, project) {
  const others = new BroadcastChannel(`saved ${place.replace("project ", "")} ${person}`);
  let saved = 0;
  const queue = new Queue({
    annotator: person,
    store,
    proofs: new Map(),
    tell(state, count) {
      if (state === "saved" && saved) showToast(`${plural(saved, "change of", "changes of")} ${project} from your last visit ${saved === 1 ? "was" : "were"} saved.`, { kind: "success" });
      if (state === "saved") saved = 0;
      queue.line = count && state !== "saving" ? `${plural(count, "change of", "changes of")} ${project} ${count === 1 ? "is" : "are"} not sent yet: ${STATES[state] ?? "the server cannot be reached"}.` : "";
      show();
    },
    answered({ item, operation }) {
      saved += 1;
      others.postMessage({ url: item.url, counts: operation.kind === "item" });
    },
    refused({ item }, reason, dropped, { gone }) {
      const words = dropped.map((entry) => entry.words ?? "a change").join("; ");
      const action = { label: `Item ${number(item.number)}`, run: () => location.assign(item.page) };
      showToast(`Not saved: ${words}. ${reason}`, { kind: "error", action: gone ? undefined : action });
    },
  });
  return queue;
}

function show() {
  const said = [...queues.values()].map(({ line }) => line).filter(Boolean);
  if (!said.length) return box.remove();
  lines.replaceChildren(...said.map((line) => make("p", "", line)));
  const above = document.getElementById("not-saved"); // in an annotation screen
  if (!box.isConnected) above ? above.before(box) : document.getElementById("main").prepend(box);
}

box.role = "status";
