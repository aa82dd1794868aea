// The annotation screen. In annotate/, each module knows those before it: `workspace.js` holds what is shared, then come showing,
// pages at hand, turning to these, entering, selection, saving, batches and changes; labelling, relating, deciding, finishing and all
// alike; and the keys and the pointer that ask for these.

import { listenToAlike } from "./annotate/alike.js";
import { redo, resume, undo } from "./annotate/changes.js";
import { listenToComfort } from "./annotate/comfort.js";
import { accept, nextSuggestion, remove } from "./annotate/deciding.js";
import { listenToEntering } from "./annotate/entering.js";
import { goTo, listenToFinding, openItems, skip } from "./annotate/finding.js";
import { finishUnlessUndecided, listenToDialog, reopen } from "./annotate/finishing.js";
import { listenToFlags } from "./annotate/flags.js";
import { listenToHits } from "./annotate/hits.js";
import { listenToKeys } from "./annotate/keys.js";
import { clickLabel, pin } from "./annotate/labelling.js";
import { listenToNotSaved } from "./annotate/not-saved.js";
import { listenToOverview } from "./annotate/overview.js";
import { fetchAhead, listenToNetwork } from "./annotate/pages.js";
import { listenToPointer } from "./annotate/pointer.js";
import { listenToResizing } from "./annotate/resizing.js";
import { allSaved, catchUp, leave, refreshAll, startSaving, suggestHistory, suggestHistoryBeside, takeOffers } from "./annotate/saving.js";
import { returnToText, select, selectMark } from "./annotate/selection.js";
import { shortcutOf } from "./annotate/shortcuts.js";
import { show, showMode } from "./annotate/showing.js";
import { stick } from "./annotate/sticky.js";
import { listenToComments, showNamedComment } from "./annotate/talking.js";
import { keepNumbers } from "./annotate/targets.js";
import { listenToTouch } from "./annotate/touch.js";
import { $, active, focusText, items, marks, pane, relationList, sheets, state, withItems } from "./annotate/workspace.js";

function listenToButtons() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-open]");
    const step = event.target.closest("#previous, #next, .neighbour");
    if (opener) $(opener.dataset.open)?.showModal();
    const link = event.target.closest("#not-saved a");
    if (!(step ?? link) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link) leave(link.getAttribute("href"));
    else goTo(step.rel === "next" ? 1 : -1);
  });
  const commands = {
    undo,
    redo,
    done: finishUnlessUndecided,
    reopen,
    "next-suggestion": () => nextSuggestion(),
    "accept-all": () => accept("item"),
    "reject-all": () => remove("item"),
    sticky: () => stick(null),
    skip,
  };
  for (const [id, run] of Object.entries(commands)) {
    $(id)?.addEventListener("click", () => {
      focusText();
      run();
    });
  }
  sheets.addEventListener("toggle", ({ target }) => target.matches("[data-original]") && focusText(), true); // it does not bubble
  $("open-items")?.addEventListener("click", () => openItems());
}

function listenToPane() {
  pane.listen({ onLabel: clickLabel, onPin: state.reading ? null : pin });
  const choose = (uid) => select({ relation: uid, actions: true });
  const onRemove = (uid) => {
    choose(uid);
    remove();
  };
  relationList?.listen({ onSelect: choose, onRemove, onLeave: returnToText });
}

/** Another page has taken the place of the one before. It may be known as it was some time ago. */
async function goOnHere() {
  select();
  resume();
  document.documentElement.dataset.ready = "true";
  fetchAhead();
  const [{ pk }] = items;
  await allSaved();
  if (items[0].pk !== pk) return; // it was left before the network was back
  const first = active;
  await refreshAll();
  await suggestHistory(first);
  suggestHistoryBeside(first);
}

async function begin(failures = 0) {
  try {
    await takeOffers(state.urls);
  } catch {
    showMode("The labels cannot be loaded at the moment. Trying again.");
    return void setTimeout(begin, Math.min(30_000, 1000 * 2 ** failures), failures + 1);
  }
  const first = active;
  await suggestHistory(first);
  showMode();
  selectNamed();
  showNamedComment();
  await catchUp();
  resume();
  document.documentElement.dataset.ready = "true";
  suggestHistoryBeside(first);
  if (!state.reading) fetchAhead();
}

/** The mark that the address names, as the links of reports do. */
function selectNamed() {
  const uid = new URLSearchParams(`uid=${location.hash.slice(1)}`).get("uid");
  if (marks.entity.has(uid)) selectMark(uid, { actions: false });
  else if (marks.relation.has(uid)) select({ relation: uid });
}

// A page that the browser kept for “back” shows what was true when it was left.
addEventListener("pageshow", (event) => event.persisted && location.reload());
listenToKeys();
listenToEntering();
listenToPointer();
listenToResizing();
listenToTouch();
keepNumbers();
listenToComfort();
listenToHits();
listenToOverview();
listenToButtons();
listenToDialog();
listenToFinding();
listenToAlike();
listenToPane();
listenToFlags();
listenToComments();
listenToNotSaved();
if (!state.reading) listenToNetwork();
document.addEventListener("turned", goOnHere);
pane.showShortcuts(shortcutOf("entity"));
withItems(({ text }) => (text.redraw = show));
focusText();
begin();
startSaving();
