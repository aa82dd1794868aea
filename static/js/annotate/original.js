// The original text, below what was made of it where the two differ; the words that are selected are marked there, too.

export class Original {
  constructor(details, item) {
    this.details = details;
    this.read(item);
    details.addEventListener("toggle", () => this.mark(this.span));
  }

  /** Without a text the item has nothing else to show. */
  read({ original, offsets }) {
    this.details.hidden = original === null;
    this.chars = Array.from(original ?? ""); // code points, as the server counts
    this.offsets = offsets;
    this.mark(null);
  }

  /** Open or close it; false if there is nothing to show. */
  toggle() {
    if (this.details.hidden) return false;
    this.details.open = !this.details.open;
    return true;
  }

  mark(span) {
    this.span = span;
    if (!this.details.open) return;
    const text = (from, to) => this.chars.slice(from, to).join("");
    const nodes = [text()];
    if (span && this.offsets) {
      const [from, to] = [this.offsets[span[0]][0], this.offsets[span[1]][1]];
      const mark = document.createElement("mark");
      mark.textContent = text(from, to);
      nodes.splice(0, 1, text(0, from), mark, text(to));
    }
    this.details.querySelector("p").replaceChildren(...nodes);
  }
}
