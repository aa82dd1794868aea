// Draws what is there and what is selected.

import { plural } from "../words.js";
import { placeHandles } from "./handles.js";
import { past } from "./history.js";
import { $, marks, now, original, pane, readOnly, sheet, span, state, text, wordsOf } from "./workspace.js";

export function show() {
  showMarks();
  showSelection();
  if (state.reading) return;
  $("done").toggleAttribute("data-done", marks.done);
  $("done-note").hidden = $("reopen").hidden = !marks.done;
  $("undo").disabled = readOnly() || !past.length;
  sheet.classList.toggle("read-only", readOnly());
}

export function showMarks() {
  const { view, labels } = now;
  if (!labels) return;
  const { entities, relations } = marks;
  const chosen = { entity: view.candidate ?? view.mark, relation: view.relation };
  text.draw({ entities, relations, entityLabels: labels.entity, relationLabels: labels.relation, chosen, source: view.relating, broken: state.broken });
  pane.showRelations({ marks, labels: labels.relation, words: wordsOf, chosen: view.relation, readOnly: readOnly() });
  const counts = [plural(entities.length, "entity", "entities")];
  if (state.hasRelations) counts.push(plural(relations.length, "relation", "relations"));
  $("counts").textContent = counts.join(", ");
}

export function showSelection() {
  const { view, labels } = now;
  const chosen = marks.entity.get(view.candidate ?? view.mark);
  const words = now.stretch ? { anchor: now.stretch.start, focus: now.stretch.end } : view.words;
  text.drawWords(words);
  placeHandles(view.mark && chosen && !readOnly() ? (now.stretch ?? chosen) : null);
  original.mark(words ? span(words) : chosen && [chosen.start, chosen.end]);
  const actions = $("mark-actions");
  actions.hidden = true;
  const name = sheet.querySelector(".mark-name.selected");
  if (!view.mark || !view.actions || now.stretch || readOnly() || view.relating || !name) return;
  actions.hidden = false;
  const isSuggested = chosen.status === "suggested";
  actions.querySelector("[data-do=remove] span").textContent = isSuggested ? "Reject" : "Remove";
  actions.querySelector("[data-do=accept]").hidden = !isSuggested || !labels.entity.get(chosen.label).active;
  actions.style.left = `${Math.max(0, Math.min(name.offsetLeft, sheet.clientWidth - actions.offsetWidth))}px`;
  actions.style.top = `${text.floor(marks.entity.get(view.mark).start)}px`;
}

export function say(words) {
  $("said").textContent = words;
}

export function showMode(words = "") {
  $("mode").textContent = words;
  $("mode").hidden = !words;
}
