// What is counted after the tree is on the screen: marks of each item, likely mistakes.

import { number, plural } from "../words.js";
import { ask, byId, decorators, home, item, root } from "./tree.js";

let marks = {};
let below = {};
let timer = 0;

function decorate(list) {
  for (const uid of new Set([...Object.keys(marks), ...Object.keys(below)])) {
    const row = list === root() ? byId(`row-${uid}`) : list.querySelector(`#row-${uid}`);
    if (row) write(row, marks[uid] ?? 0, row.parentElement.ariaExpanded === "false" ? (below[uid] ?? 0) : 0);
  }
}

/** The marks of an item and, while its branch is closed, those of everything below it. */
function write(row, own, hidden) {
  const off = row.classList.contains("off");
  const top = row.parentElement.ariaLevel === "1";
  const ownText = own ? `${number(own)}${off ? " kept" : top ? (own === 1 ? " mark" : " marks") : ""}` : "";
  const text = [ownText, hidden ? `${number(hidden)} below` : ""].filter(Boolean).join(" + ");
  const usage = row.querySelector(".usage") ?? row.appendChild(Object.assign(document.createElement("span"), { className: "usage" }));
  if (usage.textContent === text) return;
  usage.textContent = text;
  usage.title = [`${plural(own, "mark carries", "marks carry")} this label`, hidden && `${plural(hidden, "mark", "marks")} below`].filter(Boolean).join(", ");
}

decorators.push(decorate);

async function count() {
  const answer = await ask(`${home}figures/`);
  if (!answer) return;
  const counted = await answer.json();
  for (const uid of Object.keys(marks)) if (!counted.marks[uid]) item(uid)?.querySelector(":scope > .row > .usage")?.remove();
  ({ marks, below } = counted);
  decorate(root());
  byId("check-count").textContent = counted.checks ? number(counted.checks) : "";
}

const later = () => {
  clearTimeout(timer);
  timer = setTimeout(count, 1500);
};

count();
document.addEventListener("tree:refreshed", () => (decorate(root()), later()));
document.addEventListener("tree:changed", () => decorate(root()));
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const row = detail.elt?.closest?.("#tree");
  if (row) decorate(root());
  if (detail.requestConfig?.verb === "post") later();
});
