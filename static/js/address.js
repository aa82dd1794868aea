// The address of a dialog: it is shown while the dialog is open, and opens it again in its page. The browser's Back closes the dialog.
// Entries of the history are marked by `dialog`, the address to fetch it from, empty if only a form leads to it.

const dialog = document.querySelector("#dialog");

/** Whether the address is that of a dialog, which is open or about to be left. */
export const isDialogs = () => history.state?.dialog !== undefined;

const enter = (path) => history.pushState({ dialog: path }, "", path || location.href);

let left = null; // resolves when the address is the page's own again

/** Close the dialog. The address is that of the page when this is done. */
export function closeDialog() {
  dialog.close();
  return leave();
}

function leave() {
  if (!isDialogs()) return Promise.resolve();
  if (!left) {
    left = Promise.withResolvers();
    history.back();
  }
  return left.promise;
}

if (dialog) {
  const { page } = dialog.dataset; // the answer is a page around the part of it that was asked for
  const opened = dialog.firstElementChild !== null;
  const own = location.pathname + location.search;
  if (page && !isDialogs()) history.replaceState(null, "", page);
  if (opened && !isDialogs()) enter(own);
  if (!opened && isDialogs()) history.replaceState(null, "", page); // loaded again after a form had opened it

  document.addEventListener("htmx:afterSwap", ({ detail: { target, requestConfig, pathInfo } }) => {
    if (target !== dialog || !dialog.firstElementChild) return;
    const path = requestConfig.verb === "get" ? pathInfo.finalRequestPath : "";
    Promise.resolve(left?.promise).then(() => {
      if (!isDialogs()) enter(path);
      else if (path) history.replaceState({ dialog: path }, "", path); // another step of the same dialog
    });
  });

  dialog.addEventListener("close", leave);

  // Before htmx, which would load a page again that it knows from before.
  addEventListener("popstate", (event) => {
    const path = event.state?.dialog;
    if (!left && !dialog.open && path === undefined) return;
    event.stopImmediatePropagation();
    if (path) return window.htmx.ajax("GET", path, { target: dialog, swap: "innerHTML" });
    left ? left.resolve() : dialog.close();
    left = null;
    document.dispatchEvent(new CustomEvent("dialogLeft"));
  }, true);

  // Where a dialog leads to takes the place of its own address: Back does not open it again.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const url = event.detail.xhr.getResponseHeader("HX-Redirect");
    if (!url || !isDialogs()) return;
    event.preventDefault();
    location.replace(url);
  });
}
