// The annotation screen: what is selected, what keys and the pointer do with it, and how it is saved.

import { Judge } from "./annotate/judge.js";
import { Recent, loadLabels, loadRules } from "./annotate/labels.js";
import { Marks, newUid } from "./annotate/marks.js";
import { Original } from "./annotate/original.js";
import { Pane } from "./annotate/pane.js";
import { Picker } from "./annotate/picker.js";
import { Progress } from "./annotate/progress.js";
import { Queue } from "./annotate/queue.js";
import { Text } from "./annotate/text.js";
import { plural } from "./words.js";

const $ = (id) => document.getElementById(id);
const state = JSON.parse($("state").textContent);
const sheet = $("sheet");
const marks = new Marks(state);
const text = new Text(sheet, state.item);
const original = new Original($("original"), state.item);
const recent = { entity: new Recent(`labels ${state.project}`), relation: new Recent(`relation labels ${state.project}`) };
const progress = new Progress(state);
const toast = (words, kind = "info", action) => document.dispatchEvent(new CustomEvent("toast", { detail: { text: words, kind, action } }));

const SIGNED_OUT = "You were signed out. Sign in again in a new tab; what you did here is kept and saved then.";
const LOADING = "The labels are still being loaded.";
const DONE = "This item is done. Reopen it to change its marks.";
const NOT_SAVED = "Not saved: ";
const toastsOf = (words) => [...$("toasts").children].filter((shown) => shown.firstElementChild?.textContent.startsWith(words));
const dismiss = (...words) => words.flatMap(toastsOf).forEach((shown) => shown.remove());

/** What is selected: words (token numbers) or a mark or a relation; `relating` is the mark from which a relation starts. */
let view = {};
let cursor = 0;
let labels = null;
let judge = null;
let history = [];
let future = [];
let leaving = "";
let refusals = 0;

const readOnly = () => state.reading || marks.done;
const wordsOf = (mark) => {
  const words = mark ? text.between(mark.start, mark.end) : "";
  return words.length > 60 ? `${words.slice(0, 58).trimEnd()}…` : words;
};
const span = ({ anchor, focus }) => [Math.min(anchor, focus), Math.max(anchor, focus)];

/* Showing ---------------------------------------------------------------------------------------------------------- */

function showMarks() {
  if (!labels) return;
  const { entities, relations } = marks;
  const chosen = { entity: view.candidate ?? view.mark, relation: view.relation };
  text.draw({ entities, relations, entityLabels: labels.entity, relationLabels: labels.relation, chosen, source: view.relating, broken: state.broken });
  pane.showRelations({ marks, labels: labels.relation, words: wordsOf, chosen: view.relation, readOnly: readOnly() });
  const counts = [plural(entities.length, "entity", "entities")];
  if (state.hasRelations) counts.push(plural(relations.length, "relation", "relations"));
  $("counts").textContent = counts.join(", ");
}

function showSelection() {
  const chosen = marks.entity.get(view.candidate ?? view.mark);
  text.drawWords(view.words);
  original.mark(view.words ? span(view.words) : chosen && [chosen.start, chosen.end]);
  const actions = $("mark-actions");
  actions.hidden = true;
  const name = sheet.querySelector(".mark-name.selected");
  if (!view.mark || !view.actions || readOnly() || view.relating || !name) return;
  actions.hidden = false;
  const isSuggested = chosen.status === "suggested";
  actions.querySelector("[data-do=remove] span").textContent = isSuggested ? "Reject" : "Remove";
  actions.querySelector("[data-do=accept]").hidden = !isSuggested || !labels.entity.get(chosen.label).active;
  actions.style.left = `${Math.max(0, Math.min(name.offsetLeft, sheet.clientWidth - actions.offsetWidth))}px`;
  actions.style.top = `${text.floor(marks.entity.get(view.mark).start)}px`;
}

function show() {
  showMarks();
  showSelection();
  if (state.reading) return;
  $("done").toggleAttribute("data-done", marks.done);
  $("done-note").hidden = $("reopen").hidden = !marks.done;
  $("undo").disabled = readOnly() || !history.length;
  sheet.classList.toggle("read-only", readOnly());
}

