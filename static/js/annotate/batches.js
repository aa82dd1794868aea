// What was done to all alike is one batch, and one step of undo.

import { plural } from "../words.js";
import { future, past, remember } from "./history.js";
import { post } from "./post.js";
import { allSaved, refreshAll, tellOtherTabs } from "./saving.js";
import { show } from "./showing.js";
import { SIGNED_OUT, dismiss, here, precedents, state, toast } from "./workspace.js";

export const AWAY = "The server cannot be reached at the moment.";
export const LATER = `${AWAY} Try again.`;
const POLL = 500; // ms
const SLOWEST = 16_000; // ms between two, while the server does not answer
const AT_WORK = ["storing", "undoing"];

/** The batch as it is when the job that works on it is over; `tell` gets it meanwhile. Null if that cannot be known any more: the
 * user is told why. */
export async function follow(batch, tell = () => {}) {
  let now = batch;
  for (let pause = POLL; AT_WORK.includes(now.state); ) {
    tell(now);
    await new Promise((resolve) => setTimeout(resolve, pause));
    const response = await fetch(batch.url, { headers: { Accept: "application/json" } }).catch(() => null);
    const answer = await response?.json().catch(() => null);
    if (response?.ok && answer) {
      now = answer.batch;
      pause = POLL;
    } else if (response?.status >= 400 && response.status < 500) {
      toast(response.status === 401 ? SIGNED_OUT : (answer?.error ?? LATER), "error");
      return null;
    } else {
      pause = Math.min(2 * pause, SLOWEST);
    }
  }
  return now;
}

/** A batch was made: tell it, and let it be undone. */
export function takeBatch(batch, keep = remember) {
  const { in_words: words, undo, redo: again, state: now } = batch;
  const step = { item: here, batch: undo, again, undo: [], redo: [] };
  keep(step);
  marksChanged();
  const action = { label: "Undo", run: () => undoBatch(step) };
  if (now === "stopped") tell(`Stopped half-way: ${words}.`, "warning", action);
  else tell(`${words}.`, "success", action);
}

/** Undo a batch as one, in all its items. */
export async function undoBatch(step) {
  const at = past.indexOf(step);
  if (at >= 0) past.splice(at, 1);
  const batch = await ask(step.batch, () => past.push(step));
  if (!batch) return;
  future.push(step);
  const undone = await follow(batch);
  if (undone?.state === "undo_stopped") {
    if (future.includes(step)) future.splice(future.indexOf(step), 1);
    past.push(step);
  }
  if (undone) tellUndone(undone, step);
}

/** Do it once more, where it is alike by now, with the same ticks. */
export async function redoBatch(step) {
  future.splice(future.indexOf(step), 1);
  const begun = await ask(step.again, () => future.push(step));
  const batch = begun && (await follow(begun));
  if (batch) takeBatch(batch, (again) => past.push(again));
}

/** The batch that the server answers with. Otherwise the user is told why, and `putBack` is called if the server or the session was
 * missing: after any other failure the same would fail again. */
async function ask(url, putBack) {
  show();
  await allSaved();
  const response = await post(url, state.annotator, {}).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (response?.ok && answer) return answer.batch;
  if (!response || response.status >= 500 || response.status === 401) putBack();
  show();
  toast(answer?.error ?? LATER, "error");
  return null;
}

function tellUndone({ made, kept, words, state: now }, step) {
  marksChanged();
  if (now === "undo_stopped") {
    tell(`The undo of “${words}” stopped half-way.`, "warning", { label: "Undo the rest", run: () => undoBatch(step) });
    return;
  }
  const stay = kept.changed + kept.done;
  const rest = stay ? `; ${plural(stay, "stays: it was changed or removed since, or its item is done", "stay: they were changed or removed since, or their items are done")}` : "";
  tell(`${plural(made - stay, "place is", "places are")} as before${rest}.`);
}

let told = null; // of a batch, until the next time

function tell(words, kind, action) {
  if (told) dismiss(told);
  told = words;
  toast(words, kind, action);
}

function marksChanged() {
  precedents.forget();
  show();
  refreshAll();
  tellOtherTabs({});
}
