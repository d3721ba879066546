// What each node waited for, of a recorded run: chains of steps from issue to completion.

export class Waits {
  constructor(job, about, columns) {
    this.job = job;
    this.about = about;
    this.columns = columns;
  }

  // Returns the steps of a node, the last first, or null where none are embedded.
  of(one, node) {
    const name = `w${one.at}`;
    if (!this.columns.has(`${name}.steps`)) return null;
    this.begins ??= new Map();
    if (!this.begins.has(one.at)) {
      const counts = this.columns.numbers(`${name}.steps`);
      const begins = new Float64Array(counts.length + 1);
      counts.forEach((count, at) => (begins[at + 1] = begins[at] + count));
      this.begins.set(one.at, begins);
    }
    const begins = this.begins.get(one.at);
    const found = [];
    for (let at = begins[node]; at < begins[node + 1]; at += 1) found.push(this.step(name, at));
    return found;
  }

  step(name, at) {
    const of = (column) => this.columns.numbers(`${name}.${column}`)[at];
    const rank = of("rank");
    const one = this.job.classOf(rank);
    const id = this.columns.text(of("node"));
    const node = id === null ? undefined : one.nodes.nodeOf(id);
    const peer = of("peer");
    return {
      kind: this.about.kinds[of("kind")],
      name: this.columns.text(of("name")) ?? "",
      start: of("start"),
      end: of("start") + of("length"),
      told: `, rank ${rank}${peer >= 0 ? ` with rank ${peer}` : ""}`,
      target: node === undefined ? null : { at: one.at, node },
    };
  }
}