function say(words) {
  $("said").textContent = words;
}

function showMode(words = "") {
  $("mode").textContent = words;
  $("mode").hidden = !words;
}

/* Selecting -------------------------------------------------------------------------------------------------------- */

function select(next = {}) {
  const marksChange = ["mark", "relation", "relating", "candidate"].some((key) => view[key] !== next[key]);
  view = next;
  if (!view.relating) showMode();
  if (view.words) cursor = view.words.focus;
  if (marksChange) showMarks();
  showSelection();
  const mark = marks.entity.get(view.candidate ?? view.mark);
  const relation = marks.relation.get(view.relation);
  if (mark) {
    const label = labels.entity.get(mark.label);
    pane.showCard(label, labels.entity.path(label));
    say(`${wordsOf(mark)}, ${label.name}${mark.status === "suggested" ? ", suggested" : ""}`);
    text.scrollTo(mark.start);
  } else if (relation) {
    const label = labels.relation.get(relation.label);
    pane.showCard(label, labels.relation.path(label));
    say(`${wordsOf(marks.entity.get(relation.source))} ${label.name} ${wordsOf(marks.entity.get(relation.target))}`);
  } else if (view.words) {
    const [start, end] = span(view.words);
    const over = labels ? marks.over(view.words.focus).map((m) => labels.entity.get(m.label).name) : [];
    say([text.between(start, end), ...over].join(", "));
    text.scrollTo(view.words.focus);
  }
}

function selectMark(uid, { actions = true } = {}) {
  if (view.relating) return chooseTarget(uid);
  cursor = marks.entity.get(uid).end;
  select({ mark: uid, actions });
}

function moveCursor(step, extend) {
  const last = text.tokens.length - 1;
  const mark = marks.entity.get(view.mark);
  let from = cursor;
  if (mark && !extend) from = typeof step === "number" && step < 0 ? mark.start : mark.end;
  let to = from;
  if (typeof step === "function") to = step(from);
  else if (view.words || mark) to = from + step;
  to = Math.max(0, Math.min(last, to));
  const anchor = extend ? (view.words?.anchor ?? mark?.start ?? from) : to;
  select({ words: { anchor, focus: to } });
}

/** To the next mark or the one before; false at the end, where Tab leaves the text. */
function stepMark(step) {
  const order = marks.inTextOrder().filter((mark) => mark.uid !== view.relating);
  const current = view.candidate ?? view.mark;
  let at = order.findIndex((mark) => mark.uid === current);
  if (at >= 0) at += step;
  else {
    const from = view.relating ? marks.entity.get(view.relating).start : view.words ? view.words.focus : step > 0 ? -1 : Infinity;
    const after = order.findIndex((mark) => mark.start >= from);
    at = step > 0 ? after : after < 0 ? order.length - 1 : after - 1;
  }
  if (view.relating && order.length) at = (at + order.length) % order.length;
  if (!order[at]) return false;
  if (view.relating) select({ ...view, candidate: order[at].uid });
  else selectMark(order[at].uid);
  return true;
}

function escape() {
  if (view.relating) select({ mark: view.relating });
  else select();
}

/* Changing --------------------------------------------------------------------------------------------------------- */

/** Apply operations at once and send them; remembered for undo unless they are one. */
function act(operations, { remember = true } = {}) {
  const performed = [];
  const undo = [];
  for (const operation of operations) {
    const inverse = marks.apply(operation);
    if (!inverse) continue;
    performed.push(operation);
    if (!queue.size) refusals = 0;
    undo.unshift(...inverse);
    queue.push(operation, inverse);
  }
  if (remember && performed.length) {
    history.push({ undo, redo: performed });
    future = [];
  }
  dropGone();
  show();
  return performed.length > 0;
}

function dropGone() {
  const gone = (map, uid) => uid && !map.has(uid);
  const { mark, relating, candidate, relation } = view;
  if ([mark, relating, candidate].some((uid) => gone(marks.entity, uid)) || gone(marks.relation, relation)) {
    view = {};
    showMode();
  }
}

