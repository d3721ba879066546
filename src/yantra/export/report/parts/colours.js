// What the colour of a node says: its kind, its phase, its micro-batch, its operation, its slack.

import { colour } from "./theme.js";

const KINDS = ["compute", "collective", "message", "memory", "host"];
const KIND_NAMES = ["compute", "collective", "send", "memory", "host"];
const SERIES = 10;
const SLACKS = [0, 0.01, 0.1]; // shares of the run
const SLACK_NAMES = ["none: critical", "up to 1 % of the run", "up to 10 %", "more"];
const SLACK_COLOURS = ["accent", "collective", "message", "idle"];

// Returns the ways of colouring that make sense for a job, each with its legend.
export function colourings(job) {
  const byKind = {
    name: "kind",
    of: (graph, node) => graph.stream[node],
    colours: () => KINDS.map(colour),
    legend: KIND_NAMES.map((text, at) => (isUsed(job, at) ? text : null)),
    classes: KINDS,
  };
  const others = [
    ["phase", "phase"],
    ["micro-batch", "microbatch"],
    ["layer", "layer"],
  ]
    .filter(([, attribute]) => job.graphs.some((graph) => graph.has(attribute)))
    .map(([name, attribute]) => byValue(job, name, (graph, node) => graph.value(node, attribute)));
  const operation = byValue(job, "operation", (graph, node) => withoutNumbers(graph.name(node)));
  const ways = [byKind, ...others, operation].map(perGraph);
  return job.classes.some((one) => hasSlack(job, one)) ? [...ways, bySlack(job)] : ways;
}

function hasSlack(job, one) {
  return job.columns.has(`c${one.at}.slack`);
}

// Colours by how much later a node could end with the makespan unchanged.
function bySlack(job) {
  const known = new Map();
  const level = (slack) => {
    const at = SLACKS.findIndex((share) => slack <= share * job.makespan);
    return at < 0 ? SLACKS.length : at;
  };
  return {
    name: "slack",
    colours: () => SLACK_COLOURS.map(colour),
    legend: SLACK_NAMES,
    classes: SLACK_COLOURS,
    table: (one) => {
      if (!known.has(one.at))
        known.set(one.at, Uint8Array.from(job.columns.numbers(`c${one.at}.slack`), level));
      return known.get(one.at);
    },
  };
}

function isUsed(job, stream) {
  return job.graphs.some((graph) => graph.stream.includes(stream));
}

function byValue(job, name, of) {
  const known = new Map();
  for (const graph of job.graphs) {
    for (let node = 0; node < graph.count && known.size < 5000; node += 1) {
      const value = of(graph, node);
      if (value !== null && !known.has(value)) known.set(value, known.size % SERIES);
    }
  }
  return {
    name,
    of: (graph, node) => known.get(of(graph, node)) ?? SERIES,
    colours: () => [...Array(SERIES).keys()].map((at) => colour(`s${at}`)).concat(colour("idle")),
    legend: [...known.keys()].slice(0, known.size > SERIES ? 0 : SERIES).map((text) => `${text}`),
    classes: [...Array(SERIES).keys()].map((at) => `s${at}`),
  };
}

function withoutNumbers(name) {
  return name.replace(/\d+/g, "*");
}

// Keeps the colours of each graph once they were asked for.
function perGraph(way) {
  const known = new Map();
  return {
    ...way,
    table: ({ nodes: graph }) => {
      if (!known.has(graph.at)) {
        const table = new Uint8Array(graph.count);
        for (let node = 0; node < graph.count; node += 1) table[node] = way.of(graph, node);
        known.set(graph.at, table);
      }
      return known.get(graph.at);
    },
  };
}
