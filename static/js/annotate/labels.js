// The labels of a project: two trees, loaded once and kept by the browser under their version.

import { waitFor } from "../waiting.js";
import { Rules } from "./rules.js";
import { Index } from "./search.js";

const whenIdle = globalThis.requestIdleCallback ?? ((run) => setTimeout(run, 200)); // Safari has none

export class Labels {
  #index = null;

  constructor(rows) {
    this.all = rows.map(([uid, name, , color, active, description, terms]) => ({
      uid, name, color, description, terms, active: Boolean(active), parent: null, children: [], size: 0,
    }));
    rows.forEach(([, , parent], place) => {
      if (parent < 0) return;
      this.all[place].parent = this.all[parent];
      this.all[parent].children.push(this.all[place]);
    });
    // Tree order: whatever is below a label comes after it.
    for (const label of this.all) label.line = label.parent ? [label.uid, ...label.parent.line] : [label.uid]; // to the top
    for (const label of [...this.all].reverse()) {
      label.offered = label.active || label.children.some((child) => child.offered);
      if (label.parent) label.parent.size += label.size + 1;
    }
    this.top = this.all.filter((label) => !label.parent);
    this.byUid = new Map(this.all.map((label) => [label.uid, label]));
  }

  get(uid) {
    return this.byUid.get(uid) ?? { uid, name: "unknown label", color: "#808080", description: "", terms: [], active: false, parent: null, children: [], line: [uid] };
  }

  path(label) {
    const names = [];
    for (let above = label.parent; above; above = above.parent) names.unshift(above.name);
    return names.join(" / ");
  }

  /** Active labels that are meant: by how well their names fit, then as `ranking` has them, then in tree order. */
  search(query, ranking) {
    const grade = this.index.ranker(query);
    const grades = [];
    for (const place of this.index.find(query)) if (this.all[place].active) (grades[grade(place)] ??= []).push(this.all[place]);
    return grades.flatMap((labels) => ranking.sorted(labels)); // leaves out those that no label has
  }

  /** Make what searches need while nobody waits for it. */
  prepare() {
    whenIdle(() => this.index);
  }

  get index() {
    return (this.#index ??= this.#makeIndex());
  }

  #makeIndex() {
    const places = new Map(this.all.map((label, place) => [label, place]));
    return new Index(
      this.all.map(({ name }) => name),
      this.all.map(({ name, description, terms }) => [name, description, ...terms].join("\0")),
      this.all.map(({ parent }) => places.get(parent) ?? -1),
    );
  }
}

async function load(url) {
  const response = await waitFor(fetch(url, { headers: { Accept: "application/json" } }));
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response.json();
}

export async function loadLabels(url) {
  const { entity = [], relation = [] } = await load(url);
  return { entity: new Labels(entity), relation: new Labels(relation) };
}

export const loadRules = async (url, labels) => new Rules(await load(url), await labels);
