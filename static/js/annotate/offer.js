// What the picker offers: the labels that a text finds or, without one, a level of the tree, and above it what was used before and
// is not in sight there. Each label has one row. Those that are not allowed here are greyed, with the reason: they keep their digit, and
// among what a text finds they come last. Of relations, only those that are allowed are shown.

const SHOWN_BEFORE = 3; // rows of each kind above the tree, so that its numbers stay in sight
const FITTING = 14; // rows of labels used last and of a level, where the level is short
const IN_SIGHT = 9; // labels of a level whose digits never change
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
    if (query) return this.#found(query);
    if (level) return this.#under(level);
    const labels = this.hidden ? this.allowed : this.labels.top.filter(({ offered }) => offered); // where some are hidden, the others stand in one list
    const { likely, recent, above } = this.#usedBefore(labels.slice(0, IN_SIGHT));
    const below = labels.filter((label) => !above.includes(label));
    const rows = [...above.map((label) => ({ label })), ...this.#numbered(below, labels.length)];
    for (const row of rows) Object.assign(row, { isLikely: row.label === likely, isRecent: recent.includes(row.label) });
    if (above.length) rows[above.length - 1].isLastBefore = true;
    return rows;
  }

  /** Why nothing is allowed here. */
  get reason() {
    return this.against(this.labels.all.find((label) => label.active)).sentence;
  }

  #found(query) {
    const rows = this.labels.search(query, this.ranking).map((label) => {
      const why = this.against(label);
      return { label, query, why, dim: Boolean(why), stuck: Boolean(why) };
    });
    return [...rows.filter(({ stuck }) => !stuck), ...rows.filter(({ stuck }) => stuck && !this.hidden)];
  }

  /** A level and what is right below it: its name stands there once. */
  #under(label) {
    const rows = this.#numbered(label.children.filter(({ offered }) => offered)).map((row) => ({ ...row, hidesParent: true }));
    return [{ label, isLevel: true, dim: !this.isAllowed(label), why: this.#why(label) }, ...rows];
  }

  /** As many digits as for `count` labels. */
  #numbered(labels, count = labels.length) {
    const numbered = numbers(count);
    return labels.map((label, at) => {
      const [dim, deeper] = [!this.isAllowed(label), !this.hidden && this.leadsOn(label)];
      return { label, number: numbered[at], dim, deeper, stuck: dim && !deeper, why: this.#why(label) };
    });
  }

  /** For these very words, then for any: which labels, and what is above the level, because it is not in sight there. */
  #usedBefore(inSight) {
    const known = (uids) => [...uids].map((uid) => this.labels.byUid.get(uid)).filter((label) => label && this.isAllowed(label));
    const ofWords = this.ranking.sorted(known(this.ranking.ofWords)).slice(0, SHOWN_BEFORE);
    const most = Math.max(SHOWN_BEFORE, FITTING - inSight.length);
    const recent = known(this.ranking.recent.uids).filter((label) => !ofWords.includes(label)).slice(0, most);
    const used = [...ofWords, ...recent];
    return { likely: used[0], recent, above: used.filter((label) => !inSight.includes(label)) };
  }

  #why(label) {
    return label.active ? this.against(label) : null;
  }
}
