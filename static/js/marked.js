// Relations as arcs: a marked text is drawn as on the annotation screen. What stands there without this script stays for those
// who do not see it.

import { Text } from "./annotate/text.js";

function draw(sheet) {
  const { item, entities, relations, labels } = JSON.parse(sheet.querySelector("script").textContent);
  const byKey = new Map(labels);
  sheet.hidden = false;
  sheet.previousElementSibling.classList.add("visually-hidden");
  const text = new Text(sheet, item);
  text.redraw = () => text.draw({ entities, relations, entityLabels: byKey, relationLabels: byKey, chosen: {} });
}

const drawAll = (root) => root.querySelectorAll(".sheet[hidden]").forEach(draw);
drawAll(document);
document.addEventListener("htmx:load", ({ target }) => drawAll(target));
