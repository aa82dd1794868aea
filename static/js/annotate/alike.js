// All alike: a dialog that shows where the words of a mark, or the forms of a relation, stand in the items that are not done, to make
// the same mark there, or to remove the marks that say the same; or which suggestions say the same, to decide them together. What is
// ticked is done as one batch.

import { make } from "../elements.js";
import { waitFor } from "../waiting.js";
import { number, plural } from "../words.js";
import { AWAY, LATER, follow, takeBatch } from "./batches.js";
import { Places } from "./places.js";
import { post } from "./post.js";
import { allSaved, isAllSaved } from "./saving.js";
import { $, LOADING, SIGNED_OUT, active, chosen, focusText, items, marks, now, state, text, toast, wordsOf } from "./workspace.js";

const VERBS = { accepted: ["propagate", "remove"], suggested: ["accept", "reject"] };
const DOES = { propagate: "Mark", remove: "Remove", accept: "Accept", reject: "Reject" };
const SUGGESTIONS = ["suggestion", "suggestions"];
const RELATIONS = ["relation", "relations"];
const SCOPES = { page: "the items of this page", here: "this item" };
const FORMS = { propagate: ["place", "places"], accept: SUGGESTIONS, reject: SUGGESTIONS };
const MOST = 2000; // places that can be named one by one
const TOO_MANY = `At most ${number(MOST)} places can be ticked, or left out, one by one. Do it in several steps.`;

const dialog = $("alike");
const part = (name) => dialog.querySelector(`[data-${name}]`);
const form = dialog?.querySelector("form");
const places = dialog && new Places(part("places"), { onChange: showTicks, onEnd: more });
let asked = {}; // what is shown: the mark, its kind, the verb, how many places there are, and where the next page begins
let request = new AbortController();
let isBusy = false; // storing

export async function findAlike() {
  if (state.reading || state.gold) return;
  if (!chosen()) return toast("Select a mark first: the same is then looked for in all items that you have not done.");
  if (!now.labels) return toast(LOADING);
  form.reset();
  form.querySelector("[value=page]").hidden = items.length === 1;
  clear({});
  dialog.showModal();
  if (!isAllSaved()) showNote("What you did before is saved first…");
  await allSaved();
  const { kind, uid } = chosen() ?? {}; // it may have been refused, or the server knew it under another uid
  if (!uid || !dialog.open) return dialog.close();
  const mark = marks[kind].get(uid);
  look({ kind, mark, verb: VERBS[mark.status][0] });
}

/** Ask anew, with the options as they are. */
async function look({ kind, mark, verb }) {
  clear({ kind, mark, verb });
  const answer = await ask("preview/", {}, () => look({ kind, mark, verb }));
  if (!answer) return;
  Object.assign(asked, { count: answer.places, next: answer.next });
  const along = answer.relations ? `, with ${plural(answer.relations, ...RELATIONS)}` : "";
  places.begin({ count: asked.count, colors: colorsOf(kind, mark), rtl: text.rtl });
  places.append(answer.page);
  part("sum").textContent = asked.count ? `${plural(asked.count, ...forms())} in ${plural(answer.count_items, "item", "items")}${along}` : "";
  showTicks();
  showForbidden(answer.forbidden);
  showNote(asked.count || answer.forbidden.length ? "" : `The same stands nowhere else in ${SCOPES[form.elements.items.value] ?? "the items that you have not done"}, or it is marked there already.`);
  // Whoever changed an option stays on it.
  if (!document.activeElement.closest(".alike-tools")) (asked.count ? places : part("leave")).focus();
}

/** Before anything is known. */
function clear(what) {
  request.abort();
  request = new AbortController();
  asked = { ...what, count: 0, next: null };
  places.begin({ count: 0 });
  showBusy(false);
  part("sum").textContent = "";
  part("progress").hidden = true;
  showForbidden([]);
  showHead();
  showNote("Looking for the same…");
}

/** The next page, when the end of the list comes into sight. */
async function more() {
  const { next: after } = asked;
  if (!after) return;
  asked.next = null;
  const again = () => {
    asked.next = after;
    showNote("");
    places.focus();
    more();
  };
  const answer = await ask("places/", { after }, again);
  if (!answer) return;
  asked.next = answer.next;
  places.append(answer.page);
}

/** Store what is ticked. Whoever closes the dialog meanwhile is told when it is done. */
async function apply() {
  const { choice, ticked } = places;
  if (!ticked || isBusy) return;
  if (Object.values(choice)[0].length > MOST) return showNote(TOO_MANY, "error");
  const { signal } = request;
  showBusy(true);
  showNote("");
  const answer = await ask("apply/", choice);
  const batch = answer && (await follow(answer.batch, (batch) => signal.aborted || showProgress(batch)));
  if (!signal.aborted) showBusy(false);
  if (!answer) return;
  if (!signal.aborted) dialog.close();
  if (batch) takeBatch(batch);
}

function showBusy(busy) {
  isBusy = busy;
  for (const each of dialog.querySelectorAll(".alike-tools, .places")) each.inert = busy;
  showTicks();
}

/** What the server answers; what keeps it from that is said in the dialog, with a button to do it `again` unless it was refused. */
async function ask(path, values, again) {
  const { signal } = request;
  const isWrite = path === "apply/";
  const response = await waitFor(post(state.urls.alike + path, state.annotator, { ...wanted(), ...values }, isWrite ? undefined : signal)).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (signal.aborted && !isWrite) return null;
  if (response?.ok && answer) return answer;
  if (signal.aborted) toast(answer?.error ?? LATER, "error");
  const isRefused = response?.status !== 401 && answer?.error;
  showNote(response?.status === 401 ? SIGNED_OUT : (answer?.error ?? (again ? AWAY : LATER)), "error", isRefused ? null : again);
  return null;
}

