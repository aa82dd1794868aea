// A seeded walk of changes and selections in the annotation screen. Now and then the screen is compared with one that is drawn from
// nothing; what differs is the answer.
async ([seed, steps]) => {
  const at = (name) => import(`/static/js/annotate/${name}.js`);
  const [{ active, marks, now, sheet, text }, { newUid }, { select }, { show }, { Text }] = await Promise.all(
    ["workspace", "../uid", "selection", "showing", "text"].map(at),
  );
  let random = seed;
  const below = (count) => (random = (random * 48271) % 2147483647) % count;
  const one = (list) => list[below(list.length)];
  const label = (kind) => one(now.labels[kind].all).uid;
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const undone = [];
  const change = (operation) => {
    const inverse = marks.apply(operation);
    if (inverse) undone.push(inverse);
    show();
  };
  const addEntity = (more) => {
    const start = below(text.tokens.length);
    const end = Math.min(text.tokens.length - 1, start + below(4));
    change({ kind: "entity", verb: "add", uid: newUid(), start, end, label: label("entity"), ...more });
  };
  const addRelation = (source, target) => {
    if (source !== target) change({ kind: "relation", verb: "add", uid: newUid(), source: source.uid, target: target.uid, label: label("relation") });
  };
  const undo = () => {
    undone.pop()?.forEach((operation) => marks.apply(operation));
    show();
  };
  const resize = () => {
    sheet.style.paddingRight = `${40 * below(3)}px`;
    return frames();
  };
  const some = (kind) => marks[kind].size > 3;
  const acts = [
    () => addEntity(),
    () => addEntity({ status: "suggested" }),
    () => some("entity") && change({ kind: "entity", verb: "label", uid: one(marks.entities).uid, label: label("entity") }),
    () => some("entity") && change({ kind: "entity", verb: "remove", uid: one(marks.entities).uid }),
    () => some("entity") && addRelation(one(marks.entities), one(marks.entities)),
    () => some("entity") && addRelation(one(marks.entities), one(marks.entities)),
    () => some("relation") && change({ kind: "relation", verb: "remove", uid: one(marks.relations).uid }),
    () => some("relation") && change({ kind: "relation", verb: "label", uid: one(marks.relations).uid, label: label("relation") }),
    undo,
    () => some("entity") && select({ mark: one(marks.entities).uid }),
    () => some("relation") && select({ relation: one(marks.relations).uid }),
    () => select({}),
    resize,
    () => {
      text.scroller.scrollTop = below(text.scroller.scrollHeight);
      return frames();
    },
  ];

  // By layer, each line of it.
  const written = (element) => {
    const copy = element.cloneNode(true);
    for (const drawn of copy.querySelectorAll("[class]")) drawn.setAttribute("class", [...drawn.classList].sort().join(" "));
    return ["tints", "arcs", "names"].map((layer) => [...copy.querySelector(`.${layer}`).children].map((line) => line.outerHTML));
  };
  // The lines that are drawn are the same, in the same order, as those of a text that is drawn whole.
  const isPart = (shown, anew) => {
    const at = anew.indexOf(shown[0]);
    return at >= 0 && shown.every((line, n) => line === anew[at + n]);
  };
  const isSeen = ({ top, bottom }) => {
    const at = sheet.getBoundingClientRect().top;
    return at + bottom > 0 && at + top < innerHeight;
  };
  const drawnAnew = () => {
    const fresh = sheet.cloneNode(true);
    for (const layer of fresh.querySelectorAll(".tints, .words, .arcs, .names, .text")) layer.replaceChildren();
    sheet.after(fresh);
    const other = new Text(fresh, active);
    other.draw({ entities: marks.entities, relations: marks.relations, labels: now.labels, broken: active.broken });
    other.choose({ entity: now.view.mark, relation: now.view.relation });
    dispatchEvent(new Event("beforeprint")); // both draw all of their lines
    fresh.remove();
    return fresh;
  };
  const isOff = ({ top, parts: [{ i }] }) =>
    [...text.elementOf(i).getClientRects()].every((rect) => Math.abs(rect.top - sheet.getBoundingClientRect().top - top) > 0.1);

  const differences = [];
  for (let step = 1; step <= steps; step += 1) {
    await one(acts)();
    if (!marks.entity.has(now.view.mark) && !marks.relation.has(now.view.relation)) select({});
    if (step % 5) continue;
    if (text.lines.all.some(isOff)) differences.push([step, "a line is not where it was counted"]);
    text.refit(); // gives back the room that is not needed any more
    await frames();
    const seen = text.lines.all.filter(isSeen).map(({ top }) => `${top}px`);
    const drawn = [...sheet.querySelectorAll(".names > .line")].map(({ style }) => style.top);
    if (!seen.every((top) => drawn.includes(top))) differences.push([step, "not all is drawn that the window shows", seen, drawn]);
    if (seen.length && drawn.length > 6 * seen.length + 20) differences.push([step, "more is drawn than what is near", drawn.length]);
    const shown = written(sheet);
    const fresh = drawnAnew();
    const anew = written(fresh);
    shown.forEach((lines, n) => isPart(lines, anew[n]) || differences.push([step, lines, anew[n]]));
    const [words, wordsAnew] = [sheet, fresh].map((each) => each.querySelector(".text").innerHTML); // both with all of their elements
    if (words !== wordsAnew) differences.push([step, words, wordsAnew]);
  }
  return differences;
};
