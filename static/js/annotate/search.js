// Finding labels by what people type: several words, parts of CamelCase names, parts of a path, with one typing error at need.
// ontologies/search.py does the same for the tree editor, and a test compares the two.

const LONG_ENOUGH = 4; // letters of a word from which a typing error is looked for: with fewer, too many words are like it
const PARTS = /[A-Z]?(?:(?![A-Z])[\p{L}\p{Nl}\p{No}])+|[A-Z]+|\p{Nd}+/gu;

const ASCII = /^[\0-\x7f]*$/;

/** Without case, whatever its form: “ß” is “ss”, as for Python's casefold. Most texts take the short way: a third of the time. */
export const fold = (text) => (ASCII.test(text) ? text.toLowerCase() : text.normalize("NFC").toUpperCase().toLowerCase().replaceAll("ς", "σ"));
const wordsOf = (text) => text.split(/[\s/]+/).filter(Boolean);
const lastPart = (text) => text.split("/").at(-1).trim();
const none = () => false;

export class Index {
  /** In tree order: the name of each label, all its text, and the place of the label above it or -1. */
  constructor(names, texts, above) {
    Object.assign(this, { names, above, folded: names.map(fold), texts: texts.map(fold), partsOf: [] });
  }

  /** The places of those that are meant; only if there are none, of those that are meant but for one typing error. */
  find(text) {
    const wanted = text.normalize("NFC").trim();
    const words = wordsOf(wanted);
    if (!words.length) return [];
    const found = this.#all(this.#meant(wanted));
    if (found.length) return found;
    const unknown = words.filter((word) => !this.#all(this.#hasWord(word, this.texts)).length);
    return unknown.length === 1 ? this.#all(this.#meant(wanted, unknown[0])) : [];
  }

  /** A function that tells how well the name at a place fits, best first: it is the text, or its initials are, or begin with it; it
      begins with it, one of its parts does, its initials have it in a row, it contains it, or none of these. */
  ranker(text) {
    const last = lastPart(text.normalize("NFC"));
    const wanted = fold(last);
    const hasInitials = /^\p{Uppercase}{2,}$/u.test(last);
    return (place) => {
      const name = this.folded[place];
      const initials = hasInitials ? initialsOf(this.names[place]) : "";
      if (name === wanted) return 0;
      if (initials && initials === last) return 1;
      if (initials && initials.startsWith(last)) return 2;
      if (name.startsWith(wanted)) return 3;
      if (this.#partsAt(place).some((part) => part.startsWith(wanted))) return 4;
      if (initials.includes(last)) return 5;
      return name.includes(wanted) ? 6 : 7;
    };
  }

  #all(fits) {
    const found = [];
    for (let place = 0; place < this.names.length; place += 1) if (fits(place)) found.push(place);
    return found;
  }

  #meant(text, wrong) {
    const path = text.replace(/^\/+/, "").split("/");
    const fits = this.#hasWords(path.pop(), this.texts, wrong);
    if (!path.length) return fits;
    let below = null;
    for (const part of path) {
      const here = this.#hasWords(part, this.folded, wrong);
      const above = below;
      below = this.#below((place) => here(place) && (!above || above.has(place)));
    }
    const plain = text.endsWith("/") ? none : this.#hasWords(text, this.texts);
    return (place) => (below.has(place) && fits(place)) || plain(place);
  }

  #hasWords(text, texts, wrong) {
    const tests = text.split(/\s+/).filter(Boolean).map((word) => (word === wrong ? this.#nearly(word, texts) : this.#hasWord(word, texts)));
    return (place) => tests.every((test) => test(place));
  }

  #hasWord(word, texts) {
    const folded = fold(word);
    const pattern = camelCase(word);
    return (place) => texts[place].includes(folded) || (pattern?.test(this.names[place]) ?? false);
  }

  #nearly(word, texts) {
    const folded = fold(word);
    if (folded.length < LONG_ENOUGH) return this.#hasWord(word, texts);
    return (place) => isNearly(folded, this.folded[place]) || this.#partsAt(place).some((part) => isNearly(folded, part));
  }

  #below(isAbove) {
    const found = new Set();
    this.above.forEach((parent, place) => parent >= 0 && (found.has(parent) || isAbove(parent)) && found.add(place));
    return found;
  }

  #partsAt(place) {
    return (this.partsOf[place] ??= this.names[place].match(PARTS)?.map(fold) ?? []);
  }
}

/** Of “SensingObject” and of “sensing object”: “SO”. */
const initialsOf = (name) => name.match(/\p{Uppercase}|(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)?.join("").toUpperCase() ?? "";

/** For “SenObj” or “SO” what finds “SensingObject” and “sensing object”: each part begins where a part of the name does. */
function camelCase(word) {
  const parts = word.split(/(?=(?![a-z])[\p{L}\p{Nl}\p{No}])/u);
  if (parts.length < 2 || !parts.every((part) => /^\p{Uppercase}/u.test(part))) return null;
  const [begin, ...others] = parts.map(([first, ...rest]) => `(?:${first}|(?<![\\p{L}\\p{N}])${first.toLowerCase()})${rest.map(inAnyCase).join("")}`);
  // Each stands as early as it can and, in a lookahead, stays there: to try the other places takes for ever where
  // capitals are many.
  return new RegExp(begin + others.map((part, before) => `(?=(.*?${part}))\\${before + 1}`).join(""), "u");
}

/** Not the flag “i”: where a part begins, case matters. */
function inAnyCase(letter) {
  const forms = [letter, letter.toLowerCase(), letter.toUpperCase()].map((form) => form.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return `(?:${forms.join("|")})`;
}

/** Whether a word begins like what was typed but for one letter that is wrong, missing, too many, or swapped with the next. */
function isNearly(typed, word) {
  let at = 0;
  while (at < typed.length && typed[at] === word[at]) at += 1;
  const isSwapped = typed[at] === word[at + 1] && typed[at + 1] === word[at];
  return goesOn(typed, at, word, at + 1) || goesOn(typed, at + 1, word, at) || goesOn(typed, at + 1, word, at + 1) || (isSwapped && goesOn(typed, at + 2, word, at + 2));
}

/** Letter by letter: pieces of every word would be cut out otherwise, at a key. */
function goesOn(typed, from, word, at) {
  for (; from < typed.length; from += 1, at += 1) if (typed[from] !== word[at]) return false;
  return true;
}
