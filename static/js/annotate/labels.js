// The labels of a project: two trees, loaded once and kept by the browser under their version.

import { waitFor } from "../waiting.js";
import { Rules } from "./rules.js";

const fold = (text) => text.normalize("NFC").toLowerCase();

export class Labels {
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

  /** Active labels: names that begin with the text, names that contain it, then descriptions and terms; each in tree order. */
  search(query) {
    const wanted = fold(query.trim());
    const found = [[], [], []];
    for (const label of this.all) {
      if (!label.active) continue;
      label.folded ??= fold(label.name);
      const at = label.folded.indexOf(wanted);
      if (at >= 0) found[at ? 1 : 0].push({ label, at, length: wanted.length });
      else {
        label.more ??= fold([label.description, ...label.terms].join("\n"));
        if (label.more.includes(wanted)) found[2].push({ label, at: -1 });
      }
    }
    return found.flat();
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

/** The labels used last, the newest first; kept by this browser. */
export class Recent {
  constructor(key) {
    this.key = key;
    try { this.uids = JSON.parse(localStorage.getItem(key)) ?? []; } catch { this.uids = []; }
  }

  add(uid) {
    this.uids = [uid, ...this.uids.filter((known) => known !== uid)].slice(0, 3);
    try { localStorage.setItem(this.key, JSON.stringify(this.uids)); } catch { /* remembered for this page only */ }
  }
}

/** The name as nodes, with the matching part in bold. */
export function boldName({ label, at, length }) {
  const { name } = label;
  // Folding may change the length of a name; then there is no certain place to point at.
  if (at < 0 || !length || fold(name).length !== name.length) return [name];
  const bold = document.createElement("b");
  bold.textContent = name.slice(at, at + length);
  return [name.slice(0, at), bold, name.slice(at + length)];
}
