// What annotation screens that are gone left in this browser is sent from whatever page comes next.

import { placesOf, whoIsHere } from "./kept.js";

const person = whoIsHere();
const own = document.getElementById("saved")?.dataset.place; // sent by the annotation screen itself

async function look() {
  const places = (await placesOf(person).catch(() => [])).filter((place) => place.startsWith("project ") && place !== own);
  if (places.length) (await import("./annotate/unsent.js")).send(person, places);
}

if (person) {
  look();
  addEventListener("focus", look); // other tabs may have been closed meanwhile
}
