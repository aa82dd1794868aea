// The marks of one item, as the browser knows them. Every operation is a plain object; applying it gives its inverse.

import { newUid } from "../uid.js";

/** @typedef {{kind: "entity"|"relation"|"item", verb: "add"|"label"|"resize"|"reverse"|"remove"|"done", uid?: string, status?: string}} Operation With the status “suggested” it undoes a decision. */

/** The ends of a relation that leads the other way. */
export const turned = ({ source, target }) => ({ source: target, target: source });

/** The operation for an item in which a mark has another uid. */
export function renamed(operation, kind, old, uid) {
  const keys = [...(operation.kind === kind ? ["uid"] : []), ...(kind === "entity" ? ["source", "target"] : [])].filter((key) => operation[key] === old);
  return keys.length ? { ...operation, ...Object.fromEntries(keys.map((key) => [key, uid])) } : operation;
}

/** What is shown of marks: no suggestion of which its source was less sure, nor a relation at one. */
function shown({ entities, relations }) {
  const isSure = ({ status, score }) => status !== "suggested" || (score ?? 1) >= Marks.least;
  const seen = { entities: entities.filter(isSure) };
  const uids = new Set(seen.entities.map(({ uid }) => uid));
  return { ...seen, relations: relations.filter((mark) => isSure(mark) && uids.has(mark.source) && uids.has(mark.target)) };
}

const written = (marks) => marks.map((m) => JSON.stringify([m.uid, m.label, m.status, m.start ?? m.source, m.end ?? m.target])).sort().join();

/** Who suggested a mark, and how sure that was. */
export const sourceOf = ({ by, score }) => (by ? `suggested by ${by}${score == null ? "" : `, ${score.toFixed(2)}`}` : "");

export class Marks {
  static least = 0; // of the score of a suggestion

  constructor(state) { this.replace(state); }

  replace(state) {
    const { entities, relations } = shown(state);
    this.entity = new Map(entities.map((mark) => [mark.uid, mark]));
    this.relation = new Map(relations.map((mark) => [mark.uid, mark]));
    this.done = state.done;
  }

  /** Marks to try something on. */
  copy() { return new Marks(this); }

  get entities() { return [...this.entity.values()]; }
  get relations() { return [...this.relation.values()]; }

  /** Whether these are the marks that the server has, in whatever order. */
  same(state) {
    const { entities, relations } = shown(state);
    return this.done === state.done && written(this.entities) === written(entities) && written(this.relations) === written(relations);
  }

  /** In the order of the text; the outer mark first. */
  inTextOrder() {
    return this.entities.sort((a, b) => a.start - b.start || b.end - a.end);
  }

  /** What waits to be decided: entities in the order of the text, then relations. */
  get undecided() {
    const isSuggested = ({ status }) => status === "suggested";
    const of = (kind) => ({ uid, label }) => ({ kind, uid, label });
    return [...this.inTextOrder().filter(isSuggested).map(of("entity")), ...this.relations.filter(isSuggested).map(of("relation"))];
  }

  /** Marks over a token, the innermost first. */
  over(token) {
    return this.entities.filter((m) => m.start <= token && token <= m.end).sort((a, b) => a.end - a.start - (b.end - b.start));
  }

  twin(kind, mark, label) {
    const same = kind === "entity" ? ["start", "end"] : ["source", "target"];
    return [...this[kind].values()].find((other) => other.uid !== mark.uid && other.label === label && same.every((key) => other[key] === mark[key]));
  }

  /** What makes a mark: one that says the same is accepted, if it is there. */
  making(kind, mark) {
    const twin = this.twin(kind, mark, mark.label);
    return twin ? { kind, verb: "label", uid: twin.uid, label: mark.label } : { kind, verb: "add", uid: newUid(), ...mark };
  }

  /** Change the marks; returns the operations that take it back, or null if there is nothing to do. */
  apply(operation) {
    const { kind, verb, uid } = operation;
    if (verb === "done") {
      if (this.done === operation.done) return null;
      this.done = operation.done;
      return [{ ...operation, done: !operation.done }];
    }
    const known = this[kind].get(uid);
    if (verb === "add") {
      const { kind: _, verb: __, ...mark } = operation;
      const endsThere = kind === "entity" || (this.entity.has(mark.source) && this.entity.has(mark.target));
      if (known || !endsThere) return null;
      const { status = "accepted" } = mark;
      this[kind].set(uid, { ...mark, status });
      return [{ kind, verb: "remove", uid }, ...(status === "accepted" ? this.#acceptEnds(mark) : [])];
    }
    if (!known) return null;
    if (verb === "label") {
      // Whoever gives a label, the old one too, accepts what was suggested.
      const { label, status = "accepted" } = operation;
      if (known.label === label && known.status === status) return null;
      this[kind].set(uid, { ...known, label, status });
      const ends = status === "accepted" ? this.#acceptEnds(known) : [];
      return [{ kind, verb, uid, label: known.label, status: known.status }, ...ends];
    }
    if (verb === "resize") {
      // Whoever does that accepts what was suggested, too.
      const { start, end, status = "accepted" } = operation;
      if (known.start === start && known.end === end && known.status === status) return null;
      this[kind].set(uid, { ...known, start, end, status });
      return [{ kind, verb, uid, start: known.start, end: known.end, label: known.label, status: known.status }];
    }
    if (verb === "reverse") {
      // It names the ends as they shall be: sent twice, it is made once. Whoever does that accepts what was suggested, its ends too.
      const { source, target, status = "accepted" } = operation;
      if (known.source === source && known.status === status) return null;
      this[kind].set(uid, { ...known, source, target, status });
      const ends = status === "accepted" ? this.#acceptEnds(known) : [];
      return [{ kind, verb, uid, source: known.source, target: known.target, label: known.label, status: known.status }, ...ends];
    }
    const loose = kind === "entity" ? this.relations.filter((r) => r.source === uid || r.target === uid) : [];
    loose.forEach((relation) => this.relation.delete(relation.uid));
    this[kind].delete(uid);
    return [{ ...known, kind, verb: "add" }, ...loose.map((relation) => ({ ...relation, kind: "relation", verb: "add" }))];
  }

  /** Whoever accepts a relation accepts its ends, as the server does. */
  #acceptEnds({ source, target }) {
    const ends = [source, target].map((uid) => this.entity.get(uid)).filter((end) => end?.status === "suggested");
    return ends.flatMap(({ uid, label }) => this.apply({ kind: "entity", verb: "label", uid, label }));
  }

  /** The server knew this mark under another uid already. */
  rename(kind, old, uid) {
    const mark = this[kind].get(old);
    if (!mark) return;
    this[kind].delete(old);
    if (!this[kind].has(uid)) this[kind].set(uid, { ...mark, uid });
    if (kind !== "entity") return;
    for (const relation of this.relations) {
      for (const end of ["source", "target"]) if (relation[end] === old) relation[end] = uid;
    }
  }
}
