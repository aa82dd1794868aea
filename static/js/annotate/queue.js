// Sends operations one after the other, in their order, each until the server has answered. What cannot be sent is tried again,
// and kept in the browser until it is answered: the next page sends it.

import { waitFor } from "../waiting.js";
import { post } from "./post.js";
import { renamed } from "./marks.js";

const PATHS = { entity: "entities", relation: "relations" };
const FIELDS = {
  add: { entity: ["uid", "label", "start", "end", "proof"], relation: ["uid", "label", "source", "target", "proof"] },
  suggest: { entity: ["uid", "label", "start", "end"], relation: ["uid", "label", "source", "target"] },
  label: ["uid", "label", "proof"],
  resize: ["uid", "start", "end", "proof"],
  reverse: ["uid", "source", "target", "proof"],
  remove: ["uid"],
};
const ENDS = ["source", "target"];
const TIMEOUT = 15_000;
const MOST = 50; // operations in one request
/** The fields of an entry that are kept. */
export const KEPT = ["item", "operation", "inverse", "textVersion", "words", "revision"];

const pick = (object, keys) => Object.fromEntries(keys.map((key) => [key, object[key]]));
/** What brings a mark back is for its label and, where it was resized, for the words that it covered. */
export const proofKey = ({ url }, { kind, verb, uid, label, start, end }) => [url, kind, uid, label, ...(verb === "resize" ? [start, end] : [])].join(" ");
const resizedBack = ({ inverse }, { kind, uid }) => inverse.find((each) => each.verb === "resize" && each.kind === kind && each.uid === uid);
/** The marks that an operation names; an entity and a relation may have the same uid. */
const named = (operation) => [`${operation.kind} ${operation.uid}`, ...ENDS.map((end) => `entity ${operation[end]}`)];
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** An answer, or the reason of a refusal. */
function outcomeOf(status, { error, ...answer }) {
  if (status === 200) return { answer };
  const { revision, text_version: textVersion } = answer;
  return { gone: status === 404, revision, textVersion, reason: error ?? `The server refused this (${status}). Reload the page and try again.` };
}

/** Where an operation is sent, and what is said there. */
export function requestOf({ kind, verb, ...values }) {
  if (kind === "item") return ["done/", { done: values.done }];
  const request = values.status === "suggested" ? "suggest" : verb; // undo of a decision
  return [`${PATHS[kind]}/${request}/`, pick(values, FIELDS[request][kind] ?? FIELDS[request])];
}

export class Queue {
  #waiting = []; // {item, operation, inverse, textVersion, words, revision, ready: a promise}, with an `id` once the store has it
  #running = false;
  #onWay = 0; // how many of those that wait are being sent
  sent = 0; // operations so far
  #revisions = new Map(); // of items, as the last answer told
  #wake = () => {};

