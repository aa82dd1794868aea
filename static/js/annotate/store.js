// Changes that are not saved yet, kept in this browser for each person and project: they outlive the page that made them.
// A browser may have no such place, or no room in it: then nothing here succeeds, and the page goes on without.

import { alive, isGone, tab } from "./tabs.js";

const NAME = "annotating";
const TABLE = "waiting";
const OWNER = "owner";
const PATIENCE = 3000; // ms; some browsers never answer
let database = null;

const answerOf = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const inTime = (promise) => Promise.race([promise, new Promise((_, reject) => setTimeout(reject, PATIENCE, new Error("no answer")))]);

async function open() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(TABLE, { keyPath: "id", autoIncrement: true }).createIndex(OWNER, ["person", "project"]);
  const opened = await answerOf(request);
  opened.onclose = opened.onversionchange = () => {
    opened.close();
    database = null;
  };
  return opened;
}

/** Resolves with what `work` returns of the table, once it is stored. */
async function within(mode, work) {
  database ??= open();
  const transaction = (await database.catch((error) => {
    database = null;
    throw error;
  })).transaction(TABLE, mode);
  const stored = new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error); // as when the disk is full
  });
  return (await Promise.all([work(transaction.objectStore(TABLE)), stored]))[0];
}

/** How many changes of somebody wait in this browser. */
export const countWaiting = (person) =>
  inTime(within("readonly", (table) => answerOf(table.index(OWNER).count(IDBKeyRange.bound([person], [person, []])))));

export class Store {
  constructor(person, project) { this.owner = { person, project }; }

  #all(table) { return answerOf(table.index(OWNER).getAll(Object.values(this.owner))); }

  #row({ item, operation, inverse, revision }) { return { item, operation, inverse, revision, ...this.owner, tab }; }

  /** Keep an entry; it has an `id` when it is kept. */
  async add(entry) {
    await inTime(alive);
    entry.id = await inTime(within("readwrite", (table) => answerOf(table.add(this.#row(entry)))));
  }

  /** Whether an entry is still this page's to send: another one takes it over when this one seemed to be gone. */
  async owns({ id }) {
    if (!id) return true;
    const found = await inTime(within("readonly", (table) => answerOf(table.get(id)))).catch(() => ({ tab }));
    return found?.tab === tab;
  }

  async change(entry) {
    if (entry.id) await inTime(within("readwrite", (table) => answerOf(table.put({ ...this.#row(entry), id: entry.id }))));
  }

  async remove({ id }) {
    if (id) await inTime(within("readwrite", (table) => answerOf(table.delete(id))));
  }

  /** The entries that pages left which are gone, in their order. They belong to this page from now on: no other gets them, too. */
  async takeOver() {
    const others = (await inTime(within("readonly", (table) => this.#all(table)))).map((entry) => entry.tab).filter((each) => each !== tab);
    const gone = new Set();
    for (const other of new Set(others)) if (await isGone(other)) gone.add(other);
    if (!gone.size) return [];
    await inTime(alive);
    return inTime(within("readwrite", async (table) => {
      const left = (await this.#all(table)).filter((entry) => gone.has(entry.tab));
      await Promise.all(left.map((entry) => answerOf(table.put(Object.assign(entry, { tab })))));
      return left;
    }));
  }
}
