// What the pointer is over lights up with what belongs to it: a relation with its ends, a mark with its relations.

import { marks, sheet, text } from "./workspace.js";

function pointed(target) {
  const [name, arc] = [target.closest(".mark-name"), target.closest(".arc")];
  if (arc) return { relation: arc.dataset.uid };
  const token = text.tokenAt(target);
  return { entity: name?.dataset.uid ?? (token === null ? undefined : marks.over(token)[0]?.uid) };
}

export function listenToHover() {
  sheet.addEventListener("pointerover", ({ target, pointerType }) => pointerType === "mouse" && text.pointAt(pointed(target)));
  sheet.addEventListener("pointerleave", () => text.pointAt({}));
}
