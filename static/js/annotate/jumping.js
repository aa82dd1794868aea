// Jumping to a mark in sight by its number.

import { select, selectMark } from "./selection.js";
import { showMode } from "./showing.js";
import { targetsAt } from "./targets.js";
import { marks, now, toast } from "./workspace.js";

/** Show the numbers; `from` is what is selected until one is typed. */
export function jump() {
  if (!marks.entity.size) return toast("Nothing is marked here yet.");
  select({ jumping: { from: now.view, typed: "" } });
  showMode("Go to a mark: type its number, then ↵ if others begin with it. Esc leaves.");
}

/** A digit of a number, gone to as soon as no other begins so; or ↵, to the number that is typed. */
export function typeJump(key) {
  const { jumping } = now.view;
  const typed = key === "Enter" ? jumping.typed : jumping.typed + key;
  const [first, ...others] = typed ? targetsAt(typed) : [];
  if (first && (key === "Enter" || !others.length)) selectMark(first.uid);
  else if (first) jumping.typed = typed;
}
