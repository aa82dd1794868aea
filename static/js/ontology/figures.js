// What is counted after the tree is on the screen: marks of each branch, likely mistakes.

import { number, plural } from "../words.js";
import { ask, byId, decorators, home, isBranch, root } from "./tree.js";

const columns = [...byId("tree-head").querySelectorAll("[data-column]")].map(({ dataset }) => ({ name: dataset.column, where: dataset.where ?? "" }));
let counted = {}; // by column: marks of each item, and of all below it
const most = {}; // by column: marks of the greatest branch
let timer = 0;

function decorate(list) {
  for (const row of list.querySelectorAll("li[role=treeitem] > .row:not(.editing)")) write(row);
}

/** The marks of an item, and of its whole branch. */
function count(column, uid) {
  const { own, below } = counted[column] ?? { own: {}, below: {} };
  return [own[uid] ?? 0, (own[uid] ?? 0) + (below[uid] ?? 0)];
}

/** A cell for each column: the marks of the whole branch, and as a bar those with the item's own part. */
function write(row) {
  const uid = row.id.slice(4);
  const cells = columns.map(({ name }) => count(name, uid));
  const off = row.classList.contains("off");
  const key = cells.some(([, all]) => all) ? `${cells.join()} ${off}` : "";
  const before = row.lastElementChild.matches(".usage") ? row.lastElementChild : null;
  if ((before?.dataset.key ?? "") === key) return;
  before?.remove();
  row.parentElement.removeAttribute("aria-description");
  if (!key) return;
  const told = cells.map(([own, all], at) => inWords(own, all, columns[at].where, isBranch(row.parentElement)));
  const usage = Object.assign(document.createElement("span"), { className: "usage", ariaHidden: "true" });
  usage.dataset.key = key;
  usage.append(...cells.map(([own, all], at) => cell(own, all, off, most[columns[at].name], told[at])));
  row.append(usage);
  row.parentElement.setAttribute("aria-description", told.join("; "));
}

function cell(own, all, off, greatest, title) {
  const place = Object.assign(document.createElement("span"), { title });
  if (!all) return place;
  place.textContent = number(all);
  if (off) place.append(" ", Object.assign(document.createElement("small"), { textContent: "kept" }));
  else place.style = `--own: ${own / greatest}; --all: ${all / greatest}`;
  return place;
}

/** Such as “in projects 1 022 marks, 204 of them with this label itself”. */
function inWords(own, all, where, hasBelow) {
  const marks = `${where} ${plural(all, "mark", "marks")}`.trim();
  return hasBelow && all ? `${marks}, ${own === all ? "all" : own ? number(own) : "none"} of them with this label itself` : marks;
}

decorators.push(decorate);

async function fetchFigures() {
  const answer = await ask(`${home}figures/`, { quiet: true });
  if (!answer) return;
  const found = await answer.json();
  counted = found.columns;
  for (const { name } of columns) most[name] = Math.max(1, ...Object.values(counted[name]).flatMap(Object.keys).map((uid) => count(name, uid)[1]));
  decorate(root());
  byId("check-count").textContent = found.checks ? number(found.checks) : "";
}

const later = () => {
  clearTimeout(timer);
  timer = setTimeout(fetchFigures, 1500);
};

fetchFigures();
document.addEventListener("tree:refreshed", () => (decorate(root()), later()));
document.addEventListener("tree:changed", () => decorate(root()));
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.elt?.closest?.("#tree")) decorate(root());
  if (detail.requestConfig?.verb === "post") later();
});
