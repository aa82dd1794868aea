// The picture of a graph, drawn by cytoscape.js and arranged by d3-force. Both are given here as globals: see the page.

import { arrange } from "./arrange.js";
import { save, svg } from "./files.js";

// Of more nodes or edges, names come with zooming in.
const MOST_NAMED = 120;
const MOST_LABELLED = 150;
const SIDES = { both: "solid", one: "dashed", other: "dotted" };

/** Colours as the canvas wants them: those of the page, whatever its theme. */
function colours(place) {
  const probe = document.createElement("i");
  place.append(probe);
  const read = (name) => ((probe.style.color = `var(--${name})`), getComputedStyle(probe).color);
  const found = Object.fromEntries(["ink", "soft", "edge", "accent", "panel"].map((name) => [name, read(name)]));
  probe.remove();
  return found;
}

function styles(place, nodes, edges) {
  const { ink, soft, edge, accent, panel } = colours(place);
  const few = edges <= MOST_LABELLED;
  const least = nodes <= MOST_NAMED ? 3 : 7;
  const text = { "font-size": 11, color: ink, "text-outline-color": panel, "text-outline-width": 2, "min-zoomed-font-size": least };
  return [
    {
      selector: "node",
      style: {
        ...text,
        label: "data(words)",
        width: "data(size)",
        height: "data(size)",
        "background-color": "data(color)",
        "background-opacity": 0.25,
        "border-color": "data(color)",
        "border-width": 2,
        "border-style": "data(line)",
        "text-valign": "bottom",
        "text-margin-y": 3,
        "text-wrap": "ellipsis",
        "text-max-width": 110,
      },
    },
    {
      selector: "edge",
      style: {
        ...text,
        label: "data(label)",
        "font-size": 9,
        color: soft,
        "min-zoomed-font-size": few ? 5 : 10,
        width: "data(width)",
        "line-color": edge,
        "line-style": "data(line)",
        "line-opacity": 0.7,
        "target-arrow-color": edge,
        "target-arrow-shape": "triangle",
        "arrow-scale": 0.7,
        "curve-style": few ? "bezier" : "haystack",
        "haystack-radius": 0,
      },
    },
    { selector: ".near", style: { "line-opacity": 1, "line-color": accent, "target-arrow-color": accent, "min-zoomed-font-size": 5 } },
    { selector: ".chosen", style: { "border-color": accent, "border-width": 4, "line-color": accent, "line-opacity": 1 } },
  ];
}

function elements({ compared, nodes, edges }) {
  const line = (side) => (compared ? SIDES[side] : "solid");
  const most = Math.max(1, ...nodes.map((node) => node.marks));
  return [
    ...nodes.map((node) => ({
      group: "nodes",
      data: { ...node, size: 14 + 34 * Math.sqrt(node.marks / most), line: line(node.side) },
    })),
    ...edges.map((edge) => ({
      group: "edges",
      data: {
        id: edge.id,
        source: edge.subject,
        target: edge.object,
        label: `${edge.label} ${edge.marks}`,
        width: Math.min(8, 1 + 1.3 * Math.log2(edge.marks)),
        line: line(edge.side),
      },
    })),
  ];
}

export function createPicture(place, { open, neighbours }) {
  const cy = window.cytoscape({ container: place, minZoom: 0.05, maxZoom: 4, textureOnViewport: true, hideEdgesOnViewport: true });
  let chosen = "";
  let arranging = null;
  let isShown = true;

  const restyle = (nodes, edges) => cy.style(styles(place, nodes, edges));
  const recolour = () => restyle(cy.nodes().length, cy.edges().length);
  const tidy = (options) => {
    arranging?.stop();
    place.toggleAttribute("aria-busy", true);
    arranging = arrange(cy, { ...options, done: finish });
  };

  function finish() {
    place.removeAttribute("aria-busy");
    if (!isShown) cy.mount(place);
    isShown = true;
    cy.fit(undefined, 30);
  }

  function draw(data) {
    if (isShown) cy.unmount(); // drawn once, when all have their places
    isShown = false;
    cy.elements().remove();
    restyle(data.nodes.length, data.edges.length); // before there is anything that has to be styled twice
    cy.batch(() => cy.add(elements(data)));
    tidy();
    choose(chosen);
  }

  /** More nodes and edges, near the one that they are neighbours of. */
  function add(data, near) {
    const at = cy.getElementById(near).position() ?? { x: 0, y: 0 };
    const fresh = elements(data).filter(({ data: { id } }) => cy.getElementById(id).empty());
    const angle = (2 * Math.PI) / Math.max(1, fresh.length);
    cy.batch(() => {
      const added = cy.add(fresh);
      added.nodes().forEach((node, place) => node.position({ x: at.x + 120 * Math.cos(place * angle), y: at.y + 120 * Math.sin(place * angle) }));
    });
    recolour();
    tidy({ gently: true });
    choose(chosen);
  }

  function choose(at) {
    chosen = at;
    cy.batch(() => {
      cy.elements().removeClass("chosen near");
      const element = cy.getElementById(at);
      element.addClass("chosen");
      (element.isNode?.() ? element.connectedEdges() : element).addClass("near");
    });
  }

  cy.on("tap", "node, edge", ({ target }) => open(target.id()));
  cy.on("dbltap", "node", ({ target }) => neighbours(target.id()));
  new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  new ResizeObserver(() => cy.resize()).observe(place);

  const zoom = (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  return {
    draw,
    add,
    choose,
    in: () => zoom(1.3),
    out: () => zoom(1 / 1.3),
    fit: () => cy.fit(undefined, 30),
    arrange: () => tidy(),
    svg: () => save(new Blob([svg(cy, colours(place))], { type: "image/svg+xml" }), "graph.svg"),
    png: () => cy.png({ output: "blob-promise", full: true, scale: 2, bg: colours(place).panel }).then((blob) => save(blob, "graph.png")),
    counts: () => ({ nodes: cy.nodes().length, edges: cy.edges().length }),
    place: (id) => cy.getElementById(id).renderedPosition(),
    chosen: () => chosen,
  };
}
