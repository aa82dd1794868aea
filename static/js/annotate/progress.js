// How many items are done: remembered from page to page, because the server takes a moment to count them.

import { number } from "../words.js";

export class Progress {
  #done = null;

  constructor({ project, annotator, urls }) {
    this.key = `done ${project} ${annotator}`;
    this.url = urls.progress;
  }

  count(step) {
    if (this.#done !== null) this.#show(this.#done + step);
  }

  /** `isCurrent` tells whether the server knows of everything that was done here. */
  async load(isCurrent) {
    let known = null;
    try { known = sessionStorage.getItem(this.key); } catch { /* storage may be off */ }
    if (known !== null) this.#show(Number(known));
    const counted = this.#done;
    const response = await fetch(this.url, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!response?.ok) return;
    const { done } = await response.json();
    if (isCurrent() && counted === this.#done) this.#show(done);
  }

  #show(done) {
    this.#done = done;
    document.querySelector(".work-bar progress").value = done;
    document.getElementById("done-count").textContent = number(done);
    document.getElementById("progress").hidden = false;
    try { sessionStorage.setItem(this.key, done); } catch { /* counted anew on each page */ }
  }
}
