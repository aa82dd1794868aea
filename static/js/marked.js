// Relations as arcs: a marked text is drawn as on the annotation screen. What stands there without this script stays for those
// who do not see it.

import { Text } from "./annotate/text.js";

function draw(sheet) {
  const { item, entities, relations, labels, broken } = JSON.parse(sheet.dataset.sheet);
  const byKey = new Map(labels);
  sheet.hidden = false;
  sheet.previousElementSibling.classList.add("visually-hidden");
  const text = new Text(sheet, item);
  const all = { entities, relations, labels: { entity: byKey, relation: byKey }, broken };
  text.redraw = () => sheet.isConnected && text.draw(all); // one that was swapped away has no size
}

const drawAll = (root) => root.querySelectorAll("[data-sheet][hidden]").forEach(draw);
drawAll(document);
document.addEventListener("htmx:load", ({ target }) => drawAll(target));
