// What the constraints of the project allow here, said at once. The server decides: resources/rules.py has the same rules and
// words, and a test compares the two.

import { number } from "../words.js";

const nearest = (table, { line }) => table.get(line.find((uid) => table.has(uid)));
const isOneOf = ({ line }, set) => line.some((uid) => set.has(uid));
const meet = (one, other) => one.start <= other.end && other.start <= one.end;
const holds = (outer, inner) => outer.start <= inner.start && inner.end <= outer.end && (outer.start !== inner.start || outer.end !== inner.end);
const put = (table, key, make) => table.get(key) ?? table.set(key, make()).get(key);

export class Rules {
  #excluded = new Map(); // label: label: row
  #containers = new Map(); // label: row
  #relations = new Map(); // relation: source: row

  /** Rows as annotations/offers.py gives them; labels are the trees of labels by kind. */
  constructor({ entity, relation }, labels) {
    this.labels = labels;
    this.size = entity.length + relation.length;
    for (const [set, position, domain, excludes, contents] of entity) {
      const row = { set, position, domain, excludes, contents, allowed: new Set(contents) };
      for (const [one, other] of excludes.flatMap((label) => [[domain, label], [label, domain]])) {
        const table = put(this.#excluded, one, () => new Map());
        if (!table.has(other)) table.set(other, row);
      }
      if (contents) this.#containers.set(domain, row);
    }
    for (const [set, position, name, domain, range] of relation) {
      put(this.#relations, name, () => new Map()).set(domain, { set, position, domain, range, allowed: new Set(range) });
    }
  }

  /** A function that tells why words cannot be marked with a label beside other entities, or null. What needs no label to be
      known is looked up once, so that thousands of labels can be asked for at a key. */
  forWords(words, others) {
    const excluded = new Map(); // label: the first row that excludes it here, and the mark that has the other label
    const around = new Map(); // rows that limit what stands here
    const inside = new Map(); // labels of what stands inside
    for (const mark of others.filter((other) => meet(words, other))) {
      const label = this.labels.entity.get(mark.label);
      for (const table of label.line.map((uid) => this.#excluded.get(uid) ?? [])) {
        for (const [uid, row] of table) {
          const known = excluded.get(uid);
          if (!known || row.position < known.row.position) excluded.set(uid, { row, label });
        }
      }
      const row = holds(mark, words) && nearest(this.#containers, label);
      if (row && !around.has(row)) around.set(row, label);
      if (holds(words, mark)) inside.set(label.uid, label);
    }
    const stranger = new Map(); // of a row: a label inside that it does not allow
    return (label) => {
      let first = null;
      for (const uid of label.line) {
        const found = excluded.get(uid);
        if (found && !(first?.row.position <= found.row.position)) first = found;
      }
      if (first) return this.#excludes(label, first);
      for (const [row, outer] of around) if (!isOneOf(label, row.allowed)) return this.#contains(row, outer, label, `not inside ${outer.name}`);
      const row = inside.size && nearest(this.#containers, label);
      if (!row) return null;
      const inner = put(stranger, row, () => [...inside.values()].find((one) => !isOneOf(one, row.allowed)) ?? null);
      return inner && this.#contains(row, label, inner, `cannot contain ${inner.name}`);
    };
  }

  /** Why a relation cannot lead from a source to a target, or null. */
  against(source, relation, target) {
    const rows = nearest(this.#relations, relation);
    const row = rows && nearest(rows, source);
    if (!rows || (row && isOneOf(target, row.allowed))) return null;
    return reason(`forbidden by ${relation.name}`, () => {
      const [from, name, to] = [source, relation, target].map(quoted);
      if (!row) return `${name} cannot lead from ${from}: “${[...rows.values()][0].set}” has rules for it, but none for this source.`;
      const ends = row.range.length ? `only to ${this.#list(row.range)}` : "nowhere";
      return `${name} cannot lead from ${from} to ${to}: by ${rule(row)} it leads from every ${this.#list([row.domain])} ${ends}.`;
    });
  }

  #excludes(one, { row, label: other }) {
    return reason(`not with ${other.name}`, () => {
      const sides = [[one, other], [other, one]].filter(([side]) => side.line.includes(row.domain));
      const [excluded] = sides.flatMap(([, ends]) => row.excludes.filter((uid) => ends.line.includes(uid)));
      const words = `${rule(row)} excludes ${this.#list([excluded])} for every ${this.#list([row.domain])}.`;
      return `${quoted(one)} cannot share words with ${quoted(other)}: ${words}`;
    });
  }

  #contains(row, outer, inner, note) {
    return reason(note, () => {
      const contents = row.contents.length ? `only ${this.#list(row.contents)}` : "nothing";
      return `${quoted(inner)} cannot stand inside ${quoted(outer)}: by ${rule(row)} every ${this.#list([row.domain])} can contain ${contents}.`;
    });
  }

  #list(uids) {
    const names = uids.map((uid) => quoted(this.labels.entity.get(uid)));
    if (names.length > 5) return `${names.slice(0, 5).join(", ")} and ${number(names.length - 5)} more`;
    return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");
  }
}

const quoted = (label) => `“${label.name}”`;
const rule = ({ set, position }) => `rule ${number(position + 1)} of “${set}”`;
/** Thousands of labels have one; few are read. */
const reason = (note, say) => ({ note, get sentence() { return say(); } });
