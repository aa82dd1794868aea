// Sends operations one after the other, in their order, each until the server has answered.
// Nothing is lost while the page is open: what cannot be sent is tried again.

import { waitFor } from "../waiting.js";

const PATHS = { entity: "entities", relation: "relations" };
const FIELDS = {
  add: { entity: ["uid", "label", "start", "end", "proof"], relation: ["uid", "label", "source", "target", "proof"] },
  label: ["uid", "label", "proof"],
  resize: ["uid", "start", "end", "proof"],
  reverse: ["uid", "source", "target", "proof"],
  remove: ["uid"],
};
const ENDS = ["source", "target"];
const TIMEOUT = 15_000;

const pick = (object, keys) => Object.fromEntries(keys.map((key) => [key, object[key]]));
const proofKey = ({ kind, uid, label }) => `${kind} ${uid} ${label}`;
/** The marks that an operation names; an entity and a relation may have the same uid. */
const named = (operation) => [`${operation.kind} ${operation.uid}`, ...ENDS.map((end) => `entity ${operation[end]}`)];
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function csrfToken() {
  // Read each time: signing in again in another tab changes it.
  const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
  return cookie ? cookie[1] : JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
}

export class Queue {
  #waiting = [];
  #running = false;
  sent = 0; // operations so far
  #proofs = new Map(); // what brings a mark back with a label that is switched off meanwhile
  #wake = () => {};

  /** tell(state, count), takeNewOffers(addresses of labels and rules), refused(reason, inverses, {count, gone}), renamed(kind, old, uid), signedOut() */
  constructor({ base, annotator, tell, takeNewOffers, refused, renamed, signedOut }) {
    Object.assign(this, { base, annotator, tell, takeNewOffers, refused, renamed, signedOut });
    addEventListener("online", () => this.#wake());
    addEventListener("focus", () => this.#wake());
  }

  get size() { return this.#waiting.length; }

  push(operation, inverse) {
    this.sent += 1;
    this.#waiting.push({ operation, inverse });
    if (!this.#running) this.#run();
    else this.#say(this.state);
  }

  #say(state) {
    this.state = state;
    this.tell(state, this.size);
  }

  async #run() {
    this.#running = true;
    let failures = 0;
    while (this.#waiting.length) {
      if (!failures) this.#say("saving");
      const woken = new Promise((resolve) => (this.#wake = resolve));
      const outcome = await this.#send(this.#waiting[0].operation);
      if (outcome.again) {
        failures += 1;
        if (outcome.again === "signed out" && this.state !== "signed out") this.signedOut();
        this.#say(outcome.again);
        const pause = Math.min(30_000, 500 * 2 ** Math.min(failures, 6));
        await Promise.race([wait(pause), woken]);
        continue;
      }
      failures = 0;
      const { operation } = this.#waiting[0];
      if (outcome.reason) this.#takeBack(outcome);
      else {
        this.#waiting.shift();
        this.takeNewOffers(outcome.answer.urls);
        for (const mark of outcome.answer.was ?? []) this.#proofs.set(proofKey(mark), mark.proof);
        const stored = outcome.answer[operation.kind];
        if (operation.verb === "add" && stored && stored.uid !== operation.uid) {
          this.#rename(operation.kind, operation.uid, stored.uid);
          this.renamed(operation.kind, operation.uid, stored.uid);
        }
      }
    }
    this.#running = false;
    this.#say("saved");
  }

  /** What waits, and what would take it back, names the mark as the server does. */
  #rename(kind, old, uid) {
    const renamed = (operation) => {
      const keys = [...(operation.kind === kind ? ["uid"] : []), ...(kind === "entity" ? ENDS : [])].filter((key) => operation[key] === old);
      return { ...operation, ...Object.fromEntries(keys.map((key) => [key, uid])) };
    };
    this.#waiting = this.#waiting.map(({ operation, inverse }) => ({ operation: renamed(operation), inverse: inverse.map(renamed) }));
  }

  /** Drop the refused operation, those that build on it, and “done”: it was said of an item with that change. */
  #takeBack({ reason, gone }) {
    const touched = new Set();
    const dropped = [];
    const follows = ({ operation }) => operation.kind === "item" || named(operation).some((mark) => touched.has(mark));
    this.#waiting = this.#waiting.filter((entry, place) => {
      if (place && !follows(entry)) return true;
      for (const { kind, uid } of entry.inverse) touched.add(`${kind} ${uid}`);
      dropped.push(entry);
      return false;
    });
    const count = dropped.filter(({ operation }) => operation.kind !== "item").length || 1;
    this.refused(reason, dropped.reverse().flatMap(({ inverse }) => inverse), { count, gone });
  }

  async #send({ kind, verb, ...values }) {
    values.proof = this.#proofs.get(proofKey({ kind, ...values }));
    const [path, body] =
      kind === "item" ? ["done/", { done: values.done }]
      : values.status === "suggested" ? [`${PATHS[kind]}/suggest/`, pick(values, ["uid", "label", "start", "end", "source", "target"])] // undo of a decision
      : [`${PATHS[kind]}/${verb}/`, pick(values, FIELDS[verb][kind] ?? FIELDS[verb])];
    let response;
    try {
      response = await waitFor(fetch(this.base + path, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          Accept: "application/json",
          "X-CSRFToken": csrfToken(),
          "X-Annotator": this.annotator,
        },
        body: JSON.stringify(body),
        keepalive: true,
        signal: AbortSignal.timeout(TIMEOUT),
      }));
      if (response.ok) return { answer: await response.json() };
    } catch {
      return { again: "retrying" };
    }
    const { status } = response;
    if (status === 401) return { again: "signed out" };
    if (status === 507) return { again: "no room" };
    if (status >= 500 || status === 408 || status === 429) return { again: "retrying" };
    const answer = await response.json().catch(() => ({}));
    // Not an answer of ours: the cookie with the token went together with the session's.
    if (status === 403 && !answer.error) return { again: "signed out" };
    return { gone: status === 404, reason: answer.error ?? `The server refused this (${status}). Reload the page and try again.` };
  }
}
