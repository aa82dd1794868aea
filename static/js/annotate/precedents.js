// How words, the tokens with a space between them, were labelled before: asked as soon as they are selected, so that it is known
// when the picker opens.

const LONGEST = 500; // characters: longer ones do not come twice
const REST = 40; // ms: who holds an arrow key goes past words without a question for each

export class Precedents {
  #answers = new Map(); // by words: {own, given, project} or, on its way, the promise of it
  #timer = null;

  constructor(url) {
    this.url = url;
  }

  has(words) { return this.#answers.has(words); }

  /** Ask for words that may be labelled in a moment, and call `told` with the answer. */
  prepare(words, told) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => told(await this.of(words)), REST);
  }

  /** What is known of the words, or a promise of it. */
  of(words) {
    if (!this.url || words.length > LONGEST) return {};
    if (!this.#answers.has(words)) this.#answers.set(words, this.#ask(words));
    return this.#answers.get(words);
  }

  /** Marks were changed. */
  forget() {
    this.#answers.clear();
  }

  async #ask(words) {
    const asked = this.#answers;
    const response = await fetch(`${this.url}?${new URLSearchParams({ text: words })}`, { headers: { Accept: "application/json" } }).catch(() => null);
    const answer = response?.ok ? await response.json().catch(() => ({})) : {};
    if (asked.has(words)) asked.set(words, answer);
    return answer;
  }
}