function wanted() {
  const { kind, mark, verb } = asked;
  const { ignore_case: ignoreCase, where, items: scope } = form.elements;
  const options = verb === "propagate" ? { ignore_case: ignoreCase.checked, where: where.value } : {};
  if (scope.value in SCOPES) options.items = (scope.value === "page" ? items : [active]).map(({ pk }) => pk);
  if (scope.value === "listed") options.filter = scope.selectedOptions[0].dataset.filter;
  return { verb, kind, form: formOf(kind, mark), ...options };
}

/** What is looked for: the tokens of an entity, or those of a relation’s ends and how far apart they stand. */
function formOf(kind, mark) {
  const tokens = ({ start, end, label }) => ({ tokens: active.tokens.slice(start, end + 1), label });
  if (kind === "entity") return tokens(mark);
  const [source, target] = endsOf(mark);
  return { source: tokens(source), target: tokens(target), offset: target.start - source.start, label: mark.label };
}

const endsOf = ({ source, target }) => [source, target].map((uid) => marks.entity.get(uid));

/* What is said ----------------------------------------------------------------------------------------------------- */

function showHead() {
  const { kind, mark, verb } = asked;
  part("verbs").hidden = !verb;
  for (const button of part("verbs").children) {
    button.hidden = !VERBS[mark?.status]?.includes(button.value);
    button.ariaPressed = String(button.value === verb);
  }
  for (const option of dialog.querySelectorAll("[data-propagate]")) option.hidden = verb !== "propagate";
  if (!mark) return $("alike-head").replaceChildren("All alike");
  const label = now.labels[kind].get(mark.label);
  const name = make("span", "label", label.name);
  name.style.setProperty("--c", label.color);
  const [from, to] = (kind === "entity" ? [mark] : endsOf(mark)).map((end) => `“${wordsOf(end)}”`);
  $("alike-head").replaceChildren(...(to ? [`${from} `, name, ` ${to}`] : [`${from} as `, name]));
}

/** The colours of the words of a place, by their role in it. */
function colorsOf(kind, mark) {
  const colorOf = ({ label }) => now.labels.entity.get(label).color;
  if (kind === "entity") return { mark: colorOf(mark) };
  const [source, target] = endsOf(mark).map(colorOf);
  return { source, target };
}

function showTicks() {
  const { ticked } = places;
  const { count, verb } = asked;
  const all = part("all");
  all.checked = count > 0 && ticked === count;
  all.indeterminate = ticked > 0 && ticked < count;
  all.closest("label").hidden = !count;
  const are = count === 1 ? "is" : "are";
  part("ticked").textContent = count > 1 && ticked === count ? `All ${number(count)} are ticked` : `${number(ticked)} of ${number(count)} ${are} ticked`;
  part("hint").hidden = !count;
  part("leave").textContent = count && !isBusy ? "Cancel" : "Close";
  const button = part("apply").closest("button");
  button.hidden = !count;
  button.disabled = !ticked || isBusy;
  button.classList.toggle("danger", verb === "remove");
  if (verb) part("apply").textContent = `${DOES[verb]} ${plural(ticked, ...forms())}`;
}

/** What a place is, one and several. */
const forms = () => FORMS[asked.verb] ?? (asked.kind === "relation" ? RELATIONS : ["mark", "marks"]);

/** Places that a rule forbids are left out, and told. */
function showForbidden(rules) {
  const list = part("forbidden");
  const total = rules.reduce((sum, { count }) => sum + count, 0);
  list.hidden = !total;
  list.firstElementChild.textContent = `${plural(total, ...forms())} left out: forbidden by a rule`;
  list.lastElementChild.replaceChildren(...rules.map(({ rule, count }) => make("li", "", make("b", "num", `${number(count)} ×`), ` ${rule}`)));
}

function showProgress({ done, total }) {
  const bar = part("progress");
  bar.hidden = false;
  bar.max = total || 1;
  if (total) bar.value = done;
  else bar.removeAttribute("value");
  const how = total ? `${number(done)} of ${number(total)} items looked through.` : "Waiting for its turn.";
  showNote(`${how} You need not wait here: the work goes on, and you find it under “Batches”.`);
}

function showNote(words, kind = "info", again = null) {
  const note = part("note");
  note.textContent = words;
  if (again) note.append(" ", againButton(again));
  note.hidden = !words;
  note.className = `message ${kind}`;
  if (words) note.scrollIntoView({ block: "nearest" });
}

function againButton(again) {
  const button = Object.assign(make("button", "button small", "Try again"), { type: "button" });
  button.addEventListener("click", again);
  return button;
}

export function listenToAlike() {
  if (!dialog) return;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  form.addEventListener("change", ({ target }) => target.matches("[data-option]") && look(asked));
  part("all").addEventListener("change", ({ target }) => places.tickAll(target.checked));
  part("verbs").addEventListener("click", ({ target }) => target.value && look({ ...asked, verb: target.value }));
  dialog.addEventListener("keydown", (event) => {
    if (isBusy) return;
    if (event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) places.tickAll(places.ticked < asked.count);
    else if (event.key === "Delete" && asked.verb) look({ ...asked, verb: VERBS[asked.mark.status].at(-1) });
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("close", () => {
    request.abort();
    focusText();
  });
}
