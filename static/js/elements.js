// Makes elements.

/** With text or other elements in it. */
export function make(tag, className, ...content) {
  const element = Object.assign(document.createElement(tag), { className });
  element.append(...content);
  if (tag === "button") element.type = "button";
  return element;
}
