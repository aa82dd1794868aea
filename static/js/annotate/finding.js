// The list of items beside the text, and the ways to another item.

import "../jump.js";
import { number, plural } from "../words.js";
import { enter, neighbour } from "./entering.js";
import { current, fetchAhead, forget, isAway, undoneAhead } from "./pages.js";
import { post } from "./post.js";
import { leave, load } from "./saving.js";
import { $, active, focusText, items, marks, state, toast } from "./workspace.js";

const drawer = $("items-drawer");
const filter = drawer?.querySelector("#filter");
let isLeaving = false;
const TAKEN = 50; // items
const REST = 200; // ms: who goes past items asks for the place of the last one only
let asked = 0; // how often for the place
let resting;
const rows = () => [...drawer.querySelectorAll(".row-link")];

/** Open the list, with the focus in this field. */
export function openItems(field = "q") {
  if (!drawer) return;
  drawer.showModal();
  const wanted = drawer.querySelector(`[name=${field}]`);
  wanted.focus();
  wanted.select();
  show(new FormData(filter));
}

/** The list with these values, on the page where this item stands if none is named. */
function show(values) {
  const query = new URLSearchParams(values);
  query.set("at", filter.elements.at.value);
  filter.elements.sort.value = query.get("sort") ?? "";
  window.htmx.ajax("GET", `${state.urls.items}?${query}`, { source: "#items", target: "#items", swap: "outerHTML" });
}

function showAll() {
  for (const field of filter.elements) if (!["at", "sort"].includes(field.name)) field.value = "";
  show(new FormData(filter));
}

function follow(event) {
  const link = event.target.closest("a[href]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const href = link.getAttribute("href");
  if (href.startsWith("?")) show(href.slice(1));
  else if (link.closest(".matching, .empty")) showAll();
  else go(link.href);
}

function go(address) {
  const { pathname, search } = new URL(address);
  drawer.close();
  leave(pathname + search);
}

function submit(event) {
  const form = event.target;
  if (form === filter || form.method === "dialog") return;
  event.preventDefault();
  if (form.matches(".jump")) go(`${form.action}?${new URLSearchParams(new FormData(form))}`);
  else show(new FormData(form));
}

/** Up and down go through the items, from the search field as well; left and right to another page. */
function walk(event) {
  const typing = event.target.closest("input, select");
  const [at, all] = [rows().indexOf(document.activeElement), rows()];
  const wanted = {
    ArrowDown: () => (at < 0 ? all.find((row) => row.closest("[aria-current]")) ?? all[0] : all[at + 1]),
    ArrowUp: () => all[at - 1],
    ArrowLeft: () => drawer.querySelector("a[rel=prev]"),
    ArrowRight: () => drawer.querySelector("a[rel=next]"),
  }[event.key];
  if (!wanted || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing && !(event.key === "ArrowDown" && typing.type === "search")) return;
  event.preventDefault();
  const found = wanted();
  found?.rel ? found.click() : found?.focus();
}

/** To the item before or after, on this page or on a neighbouring one. */
export function goTo(step) {
  const item = neighbour(step);
  if (item) enter(item);
  else leave(urlOf(step));
}

const urlOf = (step) => neighbour(step)?.here.page ?? state.urls[step > 0 ? "next" : "previous"];

/** To the next item that is not done; with `wraps`, what stands before on this page comes before the next page. */
export function nextUndone({ wraps = false } = {}) {
  if (state.gold) return load(state.gold);
  const at = items.indexOf(active);
  const others = [...items.slice(at + 1), ...(wraps ? items.slice(0, at) : [])];
  const next = others.find((item) => !item.marks.done && !item.isLater);
  if (next) enter(next);
  else leave(undoneAhead() ?? active.urls.undone);
}

/** Leave the item for later, and go on. */
export async function skip() {
  if (state.reading || state.gold || marks.done || isLeaving) return;
  isLeaving = true;
  const item = active;
  const answer = await post(item.urls.skip, state.annotator, {}).catch(() => null);
  isLeaving = false;
  if (answer?.ok) {
    item.isLater = true;
    if (item === active) nextUndone();
    else if (!items.includes(item)) forget(item.here);
  } else toast("This item could not be left for later. Try again in a moment.", "error");
}

/** Where the item stands in the list that is walked through. What was asked earlier may be answered later. */
async function tellPlace() {
  const turn = ++asked;
  const answer = await fetch(active.urls.place, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) return;
  const { place, count } = await answer.json();
  if (turn !== asked) return;
  $("place").textContent = `${place === null ? "not one" : number(place)} of ${number(count)}`;
}

/** Fetch many items at once, to work without the network. */
async function takeAlong() {
  const button = $("take-along");
  const tell = (count) => ($("taken").textContent = `${number(count)} of ${number(TAKEN)}`);
  button.disabled = true;
  tell(0);
  const count = await fetchAhead(TAKEN, tell);
  button.disabled = false;
  const isShort = count < TAKEN && isAway;
  $("taken").textContent = isShort ? `The connection was lost: ${plural(count, "item is", "items are")} here` : `${plural(count, "item is", "items are")} here`;
}

/** Where the arrows of the item bar lead. */
function showSteps() {
  for (const [id, step] of [["previous", -1], ["next", 1]]) {
    const url = urlOf(step);
    if (url) $(id).href = url;
    else $(id).removeAttribute("href");
    $(id).ariaDisabled = url ? null : "true";
  }
}

export function listenToFinding() {
  if (!drawer) return;
  drawer.addEventListener("click", follow);
  drawer.addEventListener("submit", submit);
  drawer.addEventListener("keydown", walk);
  drawer.addEventListener("close", focusText);
  drawer.addEventListener("htmx:afterSettle", () => {
    drawer.querySelector("tr[aria-current]")?.scrollIntoView({ block: "center" });
  });
  for (const name of ["entered", "renewed"]) document.addEventListener(name, showSteps);
  document.addEventListener("turned", () => (filter.elements.at.value = items[0].pk));
  addEventListener("popstate", () => location.pathname + location.search !== current.url && leave(location.pathname + location.search, undefined, true));
  $("take-along").addEventListener("click", takeAlong);
  if (items.length > 1) showSteps();
  if (!$("place")) return;
  tellPlace();
  document.addEventListener("doneStored", tellPlace);
  document.addEventListener("entered", () => {
    clearTimeout(resting);
    resting = setTimeout(tellPlace, REST);
  });
}
