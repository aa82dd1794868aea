// What a finger does in the text: a tap is a click, a swipe scrolls, and who first holds still selects words.

import { follow } from "./dragging.js";
import { enterPointed } from "./entering.js";
import { pickForWords } from "./labelling.js";
import { clickToken } from "./pointer.js";
import { escape, select } from "./selection.js";
import { focusText, now, readOnly, sheets, text } from "./workspace.js";

const HOLD = 350; // milliseconds
const SLACK = 10; // pixels that a finger moves although it holds still
let finger = null; // where it went down, until it moves or is lifted
let isSelecting = false;

function press(event) {
  if (event.pointerType !== "touch" || !event.isPrimary || !event.target.closest(".text")) return;
  event.preventDefault();
  focusText();
  finger = { event, hold: setTimeout(hold, HOLD) };
}

function lift() {
  clearTimeout(finger?.hold);
  finger = null;
}

function hold() {
  const { event } = finger;
  lift();
  if (!enterPointed(event)) return;
  const token = text.tokenAt(event.target);
  if (token === null || readOnly() || now.view.relating) return;
  isSelecting = true;
  navigator.vibrate?.(10);
  const reach = (focus) => select({ words: { anchor: token, focus } });
  reach(token);
  follow(event, {
    move: reach,
    drop({ type }) {
      isSelecting = false;
      if (type === "pointercancel") escape();
      else pickForWords();
    },
  });
}

function tap({ pointerId }) {
  if (finger?.event.pointerId !== pointerId) return;
  const { event } = finger;
  lift();
  if (!enterPointed(event)) return;
  const token = text.tokenAt(event.target);
  if (token === null) escape();
  else clickToken(token, event);
}

export function listenToTouch() {
  sheets.addEventListener("pointerdown", press);
  addEventListener("pointermove", ({ pointerId, clientX, clientY }) => {
    if (finger?.event.pointerId === pointerId && Math.hypot(clientX - finger.event.clientX, clientY - finger.event.clientY) > SLACK) lift();
  });
  addEventListener("pointerup", tap);
  addEventListener("pointercancel", lift);
  // The text must not scroll away from a finger that selects; the browser asks before the first move.
  sheets.addEventListener("touchmove", (event) => isSelecting && event.preventDefault(), { passive: false });
  sheets.addEventListener("contextmenu", (event) => (finger || isSelecting) && event.preventDefault());
}
