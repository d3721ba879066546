// The critical path as columns: what the run waits for at each time.

import { formatTime } from "./format.js";

export class CriticalPath {
  constructor(job, about, columns) {
    this.job = job;
    this.kinds = about.kinds;
    this.count = about.steps;
    this.columns = columns;
    this.kind = columns.numbers("path.kind");
    this.rank = columns.numbers("path.rank");
    this.node = columns.numbers("path.node");
    this.name = columns.numbers("path.name");
    this.start = columns.numbers("path.start");
    this.end = columns.numbers("path.end");
    this.peer = columns.numbers("path.peer");
    this.byClass = new Map();
  }

  kindOf(at) {
    return this.kinds[this.kind[at]];
  }

  nameOf(at) {
    return this.columns.text(this.name[at]) ?? "";
  }

  // Returns the step under way at a time, or null.
  at(time) {
    const at = this.firstAt(time);
    return at < this.count && this.start[at] <= time ? at : null;
  }

  // Returns the first step that ends after a time.
  firstAt(time) {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Returns the steps on the ranks of a class, in the order of time.
  stepsOfClass(at) {
    if (this.byClass.size === 0) {
      for (const one of this.job.classes) this.byClass.set(one.at, []);
      for (let step = 0; step < this.count; step += 1) {
        if (this.rank[step] >= 0) this.byClass.get(this.job.classOf(this.rank[step]).at).push(step);
      }
    }
    return this.byClass.get(at);
  }

  // Returns the class and the node of a step, or null.
  targetOf(at) {
    return this.job.targetOf(this.rank[at], this.columns.text(this.node[at]));
  }

  told(at) {
    const long = formatTime(this.job.ns(this.end[at] - this.start[at]));
    const withPeer = this.peer[at] >= 0 ? ` to rank ${this.peer[at]}` : "";
    return `${this.kindOf(at).replace("_", "-")}: ${this.nameOf(at)}\n${this.rank[at] < 0 ? "" : `rank ${this.rank[at]}`}${withPeer}: ${long}`;
  }
}
