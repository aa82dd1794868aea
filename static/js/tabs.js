// Which pages of this browser are still there. A page holds a lock as long as it lives or, where a browser has no locks, as on plain
// HTTP, answers when it is asked.

import { newUid } from "./uid.js";

const LATE = 500; // ms
const nameOf = (other) => `page ${other}`;
export const tab = newUid();

/** Resolves when the others can tell that this page is there. */
export const alive = navigator.locks
  ? new Promise((resolve) => navigator.locks.request(nameOf(tab), () => (resolve(), new Promise(() => {}))))
  : answerOthers();

async function answerOthers() {
  const channel = new BroadcastChannel("pages");
  channel.onmessage = ({ data }) => data.ask === tab && channel.postMessage({ here: tab });
}

export function isGone(other) {
  return navigator.locks ? navigator.locks.request(nameOf(other), { ifAvailable: true }, (lock) => lock !== null) : isSilent(other);
}

function isSilent(other) {
  const channel = new BroadcastChannel("pages");
  return new Promise((resolve) => {
    setTimeout(resolve, LATE, true);
    channel.onmessage = ({ data }) => data.here === other && resolve(false);
    channel.postMessage({ ask: other });
  }).finally(() => channel.close());
}
