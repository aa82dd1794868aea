// How many items are done: remembered from page to page, because the server takes a moment to count them.

import { number } from "../words.js";

export class Progress {
  #done = null;
  isBehind = false; // to be counted anew when the server knows of everything
  isCurrent = () => true; // whether the server knows of everything that was done here

  constructor({ project, annotator, urls, gold }) {
    this.isOff = Boolean(gold);
    this.key = `done ${project} ${annotator}`;
    this.url = urls.progress;
  }

  count(step) {
    if (this.#done !== null) this.#show(this.#done + step);
  }

  async load() {
    if (this.isOff) return;
    let known = null;
    try { known = sessionStorage.getItem(this.key); } catch { /* storage may be off */ }
    if (known !== null) this.#show(Number(known));
    const counted = this.#done;
    const response = await fetch(this.url, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!response?.ok) return;
    const { done } = await response.json();
    this.isBehind = !this.isCurrent();
    if (this.isBehind) return;
    if (counted === this.#done) this.#show(done);
    else this.load(); // something was done meanwhile
  }

  #show(done) {
    this.#done = done;
    document.querySelector(".work-bar progress").value = done;
    document.getElementById("done-count").textContent = number(done);
    document.getElementById("progress").hidden = false;
    try { sessionStorage.setItem(this.key, done); } catch { /* counted anew on each page */ }
  }
}
