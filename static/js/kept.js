// What is not stored on the server yet, kept in this browser for each person and place, such as the workspace of a project: operations
// that wait to be sent, and drafts of texts; and pages of the workspace that were fetched. It outlives the page that made it, but no
// more than 14 days.
// A browser may have no such place, or no room in it: then nothing here succeeds, and the page goes on without.

import { alive, isGone, tab } from "./tabs.js";

const NAME = "annotating";
const WAITING = "waiting";
const DRAFTS = "drafts";
const PAGES = "pages";
const TABLES = [WAITING, DRAFTS, PAGES];
const OWNER = "owner";
const AT = "at";
const LIFE = 14 * 24 * 3600 * 1000; // ms
const PATIENCE = 3000; // ms; some browsers never answer
let database = null;

const answerOf = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const inTime = (promise) => Promise.race([promise, new Promise((_, reject) => setTimeout(reject, PATIENCE, new Error("no answer")))]);

function forEach(request, act) {
  request.onsuccess = () => {
    if (!request.result) return;
    act(request.result);
    request.result.continue();
  };
}

function upgrade({ target: { result: opened, transaction }, oldVersion }) {
  opened.createObjectStore(PAGES, { keyPath: ["person", "place", "address"] }).createIndex(AT, AT);
  if (oldVersion > 1) return;
  const waiting = oldVersion ? transaction.objectStore(WAITING) : opened.createObjectStore(WAITING, { keyPath: "id", autoIncrement: true });
  if (oldVersion) {
    waiting.deleteIndex(OWNER);
    forEach(waiting.openCursor(), (cursor) => cursor.update({ ...cursor.value, place: `project ${cursor.value.project}`, at: Date.now() }));
  }
  waiting.createIndex(OWNER, ["person", "place"]);
  waiting.createIndex(AT, AT);
  opened.createObjectStore(DRAFTS, { keyPath: ["person", "place"] }).createIndex(AT, AT);
}

async function open() {
  const request = indexedDB.open(NAME, 3);
  request.onupgradeneeded = upgrade;
  const opened = await answerOf(request);
  opened.onclose = opened.onversionchange = () => {
    opened.close();
    database = null;
  };
  const transaction = opened.transaction(TABLES, "readwrite");
  const old = IDBKeyRange.upperBound(Date.now() - LIFE);
  for (const name of TABLES) forEach(transaction.objectStore(name).index(AT).openCursor(old), (cursor) => cursor.delete());
  return opened;
}

/** Resolves with what `work` returns of a table, once it is stored. */
async function within(name, mode, work) {
  database ??= open();
  const transaction = (await database.catch((error) => {
    database = null;
    throw error;
  })).transaction(name, mode);
  const stored = new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error); // as when the disk is full
  });
  return (await Promise.all([work(transaction.objectStore(name)), stored]))[0];
}

const read = (name, work) => inTime(within(name, "readonly", work));
const write = (name, work) => inTime(within(name, "readwrite", work));
const allOf = (person) => IDBKeyRange.bound([person], [person, []]);

/** Who is signed in, as the page says; its keys are numbers. */
export const whoIsHere = () => Number(document.querySelector("[data-signs-out]")?.dataset.signsOut);

/** How many changes of somebody wait in this browser. */
export const countWaiting = (person) => read(WAITING, (table) => answerOf(table.index(OWNER).count(allOf(person))));

/** The places where changes of somebody wait. */
export const placesOf = (person) =>
  read(WAITING, (table) => answerOf(table.index(OWNER).getAll(allOf(person)))).then((rows) => [...new Set(rows.map(({ place }) => place))]);

/* Drafts: a value for each place, as the person left it ------------------------------------------------------------ */

export const keepDraft = (person, place, value) =>
  write(DRAFTS, (table) => {
    const answer = answerOf(table.put({ person, place, value, at: Date.now() }));
    table.transaction.commit(); // the page may be about to go, and nobody waits for the answer
    return answer;
  });

/** What was kept, with its time: {value, at}; undefined if nothing was. */
export const draftOf = (person, place) => read(DRAFTS, (table) => answerOf(table.get([person, place])));

export const dropDraft = (person, place) => write(DRAFTS, (table) => answerOf(table.delete([person, place])));

export const countDrafts = (person) => read(DRAFTS, (table) => answerOf(table.count(allOf(person))));

export const dropDrafts = (person) => write(DRAFTS, (table) => answerOf(table.delete(allOf(person))));

/* Pages of the workspace: as they were fetched, or left ------------------------------------------------------------- */

export const keepPage = (person, place, address, page) => write(PAGES, (table) => answerOf(table.put({ person, place, address, page, at: page.at })));

export const keptPage = (person, place, address) => read(PAGES, (table) => answerOf(table.get([person, place, address]))).then((row) => row?.page);

export const dropPage = (person, place, address) => write(PAGES, (table) => answerOf(table.delete([person, place, address])));

export const dropPages = (person) => write(PAGES, (table) => answerOf(table.delete(allOf(person))));

/* What waits to be sent -------------------------------------------------------------------------------------------- */

export class Store {
  /** `fields` are those of an entry that are kept. */
  constructor(person, place, fields) { Object.assign(this, { owner: { person, place }, fields }); }

  #all(table) { return answerOf(table.index(OWNER).getAll(Object.values(this.owner))); }

  #row(entry) { return { ...Object.fromEntries(this.fields.map((field) => [field, entry[field]])), ...this.owner, at: entry.at, tab }; }

  /** Keep an entry; it has an `id` when it is kept. */
  async add(entry) {
    entry.at = Date.now();
    await inTime(alive);
    entry.id = await write(WAITING, (table) => answerOf(table.add(this.#row(entry))));
  }

  /** Whether an entry is still this page's to send: another one takes it over when this one seemed to be gone. */
  async owns({ id }) {
    if (!id) return true;
    const found = await read(WAITING, (table) => answerOf(table.get(id))).catch(() => ({ tab }));
    return found?.tab === tab;
  }

  async change(entry) {
    if (entry.id) await write(WAITING, (table) => answerOf(table.put({ ...this.#row(entry), id: entry.id })));
  }

  async remove({ id }) {
    if (id) await write(WAITING, (table) => answerOf(table.delete(id)));
  }

  /** The entries that pages left which are gone, in their order. They belong to this page from now on: no other gets them, too. */
  async takeOver() {
    const others = (await read(WAITING, (table) => this.#all(table))).map((entry) => entry.tab).filter((each) => each !== tab);
    const gone = new Set();
    for (const other of new Set(others)) if (await isGone(other)) gone.add(other);
    if (!gone.size) return [];
    await inTime(alive);
    return write(WAITING, async (table) => {
      const left = (await this.#all(table)).filter((entry) => gone.has(entry.tab));
      await Promise.all(left.map((entry) => answerOf(table.put(Object.assign(entry, { tab })))));
      return left;
    });
  }
}
