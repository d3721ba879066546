// What the selected node is and what it waited for.

import { byId, el } from "./dom.js";
import { formatBytes, formatTime } from "./format.js";
import { nameOf } from "./painter.js";

const MOST = 40;
const BYTES = new Set([
  "comm_size",
  "tensor_size",
  "bytes_read",
  "bytes_written",
  "act_alloc",
  "act_free",
]);
const PEERS = new Set(["comm_dst", "comm_src"]);

export class Details {
  constructor(job, path, waits, show) {
    this.job = job;
    this.path = path;
    this.waits = waits;
    this.show = show;
    this.box = byId("details");
  }

  clear() {
    this.box.replaceChildren(el("p", { class: "note" }, "No node is selected."));
    this.box.classList.add("empty");
  }

  tell({ at, node }) {
    const one = this.job.classes[at];
    const whose = one.count === 1 ? `rank ${one.asRank}` : `rank ${one.asRank} of ${nameOf(one)}`;
    this.box.replaceChildren(
      el("h3", {}, one.nodes.name(node) || "(no name)", el("small", {}, ` on ${whose}`)),
      el("div", { class: "columns" }, this.facts(one, node), this.reasons(one, node)),
    );
    this.box.classList.remove("empty");
  }

  facts(one, node) {
    const { start, end } = this.job.times(one.at);
    const graph = one.nodes;
    const rows = [
      ["id", graph.id(node)],
      ["type", this.job.about.types[graph.type[node]] ?? String(graph.type[node])],
      ["start", this.time(start[node])],
      ["end", this.time(end[node])],
      ["duration", this.time(end[node] - start[node])],
    ];
    const slack = `c${one.at}.slack`;
    if (this.job.columns.has(slack))
      rows.push(["slack", this.time(this.job.columns.numbers(slack)[node])]);
    const group = this.job.groupOf(one, node);
    if (group) rows.push(["group", group.name], ["ranks", ranksText(group.ranks, this.job.ranks)]);
    for (const [name, value] of graph.attributes(node))
      rows.push([name, this.value(one, name, value)]);
    return el(
      "dl",
      {},
      ...rows.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))),
    );
  }

  value(one, name, value) {
    if (name === "comm_type") return this.job.about.collectives[value] ?? String(value);
    if (PEERS.has(name) && typeof value === "string") {
      const peer = this.job.peerOf(one, value);
      return peer === null ? value : `${value} (rank ${peer})`;
    }
    if (BYTES.has(name) && typeof value === "number") return `${formatBytes(value)} (${value})`;
    return String(value);
  }

  reasons(one, node) {
    const recorded = this.waits?.of(one, node) ?? null;
    const parents = one.nodes.parents(node);
    const shown = parents.slice(0, MOST).map((parent) => this.parent(one, parent));
    if (parents.length > MOST) shown.push(el("li", {}, `and ${parents.length - MOST} more`));
    const parts = [
      el("h4", {}, "Started when"),
      el("ol", { class: "waited" }, ...this.withinRank(one, node, parents)),
      recorded ? el("h4", {}, "Then waited for") : null,
      recorded ? this.steps(recorded) : null,
      el("h4", {}, "Depends on"),
      parents.length
        ? el("ol", {}, ...shown)
        : el("p", { class: "note" }, "nothing: it is ready at the start"),
    ];
    return el("div", {}, ...parts);
  }

  steps({ steps, isCut }) {
    if (steps.length === 0) return el("p", { class: "note" }, "nothing: it took no time");
    const rows = steps.map((step) =>
      el(
        "li",
        {},
        el("span", { class: `swatch step-${step.kind}` }),
        el(
          "span",
          { class: "what" },
          `${step.kind.replace("_", "-")}: `,
          this.link(step),
          step.told,
        ),
        el("span", { class: "long" }, this.time(step.end - step.start)),
      ),
    );
    const earlier = isCut ? [el("li", {}, "earlier steps, then")] : [];
    return el("ol", { class: "steps" }, ...earlier, ...rows);
  }

  link(step) {
    const target = step.target;
    if (!target) return step.name;
    return el(
      "button",
      { type: "button", class: "to-node", onclick: () => this.show(target) },
      step.name,
    );
  }

  // What the times of one rank tell without a recording: the last parent, then who held the slot.
  withinRank(one, node, parents) {
    const { start, end } = this.job.times(one.at);
    const last = parents.reduce(
      (best, parent) => (best === null || end[parent] > end[best] ? parent : best),
      null,
    );
    const ready = last === null ? 0 : end[last];
    const rows = [];
    if (last !== null) rows.push(this.reason(one, last, "ready when this ended: ", end[last]));
    if (start[node] > ready) {
      const holder = this.endedAt(one, start[node], one.nodes.stream[node]);
      const told = `then ${this.time(start[node] - ready)} until a slot was free`;
      rows.push(
        holder === null
          ? el("li", {}, told)
          : this.reason(one, holder, `${told} of: `, end[holder]),
      );
    }
    if (rows.length === 0) rows.push(el("li", {}, "nothing: it started with the run"));
    return rows;
  }

  endedAt(one, time, stream) {
    const { end } = this.job.times(one.at);
    for (let node = 0; node < end.length; node += 1) {
      if (end[node] === time && one.nodes.stream[node] === stream) return node;
    }
    return null;
  }

  reason(one, node, told, when) {
    return el(
      "li",
      {},
      el("span", { class: "what" }, told, this.button(one, node)),
      el("span", { class: "long" }, this.time(when)),
    );
  }

  parent(one, node) {
    const { end } = this.job.times(one.at);
    return el(
      "li",
      {},
      el("span", { class: "what" }, this.button(one, node)),
      el("span", { class: "long" }, `ended ${this.time(end[node])}`),
    );
  }

  button(one, node) {
    const text = `${one.nodes.name(node)} (${one.nodes.id(node)})`;
    return el(
      "button",
      { type: "button", class: "to-node", onclick: () => this.show({ at: one.at, node }) },
      text,
    );
  }

  time(ticks) {
    return formatTime(this.job.ns(ticks));
  }
}

function ranksText(ranks, all) {
  if (ranks === null) return `all ${all.toLocaleString("en-US")}`;
  const shown = [...ranks.subarray(0, 16)].join(", ");
  return ranks.length > 16 ? `${shown}, ... (${ranks.length})` : shown;
}
