// The cells of a matrix: one is chosen by mouse or by arrow keys, and the pane says which rule decides.

const cellsOf = (table) => table.tBodies[0].rows;

function choose(cell, { focus = false } = {}) {
  const table = cell.closest("table");
  table.querySelectorAll("[aria-selected], .crossing").forEach((each) => {
    each.removeAttribute("aria-selected");
    each.classList.remove("crossing");
  });
  table.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  cell.setAttribute("aria-selected", "true");
  cell.tabIndex = 0;
  const row = cell.parentElement.cells[0];
  const column = table.tHead.rows[0].cells[cell.cellIndex];
  [row, column].forEach((head) => head.classList.add("crossing"));
  if (focus) cell.focus();
  explain(table.closest("#matrix"), row.dataset.uid, column.dataset.uid);
}

let waiting;

function explain(panel, row, column) {
  clearTimeout(waiting);
  const values = new URLSearchParams({ row, column });
  if (panel.dataset.relation) values.set("relation", panel.dataset.relation);
  // Whoever holds an arrow key asks for the last cell only.
  waiting = setTimeout(() => htmx.ajax("GET", `${panel.dataset.cell}?${values}`, { target: "#cell", swap: "innerHTML" }), 120);
}

const MOVES = {
  ArrowLeft: (row, column) => [row, column - 1],
  ArrowRight: (row, column) => [row, column + 1],
  ArrowUp: (row, column) => [row - 1, column],
  ArrowDown: (row, column) => [row + 1, column],
  Home: (row) => [row, 1],
  End: (row, _, last) => [row, last],
};

function makeReachable() {
  const table = document.querySelector("table.matrix");
  const first = table && cellsOf(table)[0]?.cells[1];
  if (first && !table.querySelector("[tabindex='0']")) first.tabIndex = 0;
}

document.addEventListener("click", (event) => {
  const cell = event.target.closest("table.matrix tbody td");
  if (cell) choose(cell, { focus: true });
});

document.addEventListener("keydown", (event) => {
  const cell = event.target.closest("table.matrix tbody td");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    choose(cell);
    return;
  }
  if (!(event.key in MOVES)) return;
  event.preventDefault();
  const rows = cellsOf(cell.closest("table"));
  const index = cell.parentElement.sectionRowIndex;
  const [row, column] = MOVES[event.key](index, cell.cellIndex, cell.parentElement.cells.length - 1);
  const next = rows[row]?.cells[column];
  if (next?.localName === "td") choose(next, { focus: true });
});

document.addEventListener("htmx:afterSettle", makeReachable);
makeReachable();
