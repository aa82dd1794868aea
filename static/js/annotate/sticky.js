// The sticky label: chosen once, every selection of words is marked with it until Escape, in the items to come as well.

import { $, items, now, pane, state, toast } from "./workspace.js";

const KEY = `sticky label ${state.project} ${state.annotator}`;
let uid = null;
try { uid = sessionStorage.getItem(KEY); } catch { /* storage may be off: then it holds for this page only */ }

/** The label that selections get, or null. */
export const stickyLabel = () => (state.reading ? null : (now.labels?.entity.byUid.get(uid) ?? null));

export function stick(label) {
  uid = label?.uid ?? null;
  try { uid ? sessionStorage.setItem(KEY, uid) : sessionStorage.removeItem(KEY); } catch { /* as above */ }
  showSticky();
}

/** Show it beside the text and in the tree; a manager may have switched it off. */
export function showSticky() {
  const label = stickyLabel();
  if (label && !label.active) {
    stick(null);
    return toast(`“${label.name}” was switched off: selections are not marked with it any more.`);
  }
  const chip = $("sticky");
  if (!chip) return;
  chip.hidden = !label;
  chip.querySelector("b").textContent = label?.name ?? "";
  const sheets = items.map(({ sheet }) => sheet);
  for (const element of [chip, ...sheets]) element.style.setProperty("--c", label?.color ?? "");
  for (const element of sheets) element.classList.toggle("sticky", Boolean(label));
  pane.showSticky(label);
}
