// The items of a dataset: a table to select in, with the mouse or with keys, and the pages of single items.
// The table is swapped by the server, so every event is caught on its way up.

const $ = (selector, root = document) => root.querySelector(selector);
const closest = (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null);
const boxes = () => [...document.querySelectorAll('.items [name="items"]')];
let last = null; // the box that was changed last: where a range begins

/* Selecting ------------------------------------------------------------------------------------------------------- */

function show() {
  const form = $("#selection");
  if (!form) return;
  const all = form.elements.all;
  const every = all && !all.disabled;
  const chosen = boxes().filter((box) => box.checked).length;
  const count = every ? Number(all.dataset.count) : chosen;
  $("#selected-count").textContent = `${count.toLocaleString("en").replaceAll(",", "\u202f")} selected`;
  form.hidden = !chosen;
  const head = $("[data-check-all]");
  head.checked = chosen > 0 && chosen === boxes().length;
  head.indeterminate = chosen > 0 && !head.checked;
  const more = $("[data-choose-all]");
  if (more) more.hidden = every || !head.checked;
  boxes().forEach((box) => box.closest("tr").setAttribute("aria-selected", box.checked));
}

function choose(wanted, checked, range) {
  const all = boxes();
  const [from, to] = [range && last ? all.indexOf(last) : -1, all.indexOf(wanted)];
  const part = from < 0 ? [wanted] : all.slice(Math.min(from, to), Math.max(from, to) + 1);
  part.forEach((box) => (box.checked = checked));
  last = wanted;
  chooseAll(false);
}

/** Everything that fits the filter, on other pages too: the boxes then say nothing. */
function chooseAll(every) {
  const all = $("#selection")?.elements.all;
  if (all) all.disabled = !every;
  boxes().forEach((box) => (box.disabled = every));
  show();
}

function clear() {
  boxes().forEach((box) => (box.checked = false));
  last = null;
  chooseAll(false);
}

document.addEventListener("click", (event) => {
  const box = closest(event, '.items [name="items"]');
  if (box) choose(box, box.checked, event.shiftKey);
  const head = closest(event, "[data-check-all]");
  if (head) {
    const wanted = head.checked;
    boxes().forEach((each) => (each.checked = wanted));
    chooseAll(false);
  }
  if (closest(event, "[data-choose-all]")) chooseAll(true);
  if (closest(event, "[data-choose-none]")) clear();
});

// A click with Shift would mark the text between as well.
document.addEventListener("mousedown", (event) => event.shiftKey && closest(event, ".items .check") && event.preventDefault());

// After a removal the table comes anew: the focus stays at its place among the rows.
const rows = () => [...document.querySelectorAll(".items tbody tr")];
let place = -1;
document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (target.id !== "dataset") return;
  place = rows().findIndex((row) => row.contains(document.activeElement));
  if (place < 0) place = rows().findIndex((row) => boxOf(row)?.checked);
});

document.addEventListener("htmx:afterSettle", ({ detail: { target } }) => {
  if (!last?.isConnected) last = null; // the table came anew, and not something beside it
  show();
  if (target.id !== "dataset" || place < 0) return;
  const row = rows().at(Math.min(place, rows().length - 1));
  if (row) $(".row-link", row).focus({ preventScroll: true });
  place = -1;
});
window.addEventListener("pageshow", show); // a browser may bring checked boxes back

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
const boxOf = (row) => $('[name="items"]', row);

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
  const row = closest(event, ".items tbody tr");
  const act = row && closest(event, ".row-link") && rowKeys[event.key];
  if (act) {
    event.preventDefault();
    act(row, event);
  } else if (event.key === "Escape" && boxes().some((box) => box.checked)) clear();
  else if (event.key === "Delete" && !$("#selection")?.hidden) $("#selection [data-act]")?.click();
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
  closest(event, "[data-remove-field]")?.closest(".field-row").remove();
});
