// Which rows the timeline has, and how high they are: the axis, the critical path, then for each
// class either one folded row or a row per stream with its lanes.

import { packed } from "./lanes.js";

export const AXIS = 26;
export const PATH = 24;
const FOLDED = 34;
const HEAD = 22;
const GAP = 5;
const LANE = 17;
const THIN = 5;
const MANY = 10; // lanes

export class Rows {
  constructor(job, hasPath) {
    this.job = job;
    this.hasPath = hasPath;
    this.lanes = new Map();
    const latest = job.classes.reduce((last, one) => Math.max(last, one.finish), 0);
    const few = job.classes.length <= 4;
    this.unfolded = new Set(
      job.classes
        .filter((one) => few || one.finish === latest)
        .slice(0, 4)
        .map((one) => one.at),
    );
    this.lay();
  }

  // Returns the lanes of a class by stream.
  lanesOf(at) {
    if (!this.lanes.has(at)) {
      const one = this.job.classes[at];
      const { start, end } = this.job.times(at);
      const streams = this.job.about.streams.map((_, stream) =>
        packed(stream, one.nodes.stream, start, end),
      );
      this.lanes.set(at, streams);
    }
    return this.lanes.get(at);
  }

  toggle(at) {
    if (!this.unfolded.delete(at)) this.unfolded.add(at);
    this.lay();
  }

  // Places all classes below each other; a class that is not embedded has a row that says so.
  lay() {
    this.groups = [];
    let y = 0;
    for (const one of this.job.classes) {
      const isOpen = one.shown && this.unfolded.has(one.at);
      const streams = isOpen ? this.streamsOf(one, y + HEAD) : [];
      const last = streams.at(-1);
      const height = isOpen ? (last ? last.y + last.height - y : HEAD) + GAP : FOLDED;
      this.groups.push({ one, y, height, isOpen, streams });
      y += height;
    }
    this.height = y;
  }

  streamsOf(one, top) {
    let y = top;
    const found = [];
    this.lanesOf(one.at).forEach((lanes, stream) => {
      if (lanes.length === 0) return;
      const each = lanes.length > MANY ? THIN : LANE;
      found.push({ stream, lanes, y, each, height: lanes.length * each });
      y += lanes.length * each + 2;
    });
    return found;
  }

  // Returns the group of rows at a height, or null.
  groupAt(y) {
    let low = 0;
    let high = this.groups.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.groups[middle].y + this.groups[middle].height <= y) low = middle + 1;
      else high = middle;
    }
    return this.groups[low] && y >= 0 ? this.groups[low] : null;
  }

  // Returns the node at a height and a time, at most `slack` ticks away: [class, node] or null.
  nodeAt(y, time, slack) {
    const group = this.groupAt(y);
    if (!group || !group.one.shown) return null;
    const lanes = group.isOpen
      ? group.streams
          .filter((row) => y >= row.y && y < row.y + row.height)
          .map((row) => row.lanes[Math.floor((y - row.y) / row.each)])
      : this.lanesOf(group.one.at).flat();
    for (const lane of lanes) {
      const node = lane.nodeAt(time, slack);
      if (node !== null) return { at: group.one.at, node };
    }
    return null;
  }

  // Returns where a node is drawn: its height from the top of all rows.
  heightOf(at, node) {
    const group = this.groups[at];
    for (const row of group.streams) {
      const place = row.lanes.findIndex((lane) => {
        const near = lane.firstStartingAt(lane.start[node], 0);
        for (
          let k = near;
          k < lane.count && lane.start[lane.nodes[k]] <= lane.start[node];
          k += 1
        ) {
          if (lane.nodes[k] === node) return true;
        }
        return false;
      });
      if (place >= 0) return row.y + place * row.each;
    }
    return group.y;
  }
}
