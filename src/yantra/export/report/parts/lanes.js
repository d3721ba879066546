// Lanes: nodes of one stream side by side, so that those of one lane never overlap.
//
// In a lane starts and ends both ascend, so what is visible, and what lies under the pointer, is
// found by bisection, and a pixel's share of busy time by the sums of lengths before it.

import { NEVER } from "./nodes.js";

export class Lane {
  constructor(nodes, start, end) {
    this.nodes = nodes;
    this.start = start;
    this.end = end;
    this.count = nodes.length;
    this.before = new Float64Array(this.count + 1);
    for (let at = 0; at < this.count; at += 1) {
      this.before[at + 1] = this.before[at] + end[nodes[at]] - start[nodes[at]];
    }
  }

  // Returns the place of the first node that ends after a time, or at it having no length.
  firstEndingAfter(time) {
    return this.bisect((node) => this.end[node] > time || this.start[node] >= time, 0);
  }

  // Returns the place of the first node, from a place on, that starts at a time or later.
  firstStartingAt(time, from) {
    let step = 1;
    let low = from;
    while (low + step < this.count && this.start[this.nodes[low + step]] < time) {
      low += step;
      step *= 2;
    }
    return this.bisect((node) => this.start[node] >= time, low, Math.min(low + step, this.count));
  }

  // Returns the node nearest to a time, at most `slack` away, or null.
  nodeAt(time, slack) {
    const at = this.firstEndingAfter(time);
    let best = null;
    let least = slack;
    for (const place of [at - 1, at]) {
      if (place < 0 || place >= this.count) continue;
      const node = this.nodes[place];
      const away = Math.max(this.start[node] - time, time - this.end[node], 0);
      if (away <= least) [best, least] = [node, away];
    }
    return best;
  }

  bisect(isPast, low, high = this.count) {
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isPast(this.nodes[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

// Returns the lanes of the nodes of a stream: each node goes to the first lane that is free.
export function packed(stream, streams, start, end) {
  const nodes = [];
  for (let node = 0; node < streams.length; node += 1) {
    if (streams[node] === stream && end[node] !== NEVER) nodes.push(node);
  }
  const order = Uint32Array.from(nodes);
  if (!ascends(order, start)) order.sort((a, b) => start[a] - start[b] || end[a] - end[b] || a - b);
  const lanes = [];
  const free = [];
  for (const node of order) {
    let at = 0;
    while (at < free.length && free[at] > start[node]) at += 1;
    if (at === free.length) lanes.push([]);
    lanes[at].push(node);
    free[at] = end[node];
  }
  return lanes.map((own) => new Lane(Uint32Array.from(own), start, end));
}

function ascends(order, start) {
  for (let at = 1; at < order.length; at += 1) {
    if (start[order[at]] < start[order[at - 1]]) return false;
  }
  return true;
}
