// The items of a dataset or of a project: a table to select in, with the mouse or with keys, and the pages of single items. The
// table of preannotations is like it.
// The table is swapped by the server, so every event is caught on its way up.

import "./jump.js";
import { number } from "./words.js";

const $ = (selector, root = document) => root.querySelector(selector);
const closest = (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null);
const boxes = () => [...document.querySelectorAll(".items [data-check]")];
let last = null; // the box that was changed last: where a range begins

/* Selecting ------------------------------------------------------------------------------------------------------- */

// Kept for this tab, so that what is selected stays so on other pages and in another order, as long as the filter is the same.
const KEPT = "selection";
let chosen = new Set(); // the keys of items
let every = false; // everything that fits the filter; the boxes then say nothing

function recall() {
  const form = $("#selection");
  if (!form) return;
  const kept = JSON.parse(sessionStorage.getItem(KEPT));
  const known = kept?.of === form.dataset.of;
  [chosen, every] = known ? [new Set(kept.items), kept.every] : [new Set(), false];
  show();
}

function keep() {
  sessionStorage.setItem(KEPT, JSON.stringify({ of: $("#selection").dataset.of, items: [...chosen], every }));
  show();
}

function show() {
  const { items, all } = $("#selection").elements;
  [items.value, items.disabled, all.disabled] = [[...chosen].join(), every, !every];
  for (const box of boxes()) {
    [box.checked, box.disabled] = [every || chosen.has(box.value), every];
    box.closest("tr").setAttribute("aria-selected", box.checked);
  }
  const here = boxes().filter((box) => box.checked).length;
  const elsewhere = every ? 0 : chosen.size - here;
  const count = every ? Number(all.dataset.count) : chosen.size;
  $("#selected-count").textContent = `${number(count)} selected${elsewhere ? `, ${number(elsewhere)} on other pages` : ""}`;
  $("#selection").hidden = !count;
  const head = $("[data-check-all]");
  head.checked = here === boxes().length;
  head.indeterminate = here > 0 && !head.checked;
  const more = $("[data-choose-all]");
  if (more) more.hidden = every || !head.checked;
}

function put(some, checked) {
  for (const box of some) checked ? chosen.add(box.value) : chosen.delete(box.value);
  keep();
}

function choose(wanted, checked, range) {
  const all = boxes();
  const [from, to] = [range && last ? all.indexOf(last) : -1, all.indexOf(wanted)];
  last = wanted;
  put(from < 0 ? [wanted] : all.slice(Math.min(from, to), Math.max(from, to) + 1), checked);
}

function clear() {
  [chosen, every, last] = [new Set(), false, null];
  keep();
}

document.addEventListener("click", (event) => {
  const box = closest(event, ".items [data-check]");
  if (box) choose(box, box.checked, event.shiftKey);
  const head = closest(event, "[data-check-all]");
  if (head) every ? clear() : put(boxes(), head.checked);
  if (closest(event, "[data-choose-all]")) {
    every = true;
    keep();
  }
  if (closest(event, "[data-choose-none]")) clear();
});

// A click with Shift would mark the text between as well.
document.addEventListener("mousedown", (event) => event.shiftKey && closest(event, ".items .check") && event.preventDefault());

// After a removal the table comes anew: the focus stays at its place among the rows.
const rows = () => [...document.querySelectorAll(".items tbody tr")];
const TABLE = "#dataset, #rows"; // where it comes anew
let place = -1;
document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (!target.matches?.(TABLE)) return;
  place = rows().findIndex((row) => row.contains(document.activeElement));
  if (place < 0) place = rows().findIndex((row) => boxOf(row)?.checked);
});

document.addEventListener("htmx:afterSettle", ({ detail: { target } }) => {
  if (!last?.isConnected) last = null; // the table came anew, and not something beside it
  recall();
  if (!target.matches?.(TABLE) || place < 0) return;
  const row = rows().at(Math.min(place, rows().length - 1));
  if (row) $(".row-link", row).focus({ preventScroll: true });
  place = -1;
});
// Some of them may be gone.
for (const change of ["itemsChanged", "rowsChanged"]) document.addEventListener(change, () => $("#selection") && clear());
window.addEventListener("pageshow", recall);

