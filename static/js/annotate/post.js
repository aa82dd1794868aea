// How everything is sent that the annotation screen keeps on the server.

function csrfToken() {
  // Read each time: signing in again in another tab changes it.
  const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
  return cookie ? cookie[1] : JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
}

/** Send a body as JSON, also while the page is being left. The server refuses it when somebody else has signed in than the annotator. */
export function post(url, annotator, body, signal) {
  const headers = { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": csrfToken(), "X-Annotator": annotator };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body), keepalive: true, signal });
}
