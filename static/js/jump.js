// Going to an item by its number: beside the field it is said that a number is beyond the last one.

import { number } from "./words.js";

document.addEventListener("input", ({ target }) => {
  if (target.id !== "jump-to") return;
  const { value, max, validity } = target;
  target.setCustomValidity(validity.rangeOverflow ? `There is no item ${number(value)}; the last is ${number(max)}.` : "");
});
