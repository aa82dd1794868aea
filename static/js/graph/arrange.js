// Places nodes by forces between them, a little in each frame, so that the page answers meanwhile. Nothing moves on the screen
// before they have their places: people would follow it with their eyes. What is not connected is arranged apart and then laid
// side by side, so that no node lies on an edge that is none of its own.

const TICKS = 300;
const A_FRAME = 8; // ms of work in each
const GAP = 8; // around a node with its name
const STRETCH = 1.4; // Words are broader than high: forces work as if all were narrower by this.
export const LINE = 14; // height of a line of a name
const LETTER = 6.5; // its breadth, about

/** ``gently``: begin where nodes are, and move them little; ``ratio``: how much broader than high all of it may become. */
export function arrange(cy, { gently = false, ratio, done }) {
  const parts = (gently ? [cy.elements()] : cy.elements().components()).map((part) => simulated(part, gently));
  const left = parts.flatMap(({ bodies, simulation }) => Array(bodies.length < 2 ? 0 : gently ? TICKS / 3 : TICKS).fill(simulation));
  let frame = requestAnimationFrame(work);

  function work() {
    const until = performance.now() + A_FRAME;
    while (left.length && performance.now() < until) left.pop().tick();
    if (left.length) return void (frame = requestAnimationFrame(work));
    if (!gently) laySideBySide(parts, ratio / STRETCH);
    const places = parts.flatMap(({ bodies }) => bodies);
    cy.batch(() => places.forEach(({ node, x, y, lower }) => node.position({ x: x * STRETCH, y: y - lower })));
    done();
  }
  return { stop: () => cancelAnimationFrame(frame) };
}

/** A node and its name below it as one round thing, whose middle is lower than that of the node; ``placed``: where it is now. */
function body(node, placed) {
  const lines = node.data("words").split("\n");
  const lower = (lines.length * LINE) / 2;
  const breadth = Math.max(node.data("size"), LETTER * Math.max(...lines.map((line) => line.length)));
  const place = placed ? { x: node.position().x / STRETCH, y: node.position().y + lower } : {};
  return { node, lower, radius: GAP + Math.max(breadth / 2 / STRETCH, node.data("size") / 2 + lower), ...place };
}

function simulated(part, gently) {
  const { forceSimulation, forceManyBody, forceLink, forceCollide, forceX, forceY } = window.d3;
  const bodies = part.nodes().map((node) => body(node, gently));
  const ends = (edge) => ({ source: edge.data("source"), target: edge.data("target") });
  const links = part.edges().filter((edge) => edge.isSimple()).map(ends);
  const named = forceLink(links).id(({ node }) => node.id());
  const simulation = forceSimulation(bodies)
    .force("charge", forceManyBody().strength(-650).distanceMax(1000))
    .force("link", named.distance(({ source, target }) => 30 + source.radius + target.radius)) // has place for its name
    .force("apart", forceCollide(({ radius }) => radius).strength(0.4))
    .stop();
  if (gently) simulation.alpha(0.3);
  else simulation.force("x", forceX().strength(0.04)).force("y", forceY().strength(0.04));
  return { bodies, simulation };
}

/** In rows, the higher parts first; of all numbers of parts that the first row may have, that which lets all be drawn largest. */
function laySideBySide(parts, ratio) {
  const all = parts.map(measured).sort((one, other) => other.height - one.height);
  let most = 0;
  const tries = all.map(({ width }) => inRows(all, (most += width)));
  tries.sort((one, other) => one.need(ratio) - other.need(ratio));
  all.forEach(({ bodies, left, top }, place) => {
    const { x, y } = tries[0].places[place];
    for (const each of bodies) (each.x += x - left), (each.y += y - top);
  });
}

function inRows(parts, most) {
  let [x, y, height, breadth] = [0, 0, 0, 0];
  const places = parts.map((part) => {
    if (x && x + part.width > most) [x, y, height] = [0, y + height, 0];
    x += part.width;
    [height, breadth] = [Math.max(height, part.height), Math.max(breadth, x)];
    return { x: x - part.width, y };
  });
  return { places, need: (ratio) => Math.max(breadth, ratio * (y + height)) };
}

function measured({ bodies }) {
  const reach = (all) => [Math.min(...all), Math.max(...all) - Math.min(...all)];
  const [left, width] = reach(bodies.flatMap(({ x, radius }) => [x - radius, x + radius]));
  const [top, height] = reach(bodies.flatMap(({ y, radius }) => [y - radius, y + radius]));
  return { bodies, left, top, width, height };
}