function takeBack(from, to, which) {
  if (readOnly() || !from.length) return;
  const entry = from.pop();
  act(entry[which], { remember: false });
  to.push(entry);
  show();
}
const undo = () => takeBack(history, future, "undo");
const redo = () => takeBack(future, history, "redo");

function openPicker(kind, { onPick, onClose, ...how }) {
  if (!labels) return toast(LOADING);
  $("mark-actions").hidden = true;
  picker.open({
    ...how,
    labels: labels[kind],
    recent: recent[kind],
    hides: kind === "relation",
    onBarred: refresh, // the rules may have been loosened
    onPoint: (label) => pane.showCard(label, labels[kind].path(label)),
    onPick: (label) => {
      recent[kind].add(label.uid);
      onPick(label);
      text.root.focus({ preventScroll: true });
    },
    onClose: ({ byPointer }) => {
      onClose?.();
      if (!byPointer) text.root.focus({ preventScroll: true });
    },
  });
}

function markWords(label) {
  const [start, end] = span(view.words);
  const twin = marks.twin("entity", { start, end }, label.uid);
  const uid = twin?.uid ?? newUid();
  if (twin) toast(`These words are marked as “${label.name}” already.`);
  else act([{ kind: "entity", verb: "add", uid, start, end, label: label.uid }]);
  selectMark(uid, { actions: false });
}

function pickForWords(query = "") {
  if (readOnly()) return sayReadOnly();
  const [start, end] = span(view.words);
  openPicker("entity", { rect: text.rectOf(start, end), query, title: "Find a label", against: judge?.forWords(start, end), onPick: markWords });
}

function relabel(kind, uid, query = "") {
  if (readOnly()) return sayReadOnly();
  const mark = marks[kind].get(uid);
  if (!mark) return;
  const { start, end } = kind === "entity" ? mark : marks.entity.get(mark.target);
  openPicker(kind, {
    rect: text.rectOf(start, end),
    query,
    title: "Change the label",
    current: mark.label,
    against: kind === "entity" ? judge?.forEntity(mark) : judge?.forRelation(mark),
    onClose: showSelection,
    onPick: (label) => {
      if (marks.twin(kind, mark, label.uid)) toast(`There is a mark “${label.name}” at this place already.`);
      else act([{ kind, verb: "label", uid, label: label.uid }]);
      select({ [kind === "entity" ? "mark" : "relation"]: uid });
    },
  });
}

function remove() {
  if (readOnly()) return sayReadOnly();
  if (view.relation) return act([{ kind: "relation", verb: "remove", uid: view.relation }]);
  const mark = marks.entity.get(view.mark);
  if (!mark) return;
  act([{ kind: "entity", verb: "remove", uid: mark.uid }]);
  select({ words: { anchor: mark.start, focus: mark.end } });
}

function accept() {
  if (readOnly()) return sayReadOnly();
  const [kind, uid] = view.relation ? ["relation", view.relation] : ["entity", view.mark];
  const mark = marks[kind].get(uid);
  if (mark?.status !== "suggested") return;
  if (!labels) return toast(LOADING);
  const why = judge.againstTaking(kind, mark);
  if (!why) return act([{ kind, verb: "label", uid, label: mark.label }]);
  toast(why.sentence);
  refresh();
}

function relate() {
  if (readOnly()) return sayReadOnly();
  if (!state.hasRelations) return toast("This project has no relation labels.");
  if (marks.entity.size < 2) return toast("A relation needs two marks.");
  select({ relating: view.mark });
  showMode(`Relation from “${wordsOf(marks.entity.get(view.relating))}”: click the other mark, or choose it with Tab and Enter. Esc leaves.`);
}

function chooseTarget(target) {
  const source = view.relating;
  if (!target || target === source) return;
  select({ relating: source, candidate: target });
  const ends = { source, target };
  const { start, end } = marks.entity.get(target);
  const against = judge?.forRelation(ends);
  const onPick = (label) => {
    const uid = marks.twin("relation", ends, label.uid)?.uid ?? newUid();
    act([{ kind: "relation", verb: "add", uid, ...ends, label: label.uid }]);
    select({ relation: uid });
  };
  const allowed = labels?.relation.all.filter((label) => label.active && !against(label)) ?? [];
  if (allowed.length === 1) {
    recent.relation.add(allowed[0].uid);
    onPick(allowed[0]);
  } else openPicker("relation", { rect: text.rectOf(start, end), title: "Find a relation", against, onPick });
}

