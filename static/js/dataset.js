// What comes in: the beginning of the pasted text or of the chosen file goes into the field `sample`, and the event "sample"
// tells htmx to send it. The server answers with a preview, and the event "detected" with what it takes the content for.

const BYTES = 64_000;
const $ = (id) => document.getElementById(id);
const ids = ["id_text", "id_file", "sample", "preview", "file-problem", "clear-file", "id_name", "file-name", "detected", "sample-bytes"];
const [text, file, sample, preview, problem, clear, name, fileName, detected, bytes] = ids.map($);
const form = text.form;
const kept = { start: sample.value, name: fileName.value }; // of a file that is here already

// The last line of a part may be cut in its middle, so it is left out, unless there is no other.
const wholeLines = (part) => part.slice(0, Math.max(part.lastIndexOf("\n"), part.lastIndexOf("\r")) + 1 || undefined);

// The beginning of a file: its text or, if it is no text in UTF-8, its bytes.
async function read(chosen) {
  const part = await chosen.slice(0, BYTES).arrayBuffer();
  try {
    if (new Uint8Array(part).includes(0)) throw new TypeError("no text");
    // `stream` lets the part end in the middle of a character.
    const start = new TextDecoder("utf-8", { fatal: true }).decode(part, { stream: chosen.size > BYTES });
    return [chosen.size > BYTES ? wholeLines(start) : start, ""];
  } catch {
    return ["", btoa(Array.from(new Uint8Array(part), (byte) => String.fromCharCode(byte)).join(""))];
  }
}

// Said, and the form held back, before a long upload is in vain.
function tell(words) {
  problem.textContent = words;
  problem.hidden = !words;
  file.setCustomValidity(words);
}

const ask = () => preview.dispatchEvent(new Event("sample"));

// What somebody has chosen is not changed any more, whatever the content looks like.
const byHand = { kind: Boolean(kept.name) };
form.addEventListener("change", ({ target }) => {
  byHand.kind ||= target.name === "kind";
  if (target.name.endsWith("_ontology") || ["kind", "format"].includes(target.name)) ask();
});

form.addEventListener("draft", ({ detail: { kind } }) => Object.assign(byHand, { kind: Boolean(kind) }));

// Nor is an ontology that somebody has chosen, or is searching, while the best one was looked for.
document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  const choices = detail.target;
  if (!choices.matches(".chooser > *")) return;
  const [chosen, found] = ["input:checked", "input[type=hidden]"].map((each) => choices.querySelector(each)?.value);
  if (choices.parentElement.querySelector("[type=search]")?.value || (chosen && chosen !== found)) detail.shouldSwap = false;
});

let asked = true; // whether the server has said what the content looks like

async function update() {
  asked = byHand.kind;
  const chosen = file.files[0];
  clear.hidden = !chosen;
  let [start, other, words] = [kept.start, "", ""];
  if (!chosen) start = (text.value.length > BYTES ? wholeLines(text.value.slice(0, BYTES)) : text.value) || kept.start;
  else {
    if (text.value.trim()) words = "There is pasted text, too. Take one of the two out.";
    if (chosen.size > file.dataset.maxBytes) words = "This file is larger than the limit. Split it.";
    [start, other] = await read(chosen);
  }
  if (chosen !== file.files[0]) return; // another one was chosen meanwhile
  tell(words);
  sample.value = start;
  bytes.value = other;
  fileName.value = chosen?.name ?? (text.value ? "" : kept.name);
  if (name) name.placeholder = (chosen?.name ?? kept.name).replace(/\.[^.]*$/, "");
  if (!start && !other && detected) detected.value = "";
  ask();
}

document.addEventListener("detected", ({ detail }) => {
  if (detected) detected.value = detail.name;
  const kind = byHand.kind ? null : form.querySelector(`[name=kind][type=radio][value="${detail.kind}"]`);
  if (!kind || kind.checked) return;
  kind.checked = true;
  ask();
});

// Sent in a hurry, the form waits for the answer, so that the kind is right.
let waiting = false;
form.addEventListener("submit", (event) => {
  if (asked) return;
  event.preventDefault();
  event.stopPropagation();
  waiting = true;
});
preview.addEventListener("htmx:afterRequest", ({ detail }) => {
  const { parameters } = detail.requestConfig;
  if (parameters.sample !== sample.value || parameters.sample_bytes !== bytes.value) return; // an earlier one, given up
  asked = true;
  if (waiting) form.requestSubmit();
});

// An example is loaded into a field that can be seen.
const show = ({ target }) => target.closest("[data-fill-target]") && text.closest("details")?.setAttribute("open", "");
document.addEventListener("click", show, true);

text.addEventListener("input", update);
file.addEventListener("change", update);
clear.addEventListener("click", () => {
  file.value = "";
  file.dispatchEvent(new Event("change", { bubbles: true }));
  file.focus();
});
window.addEventListener("pageshow", () => (text.value || file.files[0] || kept.start) && update());
form.querySelector("[aria-invalid=true]")?.focus();
