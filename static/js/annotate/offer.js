// What the picker offers: the labels that a text finds or, without one, what was used before and one level of the tree. Labels that
// are not allowed here come last, greyed, with the reason; of relations, only those that are allowed are shown.

const SHOWN_BEFORE = 3; // rows of each kind above the tree, so that its numbers stay in sight
const MOST_NUMBERS = 99;

const remembered = (ask, known = new Map()) => (label) => {
  if (!known.has(label)) known.set(label, ask(label));
  return known.get(label);
};

/** What to type for each of so many rows: one digit, or two for all where nine are not enough. */
function numbers(count) {
  const width = count > 9 ? 2 : 1;
  return Array.from({ length: Math.min(count, MOST_NUMBERS) }, (_, at) => String(at + 1).padStart(width, "0"));
}

export class Offer {
  /** `against` tells why a label is not allowed, or null; with `hides` such labels are left out. */
  constructor({ labels, ranking, against, hides }) {
    Object.assign(this, { labels, ranking });
    this.against = remembered(against);
    this.isAllowed = (label) => label.active && !this.against(label);
    this.leadsOn = remembered((label) => label.children.some((child) => this.isAllowed(child) || this.leadsOn(child)));
    const active = hides ? labels.all.filter((label) => label.active) : [];
    this.allowed = active.filter(this.isAllowed);
    this.hidden = active.length - this.allowed.length;
  }

  rows(query, level) {
    const found = query ? this.#found(query) : this.hidden ? this.#listed() : this.#below(level);
    return [...found.filter((row) => !row.stuck), ...found.filter((row) => row.stuck && !this.hidden)];
  }

  /** Why nothing is allowed here. */
  get reason() {
    return this.against(this.labels.all.find((label) => label.active)).sentence;
  }

  #found(query) {
    return this.labels.search(query, this.ranking).map((label) => {
      const why = this.against(label);
      return { label, query, why, dim: Boolean(why), stuck: Boolean(why) };
    });
  }

  /** Where some are hidden, the others stand in one list. */
  #listed() {
    const numbered = numbers(this.allowed.length);
    return [...this.#usedBefore(), ...this.allowed.map((label, at) => ({ label, number: numbered[at] }))];
  }

  #below(level) {
    const labels = (level ? level.children : this.labels.top).filter((label) => label.offered);
    const numbered = numbers(labels.length);
    const rows = labels.map((label, at) => {
      const [dim, deeper] = [!this.isAllowed(label), this.leadsOn(label)];
      return { label, number: numbered[at], dim, deeper, stuck: dim && !deeper, why: this.#why(label) };
    });
    if (!level) return [...this.#usedBefore(), ...rows];
    return [{ label: level, isLevel: true, dim: !this.isAllowed(level), why: this.#why(level) }, ...rows];
  }

  /** For these very words, then for any. */
  #usedBefore() {
    const known = (uids) => [...uids].map((uid) => this.labels.byUid.get(uid)).filter((label) => label && this.isAllowed(label));
    const ofWords = this.ranking.sorted(known(this.ranking.ofWords)).slice(0, SHOWN_BEFORE);
    const recent = known(this.ranking.recent.uids).filter((label) => !ofWords.includes(label)).slice(0, SHOWN_BEFORE);
    const rows = [...ofWords.map((label) => ({ label })), ...recent.map((label) => ({ label, isRecent: true }))];
    if (rows.length) rows.at(-1).isLastBefore = true;
    return rows;
  }

  #why(label) {
    return label.active ? this.against(label) : null;
  }
}
