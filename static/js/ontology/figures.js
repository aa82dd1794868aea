// What is counted after the tree is on the screen: marks of each item, likely mistakes.

import { number } from "../words.js";
import { ask, byId, decorators, home, item, root } from "./tree.js";

let marks = {};
let timer = 0;

function decorate(list) {
  for (const [uid, n] of Object.entries(marks)) {
    const row = list === root() ? byId(`row-${uid}`) : list.querySelector(`#row-${uid}`);
    if (row) write(row, n);
  }
}

function write(row, n) {
  const off = row.classList.contains("off");
  const top = row.parentElement.getAttribute("aria-level") === "1";
  const text = `${number(n)}${off ? " kept" : top ? (n === 1 ? " mark" : " marks") : ""}`;
  const usage = row.querySelector(".usage") ?? row.appendChild(Object.assign(document.createElement("span"), { className: "usage" }));
  if (usage.textContent === text) return;
  usage.textContent = text;
  usage.title = n === 1 ? "1 mark carries this label" : `${number(n)} marks carry this label`;
}

decorators.push(decorate);

async function count() {
  const answer = await ask(`${home}figures/`);
  if (!answer) return;
  const { marks: counted, checks } = await answer.json();
  for (const uid of Object.keys(marks)) if (!counted[uid]) item(uid)?.querySelector(":scope > .row > .usage")?.remove();
  marks = counted;
  decorate(root());
  byId("check-count").textContent = checks ? number(checks) : "";
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
