// All marks of a text that stands alone and is taller than the window, at its margin: a dot in the colour of its label for each, where it stands in
// the text, those that are only suggested hollow, and a line for each hit. A pointer goes there; keys have Tab and the search.

import { $, items, marks, now, text } from "./workspace.js";

const WIDE = 4; // pixels of a dot
const HIGH = 3;
const HITS = 4; // at the right
const root = $("overview");
const [shown, chosen] = root.querySelectorAll("i"); // what the window shows, and what is selected
const canvas = root.querySelector("canvas");
const pen = canvas.getContext("2d");
let drawing = 0;
let at; // the token that is selected

/** Before the next frame: what changes several times until then is drawn once. */
export function showOverview() {
  drawing ||= requestAnimationFrame(draw);
}

/** Point at the token that is selected, if one is. */
export function pointOverview(token) {
  at = token;
  if (!root.hidden) placeChosen();
}

function draw() {
  drawing = 0;
  const { scroller, lines } = text;
  root.hidden = items.length > 1 || !lines.all.length || lines.fullHeight <= scroller.clientHeight;
  if (root.hidden) return;
  root.style.marginRight = `${scroller.offsetWidth - scroller.clientWidth}px`; // beside the bar that scrolls
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  pen.scale(devicePixelRatio, devicePixelRatio);
  drawMarks(width - HITS - 1, height);
  drawHits(width, height);
  placeChosen();
  placeShown();
}

function drawMarks(width, height) {
  const { lines } = text;
  const [across, down] = [(width - WIDE) / lines.width, (height - HIGH) / lines.fullHeight];
  for (const { start, label, status } of marks.entities) {
    const { left, top } = lines.placeOf(start);
    const color = now.labels.entity.get(label).color;
    pen.fillStyle = pen.strokeStyle = color;
    if (status === "suggested") pen.strokeRect(left * across + 0.5, top * down + 0.5, WIDE - 1, HIGH - 1);
    else pen.fillRect(left * across, top * down, WIDE, HIGH);
  }
}

function drawHits(width, height) {
  const down = (height - HIGH) / text.lines.fullHeight;
  pen.fillStyle = getComputedStyle(canvas).color;
  for (const { start } of now.hits) pen.fillRect(width - HITS, text.lines.placeOf(start).top * down, HITS, 2);
}

const share = (height) => `${100 * Math.max(0, Math.min(1, height / text.lines.fullHeight))}%`;

function placeChosen() {
  chosen.hidden = at === undefined;
  if (!chosen.hidden) chosen.style.top = share(text.lines.placeOf(at).top);
}

/** Its lower edge is counted from below. */
function placeShown() {
  const [from, to] = text.near.view;
  shown.style.top = share(from);
  shown.style.bottom = share(text.lines.fullHeight - to);
}

/** Let the window show what stands in the text where the pointer is. */
function go({ clientY }) {
  const { top, height } = root.getBoundingClientRect();
  text.center(((clientY - top) / height) * text.lines.fullHeight);
}

export function listenToOverview() {
  root.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault(); // the text keeps the focus
    root.setPointerCapture(event.pointerId);
    go(event);
  });
  root.addEventListener("pointermove", (event) => root.hasPointerCapture(event.pointerId) && go(event));
  document.addEventListener("scroll", () => root.hidden || requestAnimationFrame(placeShown), { capture: true, passive: true });
  addEventListener("resize", showOverview);
}