function setDone(done) {
  if (state.reading || !act([{ kind: "item", verb: "done", done }], { remember: false })) return;
  history = [];
  future = [];
  select();
  if (!done) dismiss(DONE, NOT_SAVED + DONE);
  progress.count(done ? 1 : -1);
  show();
}

function finish() {
  if (state.reading) return;
  setDone(true);
  leave(state.urls.undone);
}

const sayReadOnly = () => toast(state.reading ? "You are reading somebody else’s marks: they cannot be changed here." : DONE);

/* Saving ----------------------------------------------------------------------------------------------------------- */

let sayingSaving;

function tell(saving, count) {
  const words = {
    saved: refusals ? `${plural(refusals, "change was", "changes were")} refused` : "✓ all saved",
    saving: "saving",
    retrying: `${count} not saved yet, trying again`,
    "no room": `${count} not saved yet: no room left on the server, trying again`,
    "signed out": `${count} not saved yet: sign in again`,
  }[saving];
  const write = () => {
    $("saved").textContent = words;
    $("saved").className = `saved ${{ saved: refusals ? "warn" : "ok", saving: "soft" }[saving] ?? "warn"}`;
  };
  clearTimeout(sayingSaving);
  if (["saved", "saving"].includes(saving)) dismiss(SIGNED_OUT);
  // A save takes a few milliseconds: say so only when it takes longer.
  if (saving === "saving") sayingSaving = setTimeout(write, 150);
  else write();
  if (saving === "saved" && leaving) location.assign(leaving);
}

const queue = new Queue({
  base: state.urls.item,
  annotator: state.annotator,
  tell,
  takeNewOffers,
  refused(reason, inverses, { count, gone }) {
    inverses.forEach((inverse) => {
      if (marks.apply(inverse) && inverse.verb === "done") progress.count(inverse.done ? 1 : -1);
    });
    history = [];
    future = [];
    leaving = "";
    // Nothing but “done” was said of an item that is not there any more: no work is lost, so go on.
    if (gone && !queue.size && inverses.every(({ verb }) => verb === "done")) return location.assign(state.urls.gone);
    refusals += count;
    dropGone();
    show();
    toast(NOT_SAVED + reason, "error");
    refresh(); // what was refused may have been offered by older rules
  },
  renamed(kind, old, uid) {
    marks.rename(kind, old, uid);
    const keys = kind === "entity" ? ["mark", "relating", "candidate"] : ["relation"];
    for (const key of keys) if (view[key] === old) view[key] = uid;
    history = [];
    future = [];
    show();
  },
  signedOut() {
    const run = () => window.open(state.urls.login, "_blank", "noopener");
    dismiss(SIGNED_OUT);
    toast(SIGNED_OUT, "error", { label: "Sign in", run });
  },
});

// Whoever dismisses the reason knows that something was refused.
new MutationObserver(() => {
  if (!refusals || toastsOf(NOT_SAVED).length) return;
  refusals = 0;
  tell(queue.state, queue.size);
}).observe($("toasts"), { childList: true });

// A page that the browser kept for “back” shows what was true when it was left.
addEventListener("pageshow", (event) => event.persisted && location.reload());
addEventListener("beforeunload", (event) => queue.size && event.preventDefault());

function leave(url) {
  if (!url) return;
  if (!queue.size) return location.assign(url);
  leaving = url;
  if (queue.state !== "saving") toast("Not everything is saved yet. The page moves on as soon as it is.");
}

/** The same item may be open in another tab, too: what was changed there is seen when this one is returned to. */
async function refresh() {
  const { sent } = queue;
  const current = await fetch(state.urls.marks, { headers: { Accept: "application/json" } }).then((answer) => answer.ok && answer.json()).catch(() => null);
  takeNewOffers(current?.urls);
  if (!current || queue.size || queue.sent !== sent || picker.isOpen || drag || marks.same(current)) return;
  if (marks.done !== current.done) progress.count(current.done ? 1 : -1);
  marks.replace(current);
  history = [];
  future = [];
  dropGone();
  show();
}
if (!state.reading) addEventListener("focus", () => !queue.size && refresh());

