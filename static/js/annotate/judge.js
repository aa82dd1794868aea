// Which labels the marks of an item leave over. It asks as the server does: accepted marks are judged against accepted marks, and
// what broke a rule before may go on.

import { turned } from "./marks.js";

const isAccepted = ({ status }) => status === "accepted";
const OFF = (label) => ({ note: "", sentence: `The label “${label.name}” of a suggestion is switched off and cannot be applied any more.` });

/** Each answer is a function that tells of a label why it is not allowed, or null. */
export class Judge {
  constructor(rules, marks) {
    Object.assign(this, { rules, marks, labels: rules.labels });
  }

  #labelOf(uid) { return this.labels.entity.get(this.marks.entity.get(uid).label); }

  /** For words that are marked anew. */
  forWords(start, end) {
    return this.rules.forWords({ start, end }, this.marks.entities.filter(isAccepted));
  }

  /** For an entity that gets another label. */
  forEntity(mark) {
    const besideOthers = this.rules.forWords(mark, this.#unbroken(mark));
    const atRelations = this.marks.relations
      .filter((relation) => isAccepted(relation) && [relation.source, relation.target].includes(mark.uid))
      .map((relation) => this.#atRelation(relation, mark.uid))
      .filter((against) => !against(this.#labelOf(mark.uid)));
    return (label) => besideOthers(label) ?? atRelations.map((against) => against(label)).find(Boolean) ?? null;
  }

  /** For an entity that is to mark other words: why it may not, or null. */
  againstResizing(mark, start, end) {
    const label = this.#labelOf(mark.uid);
    if (!label.active && !isAccepted(mark)) return OFF(label);
    return this.rules.forWords({ start, end }, this.#unbroken(mark))(label);
  }

  /** For a relation, new or not, between two entities. */
  forRelation({ source, target, label, status }) {
    const ends = [source, target].map((uid) => this.#labelOf(uid));
    const against = (relation) => this.rules.against(ends[0], relation, ends[1]);
    const barred = this.#againstAccepting([source, target]);
    if (barred) return () => barred;
    return status === "accepted" && against(this.labels.relation.get(label)) ? () => null : against;
  }

  /** For a suggestion that is accepted: why not, or null. */
  againstTaking(kind, mark) {
    const label = this.labels[kind].get(mark.label);
    if (!label.active) return OFF(label);
    return kind === "entity" ? this.forEntity(mark)(label) : this.forRelation(mark)(label);
  }

  /** For a relation that is reversed: why not, or null. */
  againstReversing(relation) {
    const label = this.labels.relation.get(relation.label);
    const [from, to] = [relation.source, relation.target].map((uid) => this.#labelOf(uid));
    const isOwn = isAccepted(relation);
    if (isOwn && this.rules.against(from, label, to)) return null;
    return label.active || isOwn ? this.forRelation(turned(relation))(label) : OFF(label);
  }

  /** Why no relation at all can lead from a source to a target, or null. */
  againstRelating(ends) {
    const against = this.forRelation(ends);
    const active = this.labels.relation.all.filter((label) => label.active);
    const reasons = new Set();
    for (const label of active) {
      const why = against(label);
      if (!why) return null;
      reasons.add(why);
    }
    if (reasons.size === 1) return [...reasons][0];
    const [from, to] = [ends.source, ends.target].map((uid) => this.#labelOf(uid).name);
    return { note: "", sentence: active.length ? `No relation can lead from “${from}” to “${to}”.` : "There are no relation labels to choose from." };
  }

  /** Entities beside which this one breaks no rule as it is. */
  #unbroken(mark) {
    const breaks = (other) => isAccepted(mark) && this.rules.forWords(mark, [other])(this.#labelOf(mark.uid));
    return this.marks.entities.filter((other) => isAccepted(other) && other.uid !== mark.uid && !breaks(other));
  }

  #atRelation({ source, target, label }, uid) {
    const relation = this.labels.relation.get(label);
    return (end) => this.rules.against(source === uid ? end : this.#labelOf(source), relation, target === uid ? end : this.#labelOf(target));
  }

  /** Whoever relates suggestions accepts them. */
  #againstAccepting(uids) {
    const suggested = uids.map((uid) => this.marks.entity.get(uid)).filter((mark) => !isAccepted(mark));
    if (!suggested.length) return null;
    const others = this.marks.entities.filter((mark) => isAccepted(mark) || uids.includes(mark.uid));
    for (const mark of suggested) {
      const label = this.#labelOf(mark.uid);
      const found = label.active ? this.rules.forWords(mark, others.filter((other) => other !== mark))(label) : OFF(label);
      if (found) return found;
    }
    return null;
  }
}
