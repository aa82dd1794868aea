// One key goes from the text to the labels, to the relations, and back.

import { select } from "./selection.js";
import { $, focusText, marks, now, relationList, sheet, text } from "./workspace.js";

let before = {}; // what was selected in the text

const regions = () => [text.root, $("label-tree").querySelector("[tabindex='0'], button"), relationList?.root].filter((element) => element?.checkVisibility());

export function moveRegion(step) {
  const order = regions();
  const here = document.activeElement;
  const at = order.findIndex((element) => element === here || (element !== text.root && element.parentElement.contains(here) && !sheet.contains(here)));
  if (at <= 0) before = now.view;
  order[(Math.max(0, at) + step + order.length) % order.length].focus({ preventScroll: true });
}

/** Back to the text, as it was left. */
export function returnToText() {
  const { mark, words } = before;
  select(words || marks.entity.has(mark) ? before : {});
  focusText();
}
