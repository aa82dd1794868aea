// What comes in: the beginning of the pasted text or of the chosen file goes into the field `sample`, and the event "sample"
// tells htmx to send it. The server answers with a preview, and the event "detected" with what it takes the content for.

const BYTES = 64_000;
const $ = (id) => document.getElementById(id);
const ids = ["id_text", "id_file", "sample", "preview", "file-problem", "clear-file", "id_name", "file-name", "detected", "id_format"];
const [text, file, sample, preview, problem, clear, name, fileName, detected, format] = ids.map($);
const form = text.form;
const kept = { start: sample.value, name: fileName.value }; // of a file that is here already

// The last line of a part may be cut in its middle, so it is left out, unless there is no other.
const wholeLines = (part) => part.slice(0, Math.max(part.lastIndexOf("\n"), part.lastIndexOf("\r")) + 1 || undefined);

async function read(chosen) {
  const part = await chosen.slice(0, BYTES).arrayBuffer();
  // `stream` lets the part end in the middle of a character.
  const start = new TextDecoder("utf-8", { fatal: true }).decode(part, { stream: chosen.size > BYTES });
  return chosen.size > BYTES ? wholeLines(start) : start;
}

// Said, and the form held back, before a long upload is in vain.
function tell(words) {
  problem.textContent = words;
  problem.hidden = !words;
  file.setCustomValidity(words);
}

const ask = () => preview.dispatchEvent(new Event("sample"));

// What somebody has chosen is not changed any more, whatever the content looks like. Another file may have another format.
const byHand = { kind: Boolean(kept.start), format: false };
const isKept = () => Boolean(kept.start) && !file.files[0] && !text.value;
const hasFormat = () => byHand.format || isKept();
form.addEventListener("change", ({ target }) => {
  if (target.name.endsWith("_ontology")) ask();
  if (!(target.name in byHand)) return;
  byHand[target.name] = true;
  ask();
});

form.addEventListener("draft", ({ detail: { kind, format } }) => Object.assign(byHand, { kind: Boolean(kind), format: Boolean(format) }));

// Nor is an ontology that somebody has chosen, or is searching, while the best one was looked for.
document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  const choices = detail.target;
  if (!choices.matches(".chooser > *")) return;
  const [chosen, found] = ["input:checked", "input[type=hidden]"].map((each) => choices.querySelector(each)?.value);
  if (choices.parentElement.querySelector("[type=search]")?.value || (chosen && chosen !== found)) detail.shouldSwap = false;
});

let asked = true; // whether the server has said what the content looks like

async function update() {
  asked = byHand.kind && hasFormat();
  const chosen = file.files[0];
  clear.hidden = !chosen;
  let [start, words] = [kept.start, ""];
  if (!chosen) start = (text.value.length > BYTES ? wholeLines(text.value.slice(0, BYTES)) : text.value) || kept.start;
  else {
    if (text.value.trim()) words = "There is pasted text, too. Take one of the two out.";
    if (chosen.size > file.dataset.maxBytes) words = "This file is larger than the limit. Split it.";
    try { start = await read(chosen); } catch { words = "This file is not UTF-8 text. Save it as UTF-8, then choose it again."; }
  }
  if (chosen !== file.files[0]) return; // another one was chosen meanwhile
  tell(words);
  sample.value = start;
  fileName.value = chosen?.name ?? (text.value ? "" : kept.name);
  if (name) name.placeholder = (chosen?.name ?? kept.name).replace(/\.[^.]*$/, "");
  if (!start && detected) detected.value = "";
  ask();
}

document.addEventListener("detected", ({ detail }) => {
  if (detected) detected.value = `The content looks like: ${detail.name}`;
  const kind = byHand.kind ? null : form.querySelector(`[name=kind][type=radio][value="${detail.kind}"]`);
  const sameKind = !kind || kind.checked;
  const sameFormat = hasFormat() || !format || format.value === detail.format;
  if (sameKind && sameFormat) return;
  if (!sameKind) kind.checked = true;
  if (!sameFormat) format.value = detail.format;
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
  if (detail.requestConfig.parameters.sample !== sample.value) return; // an earlier one, given up
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
