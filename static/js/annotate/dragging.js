// Follows a pointer that is held down from token to token. At the edge of the desk the text moves on beneath it.

import { now, text } from "./workspace.js";

const NEAR = 48; // pixels from the edge
const FASTEST = 14; // pixels a frame, at the edge itself
const desk = text.root.closest(".desk");

/** The token under a point of the window, or null. */
function tokenAt({ clientX, clientY }) {
  const under = document.elementsFromPoint(clientX, clientY).map((element) => text.tokenAt(element));
  return under.find((token) => token !== null) ?? null;
}

/** How far the text is to move in a frame while a pointer is at this height. */
function pace(y, { top, bottom }) {
  const [above, below] = [top + NEAR - y, y - bottom + NEAR];
  const near = below > 0 ? below : Math.min(0, -above);
  return (Math.max(-NEAR, Math.min(NEAR, near)) / NEAR) * FASTEST;
}

/** Until it is let go: `move(token)` for each token that it reaches, then `drop` with the last event. */
export function follow(start, { move, drop }) {
  const isPage = getComputedStyle(desk).overflowY === "visible"; // on narrow screens the page scrolls as a whole
  const [scroller, edges] = isPage ? [document.scrollingElement, { top: 0, bottom: innerHeight }] : [desk, desk.getBoundingClientRect()];
  const ended = new AbortController();
  let [at, token, moved, frame] = [start, tokenAt(start), false, 0];
  const reach = () => {
    const under = tokenAt(at);
    if (under === null || under === token) return;
    moved = true;
    move((token = under));
  };
  const roll = () => {
    frame = requestAnimationFrame(roll);
    const step = moved ? pace(at.clientY, edges) : 0;
    if (!step) return;
    scroller.scrollBy({ top: step, behavior: "instant" });
    reach();
  };
  const listen = (name, run) => addEventListener(name, (event) => event.pointerId === start.pointerId && run(event), { signal: ended.signal });
  const end = (event) => {
    ended.abort();
    cancelAnimationFrame(frame);
    now.drag = false;
    drop(event);
  };
  listen("pointermove", (event) => {
    at = event;
    reach();
  });
  listen("pointerup", end);
  listen("pointercancel", end);
  now.drag = true;
  roll();
}
