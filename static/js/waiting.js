// The thin line at the top of the page, for every answer that takes longer than a moment. What the page asks for by itself now and
// then has none: elements that poll, and requests of scripts that do not pass through `waitFor`.

const MOMENT = 200; // ms
const LEFT = 20_000; // ms after which a page that is still there is not being left
const line = document.querySelector("#waiting");
const pending = new Set();
let timer = null;

function begin(what) {
  pending.add(what);
  timer ??= setTimeout(() => line?.showPopover(), MOMENT);
}

function end(what) {
  if (!pending.delete(what) || pending.size) return;
  clearTimeout(timer);
  timer = null;
  if (line?.matches(":popover-open")) line.hidePopover();
}

/** What a request of a script that somebody waits for answers, with the line meanwhile. */
export function waitFor(request) {
  begin(request);
  return request.finally(() => end(request));
}

export const isPolling = (element) => element.matches?.('[hx-trigger^="every"]') ?? false;

document.addEventListener("htmx:beforeSend", ({ detail: { elt, xhr } }) => {
  if (isPolling(elt)) return;
  begin(xhr);
  xhr.addEventListener("loadend", () => end(xhr)); // no event of htmx: those of an element that is gone do not come up here
});

/* Leaving the page. A file comes without a new page, and nothing tells when. */

const isFile = (address) => /\/(download|file)[./]/.test(address ?? "");
let isLeavingForFile = false;
addEventListener("click", ({ target }) => (isLeavingForFile = isFile(target.closest?.("a[href]")?.href)));
addEventListener("submit", ({ target, submitter }) => (isLeavingForFile = isFile(submitter?.formAction ?? target.action)));
addEventListener("beforeunload", () => {
  if (isLeavingForFile) return;
  begin(window);
  setTimeout(() => end(window), LEFT);
});
addEventListener("pageshow", () => end(window));