/* Keys ------------------------------------------------------------------------------------------------------------ */

const rowKeys = {
  ArrowDown: (row, event) => move(row.nextElementSibling, row, event),
  ArrowUp: (row, event) => move(row.previousElementSibling, row, event),
  Home: (row, event) => move(row.parentElement.firstElementChild, row, event),
  End: (row, event) => move(row.parentElement.lastElementChild, row, event),
  " ": (row, event) => {
    const box = boxOf(row);
    if (box) choose(box, !box.checked, event.shiftKey);
  },
};
/** The whole page, and then everything that matches. */
function chooseMore() {
  if (!boxes().every((box) => box.checked)) put(boxes(), true);
  else $("[data-choose-all]")?.click();
}
const boxOf = (row) => $("[data-check]", row);

function move(to, from, event) {
  if (!to) return;
  $(".row-link", to).focus();
  if (!event.shiftKey || !boxOf(to)) return;
  if (!last) choose(boxOf(from), true);
  choose(boxOf(to), true, true);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
  const typing = closest(event, "input:not([type=checkbox]), textarea, select");
  if (event.key === "ArrowDown" && closest(event, "#filter [type=search]")) {
    event.preventDefault();
    $(".items .row-link")?.focus();
    return;
  }
  if (typing) return;
  // From anywhere on the page the arrows lead into the table.
  if (["ArrowDown", "ArrowUp"].includes(event.key) && event.target === document.body && $(".items .row-link")) {
    event.preventDefault();
    $(".items .row-link").focus();
    return;
  }
  const row = closest(event, ".items tbody tr");
  const act = row && closest(event, ".row-link") && rowKeys[event.key];
  if (act) {
    event.preventDefault();
    act(row, event);
  } else if (event.key === "e" && $("[data-correct]", row ?? $(".one-item") ?? undefined)) {
    event.preventDefault(); // the letter would be typed into the text
    $("[data-correct]", row ?? $(".one-item")).click();
  } else if (event.key === "Escape" && !($("#selection")?.hidden ?? true)) clear();
  else if (event.key === "Delete" && !$("#selection")?.hidden) $("#selection [data-act]")?.click();
  else if (event.key === "a" && $("#selection [data-key]")) chooseMore();
  else if ($(`#selection:not([hidden]) [data-key="${CSS.escape(event.key)}"]`)) $(`#selection [data-key="${CSS.escape(event.key)}"]`).click();
  else if (event.key === "." && $("#original")) $("#original").open = !$("#original").open;
  else if (["ArrowLeft", "ArrowRight"].includes(event.key) && !closest(event, ".menu, .tabs")) {
    $(`a[rel=${event.key === "ArrowLeft" ? "prev" : "next"}][href]`)?.click();
  }
});

/* Extra fields ---------------------------------------------------------------------------------------------------- */

document.addEventListener("click", (event) => {
  if (closest(event, "[data-add-field]")) {
    const rows = $("#field-rows");
    rows.append($("#field-row").content.cloneNode(true));
    $("input", rows.lastElementChild).focus();
  }
  const row = closest(event, "[data-remove-field]")?.closest(".field-row");
  row?.parentElement.dispatchEvent(new Event("input", { bubbles: true })); // the draft of the form is another now
  row?.remove();
});

// A draft may have more rows than the form, or fewer.
document.addEventListener("draft", ({ target, detail: { Name } }) => {
  const rows = $("#field-rows", target);
  if (!rows || !Name) return;
  while (rows.childElementCount < Name.length) rows.append($("#field-row").content.cloneNode(true));
  while (rows.childElementCount > Name.length) rows.lastElementChild.remove();
});

// The server limits how many fields a form has, so the lines go as one. A line end in a name is only kept outside its field.
document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (!target.matches("form:has(#field-rows)")) return;
  const lines = [...target.querySelectorAll(".field-row")].map((row) => {
    const [name, value, type] = [...row.children].map((field) => field.value);
    const known = row.dataset.name && name === row.firstElementChild.defaultValue;
    return [known ? JSON.parse(row.dataset.name) : name, value, type, known];
  });
  const filled = lines.filter(([name, value, , known]) => known || name || value.trim());
  detail.parameters.fields = JSON.stringify(filled.map((line) => line.slice(0, 3)));
});
