// What the nodes are, for the timeline: a graph for each distinct trace, times for each class.

import { Columns } from "./data.js";

export const NEVER = -1;

// The nodes of one distinct trace, read when they are first asked for.
class Graph {
  constructor(at, about, columns) {
    this.at = at;
    this.about = about;
    this.columns = columns;
    this.count = about.nodes;
    this.stream = columns.numbers(`g${at}.stream`);
    this.type = columns.numbers(`g${at}.type`);
    this.group = columns.numbers(`g${at}.group`);
    this.names = columns.numbers(`g${at}.name`);
    this.places = null;
  }

  name(node) {
    return this.columns.text(this.names[node]) ?? "";
  }

  id(node) {
    const value = this.columns.numbers(`g${this.at}.id`)[node];
    return this.about.ids === "numbers" ? String(value) : this.columns.text(value);
  }

  // Returns the node of an id, undefined where there is none.
  nodeOf(id) {
    if (this.places === null) {
      this.places = new Map();
      for (let node = 0; node < this.count; node += 1) this.places.set(this.id(node), node);
    }
    return this.places.get(id);
  }

  parents(node) {
    this.begins ??= sums(this.columns.numbers(`g${this.at}.parents`));
    const distance = this.columns.numbers(`g${this.at}.parent`);
    const found = [];
    for (let at = this.begins[node]; at < this.begins[node + 1]; at += 1) {
      found.push(node - distance[at]);
    }
    return found;
  }

  has(attribute) {
    return attribute in this.about.attributes;
  }

  // Returns the value of an attribute, null where the node has none.
  value(node, attribute) {
    const form = this.about.attributes[attribute];
    if (form === undefined) return null;
    const name = `g${this.at}.a.${attribute}`;
    const value = this.columns.numbers(name)[node];
    if (form === "text") return this.columns.text(value);
    return this.columns.numbers(`${name}?`)[node] ? value : null;
  }

  // Returns [name, value] of all attributes that a node has.
  attributes(node) {
    return Object.keys(this.about.attributes)
      .map((name) => [name, this.value(node, name)])
      .filter(([, value]) => value !== null);
  }
}

function sums(counts) {
  const begins = new Float64Array(counts.length + 1);
  for (let at = 0; at < counts.length; at += 1) begins[at + 1] = begins[at] + counts[at];
  return begins;
}

// The run: classes of ranks with the times of their nodes, and who the peers of a rank are.
export class Job {
  constructor(page, columns) {
    this.columns = columns;
    this.ticksPerNs = page.ticks_per_ns;
    this.makespan = page.makespan;
    this.ranks = page.ranks;
    this.about = page.timeline;
    this.graphs = this.about.graphs.map((about, at) => new Graph(at, about, columns));
    this.classes = this.about.classes.map((one, at) => ({
      ...one,
      at,
      nodes: this.graphs[one.graph],
      asRank: one.rank,
    }));
    this.loaded = new Map();
  }

  ns(ticks) {
    return ticks / this.ticksPerNs;
  }

  // Returns start and end of the nodes of a class in ticks; the end of what never ran is NEVER.
  times(at) {
    if (!this.loaded.has(at)) {
      const start = this.columns.numbers(`c${at}.start`);
      const length = this.columns.numbers(`c${at}.length`);
      const end = new Float64Array(start.length);
      for (let node = 0; node < end.length; node += 1) {
        end[node] = length[node] === 0 ? NEVER : start[node] + length[node] - 1;
      }
      this.loaded.set(at, { start, end });
    }
    return this.loaded.get(at);
  }

  classOf(rank) {
    return this.classes[this.columns.numbers("class_of")[rank]];
  }

  // Returns where a node is drawn by its rank and id: its class and its place, or null.
  targetOf(rank, id) {
    if (rank < 0 || id === null) return null;
    const one = this.classOf(rank);
    const node = one.nodes.nodeOf(id);
    return node === undefined ? null : { at: one.at, node };
  }

  // Returns the group of a node as a rank sees it: its name, and its ranks where they are known.
  groupOf(one, node) {
    const place = one.nodes.group[node];
    if (one.nodes.type[node] !== this.about.types.indexOf("COMM_COLL")) return null;
    if (place < 0) return { name: "all ranks", ranks: null };
    const name = this.about.meanings.groups[one.graph][place];
    const id = this.meaning(one, `g${one.graph}.group${place}`) ?? Number(name);
    return { name: String(id) === name ? name : `${name} (${id})`, ranks: this.members(id) };
  }

  // Returns the rank that a name of a peer means to the rank a class is shown as.
  peerOf(one, name) {
    const place = this.about.meanings.peers[one.graph].indexOf(name);
    return place < 0 ? null : this.meaning(one, `g${one.graph}.peer${place}`);
  }

  meaning(one, column) {
    if (!this.columns.has(column)) return null;
    const row = found(this.columns.numbers(`g${one.graph}.ranks`), one.asRank);
    return this.columns.numbers(column)[row];
  }

  // Finds a group among families of groups that lie alike (yantra.workloads.templates.rules).
  membersByRule(id) {
    for (const [firstId, base, axes, offsets] of this.about.meanings.families) {
      let rest = id - firstId;
      let lowest = base;
      for (const [count, step, idStep] of [...axes].sort((a, b) => b[2] - a[2])) {
        const at = Math.min(Math.floor(rest / idStep), count - 1);
        lowest += at * step;
        rest -= at * idStep;
      }
      if (rest === 0) return sumsOfOffsets(lowest, offsets);
    }
    return null;
  }

  members(id) {
    if (!this.columns.has("groups.id")) return this.membersByRule(id);
    const sizes = this.columns.numbers("groups.size");
    const at = this.columns.numbers("groups.id").indexOf(id);
    if (at < 0) return null;
    this.groupBegins ??= sums(sizes);
    const begin = this.groupBegins[at];
    return this.columns.numbers("groups.member").subarray(begin, begin + sizes[at]);
  }
}

// Returns all sums of one offset of each axis: [count, step, list], the list in place of steps.
function sumsOfOffsets(base, axes) {
  let found = [base];
  for (const [count, step, list] of axes) {
    const offsets = list.length ? list : [...Array(count).keys()].map((at) => at * step);
    found = offsets.flatMap((offset) => found.map((sum) => sum + offset));
  }
  return Float64Array.from(found).sort();
}

// Returns the place of a value in an ascending column.
function found(column, value) {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
