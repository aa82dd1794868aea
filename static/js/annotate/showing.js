// Draws what is there and what is selected.

import { number, plural } from "../words.js";
import { future, past } from "./history.js";
import { pointOverview, showOverview } from "./overview.js";
import { showSticky } from "./sticky.js";
import { showTargets } from "./targets.js";
import { placeHandles, showToolbar } from "./toolbar.js";
import { $, active, items, marks, now, onPage, original, readOnly, relationList, sheet, span, state, text, wordsOf } from "./workspace.js";

export function show() {
  showMarks();
  showSelection();
  if (state.reading) return;
  showSticky();
  $("done").toggleAttribute("data-done", marks.done);
  $("done-note").hidden = !marks.done || items.length > 1; // there its heading says so, and nothing moves
  $("reopen").hidden = !marks.done;
  showStep("undo", past, "Undo (Ctrl Z)");
  showStep("redo", future, "Redo (Ctrl Y)");
  for (const each of items) each.sheet.classList.toggle("read-only", each.marks.done);
  $("pane").classList.toggle("read-only", readOnly());
}

function showStep(id, steps, words) {
  const step = steps.at(-1);
  $(id).disabled = !step;
  const isElsewhere = step && (step.batch || !onPage(step.item));
  $(id).title = isElsewhere ? `${words}: the last change was in ${step.batch ? "many items" : `item ${step.item.number}`}` : words;
}

function showMarks() {
  const { labels } = now;
  if (!labels) return;
  const { entities, relations } = marks;
  for (const item of items) item.draw(labels);
  relationList?.show(relations.map(inWords));
  showChosen();
  const counts = [plural(entities.length, "entity", "entities")];
  if (state.hasRelations) counts.push(plural(relations.length, "relation", "relations"));
  $("number").textContent = number(active.number);
  $("counts").textContent = counts.join(", ");
  showUndecided();
  showOverview();
}

export function showChosen() {
  if (!now.labels) return;
  const { candidate, mark, relation, relating } = now.view;
  text.choose({ entity: candidate ?? mark, relation, source: relating });
  relationList?.choose(relation);
  showTargets();
}

/** A relation as it is read: its source, the name of its label, and its target. */
export function inWords({ uid, source, target, label, status }) {
  const { name, active } = now.labels.relation.get(label);
  const [from, to] = [source, target].map((end) => wordsOf(marks.entity.get(end)));
  return { uid, source: from, name: `${name}${status === "suggested" ? " ?" : ""}${active ? "" : " (off)"}`, target: to };
}

function showUndecided() {
  if (state.reading) return;
  const count = marks.undecided.length;
  $("undecided").hidden = !count || readOnly();
  $("undecided-count").textContent = plural(count, "suggestion", "suggestions");
}

export function showSelection() {
  const { view } = now;
  const mark = marks.entity.get(view.candidate ?? view.mark);
  const words = now.stretch ? { anchor: now.stretch.start, focus: now.stretch.end } : view.words;
  text.drawWords(words);
  sheet.classList.toggle("chosen", Boolean(words || mark || view.relation));
  placeHandles(view.mark && mark && !readOnly() ? (now.stretch ?? mark) : null);
  pointOverview(words?.focus ?? mark?.start ?? marks.entity.get(marks.relation.get(view.relation)?.source)?.start);
  original.mark(words ? span(words) : mark && [mark.start, mark.end]);
  showToolbar();
}

export function say(words) {
  $("said").textContent = words;
}

export function showMode(words = "") {
  if ($("mode").textContent !== words) $("mode").textContent = words; // a screen reader says it once
  $("mode").hidden = !words;
}
