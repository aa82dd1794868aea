// Places nodes by forces between them, a little in each frame, so that the page answers meanwhile. Nothing moves on the screen
// before they have their places: people would follow it with their eyes.

const TICKS = 300;
const A_FRAME = 8; // ms of work in each

/** ``gently``: begin where nodes are, and move them little. */
export function arrange(cy, { gently = false, done }) {
  const { forceSimulation, forceManyBody, forceLink, forceCollide, forceX, forceY } = window.d3;
  const nodes = cy.nodes().map((node) => ({ node, radius: node.data("size") / 2, ...(gently ? node.position() : {}) }));
  const index = new Map(nodes.map((each) => [each.node.id(), each]));
  const links = cy
    .edges()
    .filter((edge) => edge.data("source") !== edge.data("target"))
    .map((edge) => ({ source: index.get(edge.data("source")), target: index.get(edge.data("target")) }));
  const simulation = forceSimulation(nodes)
    .force("charge", forceManyBody().strength(-220).distanceMax(600))
    .force("link", forceLink(links).distance(90))
    .force("apart", forceCollide((each) => each.radius + 14))
    .force("x", forceX().strength(0.05))
    .force("y", forceY().strength(0.07))
    .stop();
  if (gently) simulation.alpha(0.3);
  let left = gently ? TICKS / 3 : TICKS;
  let frame = requestAnimationFrame(work);

  function work() {
    const until = performance.now() + A_FRAME;
    while (left > 0 && performance.now() < until) simulation.tick(), (left -= 1);
    if (left > 0) return void (frame = requestAnimationFrame(work));
    cy.batch(() => nodes.forEach(({ node, x, y }) => node.position({ x, y })));
    done();
  }
  return { stop: () => cancelAnimationFrame(frame) };
}
