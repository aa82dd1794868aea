// The matrix of a constraint set. A cell is chosen by mouse or by arrow keys, and the pane says which rule decides. What it says by a
// rule of its own is set and removed by a click or a key: painted at once, stored in turn, and then shown as it is stored.

import "./constraints.js";
import { showToast } from "./toasts.js";
import { waitFor } from "./waiting.js";
import { plural } from "./words.js";

const $ = (selector) => document.querySelector(selector);
const panel = () => $("#matrix");
const table = () => $("table.matrix");
const isEditable = () => "editable" in panel().dataset;
const modes = [...document.querySelectorAll(".matrix-modes input")];
const heads = (within) => [...within.querySelectorAll("tbody th")].map(({ dataset }) => dataset.uid);

/** What the table shows, as its address. */
function view() {
  const query = new URLSearchParams({ lines: heads(document).join(","), tree: new URLSearchParams(location.search).get("tree") ?? "" });
  if (panel().dataset.relation) query.set("relation", panel().dataset.relation);
  return query;
}

/* Choosing a cell -------------------------------------------------------------------------------------------------- */

const namesOf = (cell) => [cell.parentElement.cells[0].dataset.uid, table().tHead.rows[0].cells[cell.cellIndex].dataset.uid];

function cellOf(row, column) {
  const uids = heads(document);
  return table()?.tBodies[0].rows[uids.indexOf(row)]?.cells[uids.indexOf(column) + 1];
}

let chosen = null;

function choose(cell) {
  for (const each of table().querySelectorAll("[aria-selected], .crossing")) each.removeAttribute("aria-selected"), each.classList.remove("crossing");
  table().querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  cell.setAttribute("aria-selected", "true");
  cell.tabIndex = 0;
  cell.parentElement.cells[0].classList.add("crossing");
  table().tHead.rows[0].cells[cell.cellIndex].classList.add("crossing");
  cell.focus();
  chosen = namesOf(cell);
  explain();
}

let explaining;

function explain() {
  clearTimeout(explaining);
  // Whoever holds an arrow key asks for the last cell only.
  explaining = setTimeout(() => {
    const [row, column] = chosen;
    const query = new URLSearchParams(location.search);
    query.set("cell", chosen.join("-"));
    history.replaceState(history.state, "", `?${query}`);
    const asked = new URLSearchParams({ row, column, relation: panel().dataset.relation ?? "" });
    window.htmx.ajax("GET", `${panel().dataset.url}cell/?${asked}`, { source: $("#cell"), target: "#cell", swap: "innerHTML" });
  }, 120);
}

/** The table is part of the tab order, at the cell that was chosen before or that was asked for. */
function makeReachable() {
  const first = table()?.tBodies[0].rows[0]?.cells[1];
  if (!first || table().querySelector("td[tabindex='0']")) return;
  const found = chosen && cellOf(...chosen);
  const row = table().querySelector(`tbody th[data-uid="${CSS.escape(panel().dataset.at)}"]`)?.parentElement;
  const wanted = chosen ? null : cellOf(...(new URLSearchParams(location.search).get("cell") ?? "-").split("-"));
  const begin = wanted ?? (chosen ? null : (row?.querySelector(".own") ?? row?.cells[1]));
  if (begin) choose(begin), begin.scrollIntoView({ block: "center", inline: "center" });
  else (found ?? first).tabIndex = 0;
}

/* Setting and removing --------------------------------------------------------------------------------------------- */

const stored = new Map(); // what stood in cells that are painted otherwise until it is known
const waiting = []; // steps, in their order: each is one undo
let isSending = false;
let isFailing = false;

const isOwn = (cell, state) => cell.matches(`.${state}.own`);

function step(cell, mode, wanted) {
  const [row, column] = namesOf(cell);
  waiting.push({ row, column, relation: panel().dataset.relation ?? "", list: mode.value, state: mode.dataset.state, wanted, view: view() });
  repaint();
  send();
}

/** By a click or Enter; with `wanted` false only what is there is removed, whatever would be set. */
function toggle(cell) {
  const mode = modes.find((each) => each.checked);
  step(cell, mode, !isOwn(cell, mode.dataset.state));
}

function remove(cell) {
  const mode = modes.find((each) => isOwn(cell, each.dataset.state));
  if (mode) step(cell, mode, false);
  else showToast("This cell has no rule of its own. The pane names the rule that decides.");
}

function paint({ row, column, relation, state, wanted }) {
  const cell = row && relation === (panel().dataset.relation ?? "") && cellOf(row, column);
  if (!cell) return;
  if (!stored.has(cell)) stored.set(cell, [cell.className, cell.title, cell.textContent]);
  cell.className = `${wanted ? `${state} own` : "removed"} waiting${isFailing ? " failing" : ""}`;
  cell.title = "Not saved yet";
  cell.textContent = wanted ? GLYPHS[state] : "";
}

const GLYPHS = { excluded: "✕", inside: "▣", leads: "→" };
for (const each of document.querySelectorAll("[data-glyph]")) each.textContent = GLYPHS[each.classList[0]];

function repaint() {
  for (const [cell, [name, title, text]] of stored) Object.assign(cell, { className: name, title, textContent: text });
  stored.clear();
  waiting.forEach(paint);
  const note = $("#matrix-saved");
  if (!note) return;
  const many = plural(waiting.length, "change", "changes");
  note.textContent = !waiting.length ? "All saved" : isFailing ? `${many} not saved yet, trying again` : `Saving ${many}…`;
  note.classList.toggle("bad", isFailing);
}

const TRY_AGAIN = 3000; // ms
const REASONS = { 403: "You may not change these rules.", 404: "This set of rules is not there any more." };

