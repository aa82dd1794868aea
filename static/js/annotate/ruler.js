// How wide names are, without putting them on the page.

export class Ruler {
  #pen = document.createElement("canvas").getContext("2d");
  #known = new Map();

  /** In the font of an element. */
  constructor(element) {
    this.element = element;
  }

  width(name) {
    if (!this.#known.size) this.#pen.font = getComputedStyle(this.element).font;
    if (!this.#known.has(name)) this.#known.set(name, Math.ceil(this.#pen.measureText(name).width) + 1);
    return this.#known.get(name);
  }

  forget() {
    this.#known.clear();
  }
}
