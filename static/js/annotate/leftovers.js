// What an earlier visit left unsaved: told when it is saved, item by item.

import { plural } from "../words.js";
import { onPage, toast } from "./workspace.js";

export class Leftovers {
  #saved = new Map(); // how many changes of which item, by its address
  #changed = new Map();

  landed({ item }) {
    this.#saved.set(item.url, { item, count: (this.#saved.get(item.url)?.count ?? 0) + 1 });
  }

  /** Something else changed the item after it was left. */
  changed(item) {
    this.#changed.set(item.url, item);
  }

  /** `go` leads to a page. */
  tell(go) {
    const items = [...this.#saved.values()];
    const changed = [...this.#changed.values()];
    this.#saved.clear();
    this.#changed.clear();
    if (!items.length) return;
    const parts = items.map(({ item, count }) => `${plural(count, "change", "changes")} of item ${item.number}`);
    const isOne = items.length === 1 && items[0].count === 1;
    toast(`${parts.join(" and ")} from your last visit ${isOne ? "was" : "were"} saved.`, "success");
    for (const item of changed) {
      const words = `Item ${item.number} was also changed in another tab or on another device meanwhile. Look whether it is as you want it.`;
      toast(words, "warning", onPage(item) ? undefined : { label: `Item ${item.number}`, run: () => go(item.page) });
    }
  }
}
