// A page of the workspace as the server made it: what the scripts know of it, and its parts that differ from item to item.

const PARTS = ["where", "heading", "external", "calibration", "waits", "walk", "messages", "talks", "sheets"];

/** Of a document that came from an address; null if it is no workspace. */
export function pageIn(source, url) {
  const state = JSON.parse(source.getElementById("state")?.textContent ?? null);
  if (!state) return null;
  const parts = PARTS.map((id) => source.getElementById(id)).filter(Boolean).map(({ id, innerHTML, hidden }) => [id, { innerHTML, hidden }]);
  const { max } = source.querySelector(".work-bar progress") ?? {};
  return { url, state, parts: Object.fromEntries(parts), title: source.title, max, at: Date.now() };
}

/** The one that the browser has loaded, before scripts change it. */
export const first = pageIn(document, location.pathname + location.search);