/* Keys ------------------------------------------------------------------------------------------------------------- */

const COMMANDS = { n: () => leave(state.urls.next), p: () => leave(state.urls.previous), o: () => setDone(false), t: showOriginal, r: () => view.mark && relate(), a: accept };
const openDialog = (id) => $(id)?.showModal();

function handlerOf(event) {
  const { key, shiftKey } = event;
  if (event.ctrlKey || event.metaKey) return { Enter: finish, z: shiftKey ? redo : undo, Z: redo, y: redo }[key];
  const anywhere = { PageDown: COMMANDS.n, PageUp: COMMANDS.p, "?": () => openDialog("keys"), Escape: escape }[key];
  if (anywhere) return anywhere;
  const here = document.activeElement;
  if (here && here !== document.body && here.id !== "main" && !sheet.contains(here)) return null;
  if (here?.closest("#mark-actions") && ["Enter", " "].includes(key)) return null;
  const inText = {
    ArrowLeft: () => moveCursor(text.rtl ? 1 : -1, shiftKey),
    ArrowRight: () => moveCursor(text.rtl ? -1 : 1, shiftKey),
    ArrowUp: () => moveCursor((from) => text.vertical(from, -1), shiftKey),
    ArrowDown: () => moveCursor((from) => text.vertical(from, 1), shiftKey),
    Home: () => moveCursor(() => 0, shiftKey),
    End: () => moveCursor(() => text.tokens.length - 1, shiftKey),
    Enter: enter,
    Delete: remove,
    Backspace: remove,
  }[key];
  if (inText) return inText;
  if (key === "Tab") return stepMark(shiftKey ? -1 : 1) ? () => {} : null;
  if (view.words && /^[\p{L}\p{N}]$/u.test(key)) return () => pickForWords(key);
  if (view.mark && /^[1-9]$/.test(key)) return () => relabel("entity", view.mark, key);
  return view.words ? null : COMMANDS[key];
}

function showOriginal() {
  if (!original.toggle()) toast("This is the original text: nothing in it was changed.");
}

function enter() {
  if (view.relating) chooseTarget(view.candidate);
  else if (view.relation) relabel("relation", view.relation);
  else if (view.mark) relabel("entity", view.mark);
  else if (view.words) pickForWords();
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing || picker.isOpen) return;
  if (document.querySelector("dialog[open], details.menu[open]") || event.target.closest?.("input, textarea, select")) return;
  const handler = handlerOf(event);
  if (!handler) return;
  event.preventDefault();
  handler();
});

document.addEventListener("copy", (event) => {
  const mark = marks.entity.get(view.mark);
  if (document.activeElement !== text.root || !(view.words || mark)) return;
  event.clipboardData.setData("text/plain", text.between(...(mark ? [mark.start, mark.end] : span(view.words))));
  event.preventDefault();
});

/* Pointer ---------------------------------------------------------------------------------------------------------- */

let drag = null;

function clickToken(token) {
  const over = marks.over(token);
  if (view.relating) return over.length && chooseTarget(over.find((mark) => mark.uid !== view.relating)?.uid);
  // A second click on the same words goes on to the mark around.
  const next = over[(over.findIndex((mark) => mark.uid === view.mark) + 1) % over.length];
  if (next) return selectMark(next.uid);
  if (readOnly()) return select();
  select({ words: { anchor: token, focus: token } });
  pickForWords();
}

text.root.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  event.preventDefault();
  text.root.focus({ preventScroll: true });
  const token = text.tokenAt(event.target);
  if (token === null) return escape();
  const anchor = event.shiftKey && view.words ? view.words.anchor : token;
  drag = { anchor, focus: token, moved: anchor !== token };
  if (drag.moved && !readOnly()) select({ words: { anchor, focus: token } });
});

addEventListener("pointermove", (event) => {
  if (!drag || readOnly() || view.relating) return;
  const under = document.elementsFromPoint(event.clientX, event.clientY).map((element) => text.tokenAt(element)).find((i) => i !== null);
  if (under === undefined || under === drag.focus) return;
  drag.focus = under;
  drag.moved = true;
  select({ words: { anchor: drag.anchor, focus: under } });
});

