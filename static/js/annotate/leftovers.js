// What an earlier visit left unsaved: told when it is saved, item by item.

import { plural } from "../words.js";
import { here, toast } from "./workspace.js";

export class Leftovers {
  #saved = new Map(); // by item: how many changes, and whether something else changed it, too

  landed({ item }, isChanged) {
    const known = this.#saved.get(item.url) ?? { item, count: 0, isChanged: false };
    this.#saved.set(item.url, { item, count: known.count + 1, isChanged: known.isChanged || isChanged });
  }

  /** `go` leads to a page. */
  tell(go) {
    const items = [...this.#saved.values()];
    this.#saved.clear();
    if (!items.length) return;
    const parts = items.map(({ item, count }) => `${plural(count, "change", "changes")} of item ${item.number}`);
    const total = items.reduce((sum, { count }) => sum + count, 0);
    toast(`${parts.join(" and ")} from your last visit ${total === 1 ? "was" : "were"} saved.`, "success");
    for (const { item } of items.filter(({ isChanged }) => isChanged)) {
      const isElsewhere = item.url !== here.url;
      const words = `Item ${item.number} was also changed in another tab or on another device meanwhile.`;
      toast(`${words} Look whether it is as you want it.`, "warning", isElsewhere ? { label: `Item ${item.number}`, run: () => go(item.page) } : undefined);
    }
  }
}
