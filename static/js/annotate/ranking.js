// Which of several labels come first: those that the same words had before, then those used last, then those used most.

const REMEMBERED = 10;
const WHOSE = { own: "by you", given: "given", project: "in the project" };

/** The labels used last, the newest first, and how often each was used; kept by this browser, for one person and project. It only
    orders rows: to ask the server for it at every picker would cost more than it is worth. */
export class Recent {
  constructor(key) {
    this.key = key;
    try {
      Object.assign(this, { uids: [], counts: {} }, JSON.parse(localStorage.getItem(key)));
    } catch {
      Object.assign(this, { uids: [], counts: {} });
    }
  }

  add(uid) {
    this.uids = [uid, ...this.uids.filter((known) => known !== uid)].slice(0, REMEMBERED);
    this.counts[uid] = (this.counts[uid] ?? 0) + 1;
    const { uids, counts } = this;
    try { localStorage.setItem(this.key, JSON.stringify({ uids, counts })); } catch { /* remembered for this page only */ }
  }
}

export class Ranking {
  #places = new Map(); // by uid: what is compared, the first difference decides

  /** `uses` tells how often the words in question had which label, by whose marks: {own, given, project}, each {uid: count}. */
  constructor(recent, uses = {}) {
    this.recent = recent;
    this.uses = uses;
    const { uids, counts } = recent;
    for (const uid of new Set([...this.ofWords, ...uids, ...Object.keys(counts)])) {
      const latest = uids.includes(uid) ? uids.length - uids.indexOf(uid) : 0;
      this.#places.set(uid, [...Object.keys(WHOSE).map((whose) => uses[whose]?.[uid] ?? 0), latest, counts[uid] ?? 0]);
    }
  }

  /** The labels that the words had, in no order. */
  get ofWords() {
    return new Set(Object.keys(WHOSE).flatMap((whose) => Object.keys(this.uses[whose] ?? {})));
  }

  /** The same labels, those in front of which something is known. */
  sorted(labels) {
    const known = labels.filter(({ uid }) => this.#places.has(uid)).sort((one, other) => this.#compare(one.uid, other.uid));
    return known.length ? [...known, ...labels.filter(({ uid }) => !this.#places.has(uid))] : labels;
  }

  /** In words, how often the words had a label: of the nearest marks that know it. */
  count(uid) {
    const whose = Object.keys(WHOSE).find((each) => this.uses[each]?.[uid]);
    return whose ? `${this.uses[whose][uid]}× ${WHOSE[whose]}` : "";
  }

  #compare(one, other) {
    const [first, second] = [this.#places.get(one), this.#places.get(other)];
    const at = first.findIndex((value, place) => value !== second[place]);
    return at < 0 ? 0 : second[at] - first[at];
  }
}