addEventListener("pointerup", () => {
  if (!drag) return;
  const { moved, focus } = drag;
  drag = null;
  if (moved && !readOnly()) pickForWords();
  else clickToken(focus);
});
addEventListener("pointercancel", () => (drag = null));

text.root.addEventListener("dblclick", ({ target }) => {
  const token = text.tokenAt(target);
  if (token === null || readOnly() || view.relating) return;
  select({ words: { anchor: token, focus: token } });
  pickForWords();
});

sheet.addEventListener("click", ({ target }) => {
  const name = target.closest(".mark-name");
  const arc = target.closest(".arc");
  const action = target.closest("[data-do]")?.dataset.do;
  if (name) selectMark(name.dataset.uid);
  else if (arc) select({ relation: arc.dataset.uid });
  else if (action) ({ accept, relabel: () => relabel("entity", view.mark), relate, remove })[action]();
  else return;
  if (!picker.isOpen) text.root.focus({ preventScroll: true });
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-open]");
  const step = event.target.closest("#previous, #next");
  if (opener) openDialog(opener.dataset.open);
  if (!step || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  leave(step.getAttribute("href"));
});
for (const [id, run] of Object.entries({ undo, done: finish, reopen: () => setDone(false) })) {
  $(id)?.addEventListener("click", () => {
    run();
    text.root.focus({ preventScroll: true });
  });
}

$("original")?.addEventListener("toggle", () => text.root.focus({ preventScroll: true }));

/* Beginning -------------------------------------------------------------------------------------------------------- */

const picker = new Picker($("picker"));
const pane = new Pane($("pane"), {
  onLabel(label) {
    pane.showCard(label, labels.entity.path(label));
    if (!view.words) return;
    if (readOnly()) return sayReadOnly();
    const why = label.active ? judge.forWords(...span(view.words))(label)?.sentence : `“${label.name}” is switched off and cannot be applied any more.`;
    if (why) {
      refresh();
      return toast(why);
    }
    recent.entity.add(label.uid);
    markWords(label);
    text.root.focus({ preventScroll: true });
  },
  onRelation: (uid) => {
    select({ relation: uid });
    text.root.focus({ preventScroll: true });
  },
  onAccept(uid) {
    select({ relation: uid });
    accept();
  },
  onRelabel: (uid) => relabel("relation", uid),
  onRemove(uid) {
    select({ relation: uid });
    remove();
  },
});
text.redraw = show;
text.root.focus({ preventScroll: true });

/** Labels and rules, as they are at these addresses. */
async function takeOffers(urls) {
  const hasNewLabels = !labels || urls.labels !== state.urls.labels;
  const trees = hasNewLabels ? loadLabels(urls.labels) : labels;
  const rules = await loadRules(urls.rules, trees);
  ({ labels } = rules);
  judge = new Judge(rules, marks);
  Object.assign(state.urls, urls);
  if (hasNewLabels) pane.showTree(labels.entity);
  show();
}

/** An answer tells where labels and rules are; a manager may have changed them. */
function takeNewOffers({ labels: at, rules } = {}) {
  if (!at || !judge || (at === state.urls.labels && rules === state.urls.rules)) return;
  takeOffers({ labels: at, rules }).catch(() => {}); // the next answer tells it again
}

async function begin(failures = 0) {
  try {
    await takeOffers(state.urls);
  } catch {
    showMode("The labels cannot be loaded at the moment. Trying again.");
    return void setTimeout(begin, Math.min(30_000, 1000 * 2 ** failures), failures + 1);
  }
  showMode();
  selectNamed();
  document.documentElement.dataset.ready = "true";
}

/** The mark that the address names, as the links of reports do. */
function selectNamed() {
  const uid = new URLSearchParams(`uid=${location.hash.slice(1)}`).get("uid");
  if (marks.entity.has(uid)) selectMark(uid, { actions: false });
  else if (marks.relation.has(uid)) select({ relation: uid });
}
begin();
if (!state.reading) progress.load(() => !queue.size);