async function ask(path, query, body) {
  const headers = { "HX-Request": "true", "X-CSRFToken": JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"] };
  const answer = await waitFor(fetch(`${panel().dataset.url}${path}?${query}`, { method: body ? "POST" : "GET", body, headers })).catch(() => null);
  const elsewhere = answer?.headers.get("HX-Redirect");
  if (!elsewhere) return answer;
  location.href = elsewhere;
  return null;
}

/** One after another: the last one that was made is what is stored in the end. */
async function send() {
  if (isSending) return;
  isSending = true;
  while (waiting.length) {
    const [{ row, column, list, wanted, view: query, direction }] = waiting;
    repaint();
    const body = new URLSearchParams(direction ? {} : { row, column, list, wanted: wanted ? "1" : "0" });
    const answer = await (direction ? ask(`../${direction}/`, "", body) : ask("cell/set/", query, body));
    isFailing = !answer || answer.status >= 500;
    if (isFailing) {
      setTimeout(send, TRY_AGAIN);
      break;
    }
    waiting.shift();
    if (direction || !answer.ok) say(answer);
    if (!direction && answer.ok) show(await answer.text());
    else await refresh();
  }
  isSending = false;
  repaint();
  if (chosen && !waiting.length) explain();
}

function say(answer) {
  const { toast } = JSON.parse(answer.headers.get("HX-Trigger") ?? "{}");
  const text = toast?.text ?? REASONS[answer.status] ?? `The server refused this (${answer.status}).`;
  showToast(text, { kind: answer.ok ? "success" : "error" });
}

/* Showing what is stored ------------------------------------------------------------------------------------------- */

function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const next = fresh.getElementById("matrix");
  if (Number(next.dataset.version) < Number(panel().dataset.version)) return; // a later answer was there before
  if (next.dataset.relation !== panel().dataset.relation) return; // another one is shown by now
  for (const id of ["facts", "undo"]) {
    if (!fresh.getElementById(id)) continue;
    $(`#${id}`)?.replaceWith(document.adoptNode(fresh.getElementById(id)));
    window.htmx.process($(`#${id}`));
  }
  if (heads(fresh).join() !== heads(document).join()) return replace(next);
  panel().dataset.version = next.dataset.version;
  for (const [cell, [name, title, text]] of stored) Object.assign(cell, { className: name, title, textContent: text });
  stored.clear();
  const shown = table() ? [...table().tBodies[0].rows] : [];
  const rows = shown.length ? fresh.querySelector("table.matrix").tBodies[0].rows : [];
  for (const [at, { cells }] of shown.entries()) {
    for (let column = 1; column < cells.length; column += 1) update(cells[column], rows[at].cells[column]);
  }
  document.dispatchEvent(new CustomEvent("cellsChanged"));
}

function update(cell, { className, title, textContent }) {
  if (cell.className !== className) cell.className = className;
  if (cell.title !== title) cell.title = title;
  if (cell.textContent !== textContent) cell.textContent = textContent;
}

/** Labels came or went meanwhile. */
function replace(next) {
  const hadFocus = panel().contains(document.activeElement);
  panel().replaceWith(document.adoptNode(next));
  window.htmx.process(panel());
  stored.clear();
  makeReachable();
  if (hadFocus) table()?.querySelector("td[tabindex='0']")?.focus();
}

async function refresh() {
  const asked = view();
  const answer = await ask("", asked);
  if (!answer?.ok || asked.get("lines") !== view().get("lines")) return;
  show(await answer.text());
  repaint();
  if (chosen) explain();
}

document.addEventListener("constraintsChanged", refresh); // from the history
addEventListener("focus", () => waiting.length || refresh());
addEventListener("online", send);
addEventListener("beforeunload", (event) => waiting.length && event.preventDefault());

// Undo and redo wait their turn like all else: the newest step may not be stored yet.

function takeStep(event, direction) {
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!waiting.length && $(`[data-step=${direction}]`).disabled) return;
  waiting.push({ direction });
  repaint();
  send();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-step]");
  if (button) takeStep(event, button.dataset.step);
}, true);
document.addEventListener("keydown", (event) => {
  const isUndo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !$("dialog[open]");
  if (isUndo && isEditable()) takeStep(event, event.shiftKey ? "redo" : "undo");
}, true);

/* Mouse and keys --------------------------------------------------------------------------------------------------- */

const MOVES = {
  ArrowLeft: (row, column) => [row, column - 1],
  ArrowRight: (row, column) => [row, column + 1],
  ArrowUp: (row, column) => [row - 1, column],
  ArrowDown: (row, column) => [row + 1, column],
  Home: (row) => [row, 1],
  End: (row, _, last) => [row, last],
};

document.addEventListener("click", (event) => {
  const cell = event.target.closest("table.matrix tbody td");
  if (!cell) return;
  if (isEditable()) toggle(cell);
  choose(cell);
});

document.addEventListener("keydown", (event) => {
  const cell = event.target.closest("table.matrix tbody td");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, repeat } = event;
  const mode = modes[Number(key) - 1];
  const move = MOVES[key]?.(cell.parentElement.sectionRowIndex, cell.cellIndex, cell.parentElement.cells.length - 1);
  if (!move && !mode && !["Enter", " ", "Delete"].includes(key)) return;
  event.preventDefault();
  if (mode) mode.checked = true;
  if (isEditable() && !repeat && (key === "Enter" || key === " ")) toggle(cell);
  if (isEditable() && !repeat && key === "Delete") remove(cell);
  const next = move ? table().tBodies[0].rows[move[0]]?.cells[move[1]] : cell;
  if (next?.localName === "td") choose(next);
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target.id === "cell") return;
  stored.clear();
  makeReachable();
  repaint();
});
makeReachable();
