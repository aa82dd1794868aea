// How everything is sent that the annotation screen keeps on the server.

function csrfToken() {
  // Read each time: signing in again in another tab changes it.
  const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
  return cookie ? cookie[1] : JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
}

const MOST = 30_000; // characters: browsers send at most 64 kB, of all requests together, after a page was left

/** Send a body as JSON, also while the page is being left unless it is long. The server refuses it when somebody else has signed in than the annotator. */
export function post(url, annotator, body, signal) {
  const headers = { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": csrfToken(), "X-Annotator": annotator };
  const text = JSON.stringify(body);
  return fetch(url, { method: "POST", headers, body: text, keepalive: text.length < MOST, signal });
}
