// The picture of a graph, drawn by cytoscape.js and arranged by d3-force. Both are given here as globals: see the page.

import { arrange } from "./arrange.js";
import { png, save, svg } from "./files.js";

const MOST_NAMED = 120; // nodes: of more, names come with zooming in
const MOST_LABELLED = 150; // edges, likewise
const READABLE = 0.85; // edges are named when what is drawn is so large
const CLOSEST = 1.2; // as near as a few nodes come by themselves
const MARGIN = 20;

/** Colours as the canvas wants them: those of the page, whatever its theme. */
function colours(place) {
  const probe = document.createElement("i");
  place.append(probe);
  const read = (name) => ((probe.style.color = `var(--${name})`), getComputedStyle(probe).color);
  const found = Object.fromEntries(["ink", "soft", "edge", "accent", "panel"].map((name) => [name, read(name)]));
  probe.remove();
  return found;
}

/** A colour of a label on the ground, as if it let a quarter through, but hiding the edges behind it. */
function tinted(color, ground) {
  const [one, other] = [[1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16)), ground.match(/\d+/g).map(Number)];
  return `rgb(${one.map((part, place) => Math.round(part / 4 + (3 * other[place]) / 4)).join(", ")})`;
}

/** Words in lines, broken between words if that is possible. */
const inLines = (words) => (words.match(/.{1,18}(?:\s+|$)|.{1,18}/gsu) ?? []).map((line) => line.trim()).join("\n");

function styles(place, nodes, edges) {
  const { ink, soft, edge, accent, panel } = colours(place);
  const isFew = edges <= MOST_LABELLED;
  const text = { "text-outline-color": panel, "text-outline-width": 2 };
  const dashes = (each) => (each.data("side") === "one" ? [7, 4] : [2, 3]);
  const node = {
    ...text, label: "data(words)", "font-size": 12, color: ink, "min-zoomed-font-size": nodes <= MOST_NAMED ? 4 : 7,
    "text-valign": "bottom", "text-margin-y": 3, "text-wrap": "wrap", "text-max-width": 400, // lines are broken before
    width: "data(size)", height: "data(size)", "background-color": (each) => tinted(each.data("color"), panel),
    "border-color": "data(color)", "border-width": 2,
  };
  const line = {
    ...text, label: isFew ? "" : "data(label)", "font-size": 10, color: soft, "min-zoomed-font-size": isFew ? 0 : 11,
    width: "data(width)", "line-color": edge, "line-opacity": 0.8, "curve-style": isFew ? "bezier" : "straight",
    "target-arrow-color": edge, "target-arrow-shape": "triangle", "arrow-scale": 0.7,
  };
  return [
    { selector: "node", style: node }, { selector: "edge", style: line },
    { selector: "edge[?compared]", style: { "line-color": soft, "target-arrow-color": soft, "line-opacity": isFew ? 1 : 0.6 } },
    { selector: "edge[side != 'both']", style: { "line-style": "dashed", "line-dash-pattern": dashes } },
    { selector: "node[side != 'both']", style: { "border-style": "dashed", "border-dash-pattern": dashes, "border-width": 3 } },
    { selector: ".near", style: { "line-opacity": 1, "line-color": accent, "target-arrow-color": accent } },
    { selector: ".near, .readable", style: { label: "data(label)", "min-zoomed-font-size": 6 } },
    { selector: ".chosen", style: { "border-color": accent, "border-width": 4, "line-color": accent, "line-opacity": 1 } },
  ];
}

function elements({ compared, nodes, edges }) {
  const most = Math.max(1, ...nodes.map((node) => node.marks));
  const size = (marks) => 14 + 34 * Math.sqrt(marks / most);
  const width = (marks) => Math.min(8, 1 + 1.3 * Math.log2(marks)) + (compared ? 0.5 : 0);
  const all = [
    ...nodes.map((node) => ({ ...node, words: inLines(node.words), size: size(node.marks) })),
    ...edges.map(({ id, subject: source, object: target, label, marks, side }) => ({ id, source, target, label: `${label} ${marks}`, width: width(marks), side })),
  ];
  return all.map((data) => ({ data: { ...data, compared, side: compared ? data.side : "both" } }));
}

