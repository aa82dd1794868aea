// Follows a pointer that is held down from token to token. At the edge of the desk the text moves on beneath it.

import { now, text } from "./workspace.js";

const SLACK = 4; // pixels that a click may move
const NEAR = 48; // pixels from the edge
const FASTEST = 14; // pixels a frame, at the edge itself

/** How far the text is to move in a frame while a pointer is at this height. */
function pace(y, { top, bottom }) {
  const [above, below] = [top + NEAR - y, y - bottom + NEAR];
  const near = below > 0 ? below : Math.min(0, -above);
  return (Math.max(-NEAR, Math.min(NEAR, near)) / NEAR) * FASTEST;
}

/** Until it is let go, or Escape or another item on the page gives up: `move(token)` for each token that it reaches, then `drop` with the last event. `held` is the
    place in the text that the pointer moves, if that is not where the pointer is. */
export function follow(start, { held = { x: start.clientX, y: start.clientY }, move, drop }) {
  const [aside, below] = [start.clientX - held.x, start.clientY - held.y];
  const tokenAt = ({ clientX, clientY }) => text.tokenNear(clientX - aside, clientY - below);
  const { scroller } = text;
  const edges = scroller === document.scrollingElement ? { top: 0, bottom: innerHeight } : scroller.getBoundingClientRect();
  const ended = new AbortController();
  let [at, token, moved, frame] = [start, tokenAt(start), false, 0];
  const reach = () => {
    const isClick = !moved && Math.hypot(at.clientX - start.clientX, at.clientY - start.clientY) < SLACK;
    const near = tokenAt(at);
    if (isClick || near === token) return;
    moved = true;
    move((token = near));
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
  document.addEventListener("keydown", ({ key }) => key === "Escape" && end({ type: "pointercancel" }), { capture: true, signal: ended.signal });
  document.addEventListener("leaving", () => end({ type: "pointercancel" }), { signal: ended.signal });
  now.drag = true;
  roll();
}
