// What each node waited for, of a recorded run: chains of steps from issue to completion.

export class Waits {
  constructor(job, about, columns) {
    this.job = job;
    this.about = about;
    this.columns = columns;
  }

  // Returns the last steps of a node, oldest first, and whether earlier ones are left out; null
  // where none are embedded.
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
    const isCut = found.length > 0 && found[0].start > this.job.times(one.at).start[node];
    return { steps: found, isCut };
  }

  step(name, at) {
    const of = (column) => this.columns.numbers(`${name}.${column}`)[at];
    const rank = of("rank");
    const target = this.job.targetOf(rank, this.columns.text(of("node")));
    const peer = of("peer");
    return {
      kind: this.about.kinds[of("kind")],
      name: this.columns.text(of("name")) ?? "",
      start: of("start"),
      end: of("start") + of("length"),
      told: rank < 0 ? "" : `, rank ${rank}${peer >= 0 ? ` to rank ${peer}` : ""}`,
      target,
    };
  }
}