export function createPicture(place, { open, neighbours }) {
  const cy = window.cytoscape({ container: place, minZoom: 0.05, maxZoom: 4, textureOnViewport: true, hideEdgesOnViewport: true });
  let chosen = "";
  let arranging = null;
  let isShown = true;
  let isMoved = false; // by the people who look at it
  const recolour = () => cy.style(styles(place, cy.nodes().length, cy.edges().length));

  function tidy(options) {
    const isEmpty = cy.nodes().empty();
    arranging?.stop();
    place.toggleAttribute("aria-busy", true);
    place.parentElement.toggleAttribute("data-empty", isEmpty);
    for (const button of place.parentElement.querySelectorAll("[data-picture]")) button.disabled = isEmpty;
    arranging = arrange(cy, { ...options, ratio: place.clientWidth / place.clientHeight, done: finish });
  }

  function fit() {
    cy.fit(undefined, MARGIN);
    if (cy.zoom() > CLOSEST) cy.zoom(CLOSEST), cy.center();
    isMoved = false;
  }

  function finish() {
    place.removeAttribute("aria-busy");
    if (!isShown) cy.mount(place);
    isShown = true;
    fit();
    label();
  }

  function draw(data) {
    if (isShown) cy.unmount(); // drawn once, when all have their places
    isShown = false;
    cy.elements().remove();
    cy.style(styles(place, data.nodes.length, data.edges.length)); // before there is anything that has to be styled twice
    cy.batch(() => cy.add(elements(data)));
    tidy();
    choose(chosen);
  }

  /** Few edges are named while they are drawn large enough. */
  function label() {
    const edges = cy.edges();
    if (edges.length <= MOST_LABELLED) edges.toggleClass("readable", cy.zoom() >= READABLE);
  }

  /** More nodes and edges, near the one that they are neighbours of; how many there were. */
  function add(data, near) {
    const at = cy.getElementById(near).position() ?? { x: 0, y: 0 };
    const fresh = elements(data).filter(({ data: { id } }) => cy.getElementById(id).empty());
    if (!fresh.length) return 0;
    const around = (place) => ({ x: at.x + 120 * Math.cos(place), y: at.y + 120 * Math.sin(place) });
    cy.batch(() => cy.add(fresh).nodes().forEach((node, place) => node.position(around(place))));
    recolour();
    tidy({ gently: true });
    choose(chosen);
    return fresh.length;
  }

  function choose(at) {
    chosen = at;
    cy.batch(() => {
      cy.elements(".chosen, .near").removeClass("chosen near"); // all would be styled again
      const element = cy.getElementById(at);
      element.addClass("chosen");
      (element.isNode?.() ? element.connectedEdges() : element).addClass("near");
    });
  }

  cy.on("tap", "node, edge", ({ target }) => open(target.id()));
  cy.on("dbltap", "node", ({ target }) => neighbours(target.id()));
  new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  cy.on("zoom", label);
  cy.on("dragpan scrollzoom pinchzoom", () => (isMoved = true));
  new ResizeObserver(() => {
    cy.resize();
    if (isShown && !isMoved) fit();
  }).observe(place);

  function zoom(by) {
    cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    isMoved = true;
  }

  const drawn = () => svg(cy, colours(place).panel);
  return {
    draw, add, choose, fit,
    in: () => zoom(1.3), out: () => zoom(1 / 1.3),
    arrange: () => tidy(),
    svg: () => save(new Blob([drawn()], { type: "image/svg+xml" }), "graph.svg"),
    png: async () => save(await png(drawn()), "graph.png"),
    counts: () => ({ nodes: cy.nodes().length, edges: cy.edges().length }),
    place: (id) => cy.getElementById(id).renderedPosition(),
    chosen: () => chosen,
  };
}
