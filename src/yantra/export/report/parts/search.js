// Finds nodes by a part of their name or by their id, over all classes.

const MOST = 100_000;

export class Found {
  constructor(job, wanted) {
    this.flags = new Map();
    this.list = [];
    const text = wanted.trim().toLowerCase();
    if (text === "") return;
    const hits = new Map();
    for (const graph of job.graphs) {
      const flags = this.flagsOf(graph, text, hits);
      if (flags) this.flags.set(graph.at, flags);
    }
    for (const one of job.classes) this.collect(job, one);
  }

  get isEmpty() {
    return this.list.length === 0;
  }

  // Returns which nodes of a graph match, one byte each; all zero where none does.
  of(graph) {
    return this.flags.get(graph) ?? null;
  }

  flagsOf(graph, text, hits) {
    const flags = new Uint8Array(graph.count);
    for (let node = 0; node < graph.count; node += 1) {
      const name = graph.names[node];
      if (!hits.has(name)) hits.set(name, graph.name(node).toLowerCase().includes(text));
      if (hits.get(name) || graph.id(node) === text) flags[node] = 1;
    }
    return flags;
  }

  collect(job, one) {
    const flags = this.flags.get(one.graph);
    if (!one.shown || !flags) return;
    const { start, end } = job.times(one.at);
    const own = [];
    for (let node = 0; node < flags.length; node += 1) {
      if (flags[node] && end[node] >= 0) own.push({ at: one.at, node, start: start[node] });
    }
    own.sort((a, b) => a.start - b.start);
    for (const hit of own) if (this.list.length < MOST) this.list.push(hit);
  }
}