  /** tell(state, count), answered(entry, answer), refused(entry, reason, dropped entries, {gone, corrected}), renamed(entry, uid), notKept(), signedOut() */
  constructor({ annotator, store, proofs, tell, answered, refused, renamed = () => {}, notKept = () => {}, signedOut = () => {} }) {
    Object.assign(this, { annotator, store, proofs, tell, answered, refused, renamed, notKept, signedOut });
    addEventListener("online", () => this.#wake());
    addEventListener("focus", () => this.#wake());
  }

  get size() { return this.#waiting.length; }

  /** Whether nothing that waits would be lost with this page. */
  get isKept() { return this.#waiting.every(({ id }) => id); }

  /** Whether the server has yet to hear of this item. */
  has(item) { return this.of(item).length > 0; }

  /** What waits of an item, in its order. */
  of(item) { return this.#waiting.filter((entry) => entry.item.url === item.url); }

  /** Which of its states of an item the page has seen; the answers of later ones may have come before. */
  knows(item, revision) {
    this.#revisions.set(item.url, Math.max(revision, this.#revisions.get(item.url) ?? 0));
  }

  /** `textVersion` is that of the text for which the operation was made, `words` are what it is about. */
  push({ item, operation, inverse, textVersion, words }) {
    this.sent += 1;
    const entry = { item, operation, inverse, textVersion, words, revision: this.#revisions.get(item.url) };
    entry.ready = this.store.add(entry).catch(this.notKept);
    this.#waiting.push(entry);
    this.#start();
  }

  /** Try at once. */
  tryNow() { this.#wake(); }

  /** Send what another page left, before everything that is done here. */
  takeOver(entries) {
    this.sent += entries.length;
    this.#waiting.splice(this.#onWay, 0, ...entries);
    this.#start();
  }

  #start() {
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
      const batch = this.#batch();
      this.#onWay = batch.length;
      await Promise.all(batch.map(({ ready }) => ready));
      const { again, outcomes } = await this.#send(batch);
      if (again) {
        failures += 1;
        if (again === "signed out" && this.state !== "signed out") this.signedOut();
        this.#say(again);
        const pause = Math.min(30_000, 500 * 2 ** Math.min(failures, 6));
        await Promise.race([wait(pause), woken]);
        await this.#dropTaken();
        this.#onWay = 0;
        continue;
      }
      failures = 0;
      for (const [at, entry] of batch.entries()) {
        if (entry !== this.#waiting[0]) continue; // it was dropped with one before
        const { reason, answer } = outcomes[at];
        if (reason) this.#takeBack(outcomes[at]);
        else this.#land(answer);
      }
      this.#onWay = 0;
    }
    this.#running = false;
    this.#say("saved");
  }

  /** What is sent together: operations of the first item up to the first one that builds on another of them. The answer to that may be
      needed for it: a mark may have another uid on the server, and what brings one back is told when it goes. “Done” builds on all: if
      its answer is lost, what is sent again would be refused. */
  #batch() {
    const [{ item }] = this.#waiting;
    const touched = new Set();
    const end = this.#waiting.findIndex(({ item: { url }, operation, inverse }, at) => {
      if (url !== item.url || (at && operation.kind === "item") || named(operation).some((mark) => touched.has(mark))) return true;
      for (const { kind, uid } of [operation, ...inverse]) touched.add(`${kind} ${uid}`);
      return false;
    });
    return this.#waiting.slice(0, Math.min(end < 0 ? this.size : end, MOST));
  }

  /** A page that sleeps for long may be taken for gone. */
  async #dropTaken() {
    for (const entry of [...this.#waiting]) {
      if (!(await this.store.owns(entry))) this.#waiting = this.#waiting.filter((each) => each !== entry);
    }
  }

  #land(answer) {
    const entry = this.#waiting.shift();
    const { item, operation } = entry;
    this.store.remove(entry).catch(() => {}); // sent once more then, which changes nothing
    for (const mark of answer.was ?? []) this.proofs.set(proofKey(item, resizedBack(entry, mark) ?? mark), mark.proof);
    this.#revisions.set(item.url, answer.revision);
    const stored = answer[operation.kind];
    if (operation.verb === "add" && stored && stored.uid !== operation.uid) {
      this.#change(item, (each) => renamed(each, operation.kind, operation.uid, stored.uid));
      this.renamed(entry, stored.uid);
    }
    this.answered(entry, answer);
  }

  /** Change the operations that wait for an item, and what would take them back. */
  #change(item, change) {
    for (const entry of this.of(item)) {
      Object.assign(entry, { operation: change(entry.operation), inverse: entry.inverse.map(change) });
      this.store.change(entry).catch(() => {});
    }
  }

  /** Drop the refused operation, those that build on it, and “done”: it was said of an item with that change. */
  #takeBack({ reason, gone, revision, textVersion }) {
    const [refused] = this.#waiting;
    this.#revisions.set(refused.item.url, revision);
    const touched = new Set();
    const dropped = [];
    const follows = ({ item, operation }) =>
      item.url === refused.item.url && (operation.kind === "item" || named(operation).some((mark) => touched.has(mark)));
    this.#waiting = this.#waiting.filter((entry) => {
      if (entry !== refused && !follows(entry)) return true;
      for (const { kind, uid } of entry.inverse) touched.add(`${kind} ${uid}`);
      dropped.push(entry);
      this.store.remove(entry).catch(() => {});
      return false;
    });
    this.refused(refused, reason, dropped, { gone, corrected: textVersion > (refused.textVersion ?? 1) });
  }

  async #send(batch) {
    const [{ item }] = batch;
    const requests = batch.map(({ operation, textVersion }) => {
      const [path, body] = requestOf({ ...operation, proof: this.proofs.get(proofKey(item, operation)) });
      return { path, body: { ...body, text_version: textVersion } };
    });
    requests[0].body.revision = this.#revisions.get(item.url);
    const [path, body] = batch.length > 1 ? ["operations/", { operations: requests }] : Object.values(requests[0]);
    let response;
    try {
      response = await waitFor(post(item.url + path, this.annotator, body, AbortSignal.timeout(TIMEOUT)));
      if (response.ok) {
        const { answers, ...answer } = await response.json();
        return { outcomes: (answers ?? [answer]).map((each) => outcomeOf(each.status ?? 200, { ...answer, ...each })) };
      }
    } catch {
      return { again: "retrying" };
    }
    const { status } = response;
    if (status === 401) return { again: "signed out" };
    if (status === 507) return { again: "no room" };
    if (status >= 500 || status === 408 || status === 429) return { again: "retrying" };
    const refusal = await response.json().catch(() => ({}));
    // Not an answer of ours: the cookie with the token went together with the session's.
    if (status === 403 && !refusal.error) return { again: "signed out" };
    return { outcomes: batch.map(() => outcomeOf(status, refusal)) };
  }
}
