// Draws what is visible of the timeline, and no more: a node as a box where it is a pixel wide,
// else a column whose strength is the share of its pixel that nodes fill.

import { shortTime, ticksBetween } from "./format.js";
import { AXIS, PATH } from "./rows.js";
import { SvgContext } from "./svg_context.js";
import { colour } from "./theme.js";

const LEAST_TEXT = 34;
const WEAKEST = 0.25;
const DIMMED = 0.16;
const KEY = 24; // the height of a row of the key below a picture
const FAMILY = "system-ui, sans-serif";
const SMALL = `11px ${FAMILY}`;

export const STEP_COLOURS = {
  compute: "compute",
  memory: "memory",
  host: "host",
  latency: "step-latency",
  wire: "step-wire",
  queued: "step-queued",
  hand_over: "step-hand-over",
  reduction: "step-reduction",
  waiting: "step-waiting",
  other: "step-other",
  unexplained_device: "unexplained",
  unexplained_host: "unexplained-host",
  begin: "idle",
  communication: "collective",
};

export class Painter {
  constructor(canvas, job, rows) {
    this.canvas = canvas;
    this.job = job;
    this.rows = rows;
    this.takeColours();
  }

  takeColours() {
    this.ink = Object.fromEntries(
      ["paper", "panel", "ink", "soft", "line", "hair", "accent", "focus"].map((name) => [
        name,
        colour(name),
      ]),
    );
    this.steps = Object.fromEntries(
      Object.entries(STEP_COLOURS).map(([kind, name]) => [kind, colour(name)]),
    );
  }

  // Draws a view: {from, to, gutter, width, height, scroll, colouring, selected, found, path}.
  paint(view) {
    const context = this.canvas.getContext("2d");
    const density = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(view.width * density), Math.round(view.height * density)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.canvas.style.width = `${view.width}px`;
    this.canvas.style.height = `${view.height}px`;
    context.setTransform(density, 0, 0, density, 0, 0);
    this.draw(context, view);
  }

  // Returns a view as an SVG with the key of its colours: pairs of a text and a colour.
  picture(view, keys) {
    const context = new SvgContext();
    this.draw(context, view);
    context.font = SMALL;
    const placed = placedKeys(keys, view.width, (text) => context.measureText(text).width);
    const height = view.height + KEY * (placed.length ? placed.at(-1).row + 1 : 0);
    context.fillStyle = this.ink.paper;
    context.fillRect(0, view.height, view.width, height - view.height);
    for (const { text, fill, x, row } of placed) {
      const middle = view.height + KEY * (row + 0.5);
      context.fillStyle = fill;
      context.fillRect(x, middle - 6, 12, 12);
      context.fillStyle = this.ink.ink;
      context.fillText(text, x + 18, middle);
    }
    return context.finished(view.width, height);
  }

  draw(context, view) {
    this.context = context;
    this.view = view;
    this.scale = (view.width - view.gutter) / (view.to - view.from);
    this.palette = view.colouring.colours();
    context.fillStyle = this.ink.paper;
    context.fillRect(0, 0, view.width, view.height);
    const top = this.top();
    context.save();
    context.beginPath();
    context.rect(0, top, view.width, view.height - top);
    context.clip();
    this.grid(top);
    for (const group of this.rows.groups) {
      const y = group.y - view.scroll + top;
      if (y + group.height > top && y < view.height) this.group(group, y);
    }
    this.selection(top);
    context.restore();
    this.axis();
    if (view.path) this.path(view.path);
  }

  top() {
    return AXIS + (this.view.path ? PATH : 0);
  }

  x(time) {
    return this.view.gutter + (time - this.view.from) * this.scale;
  }

  grid(top) {
    const { context, view } = this;
    context.strokeStyle = this.ink.hair;
    context.beginPath();
    for (const value of this.ticks().values) {
      const x = Math.round(this.x(value)) + 0.5;
      context.moveTo(x, top);
      context.lineTo(x, view.height);
    }
    context.stroke();
  }

  ticks() {
    const wanted = (this.view.width - this.view.gutter) / 110;
    return ticksBetween(Math.max(this.view.from, 0), this.view.to, wanted);
  }

  axis() {
    const { context, view } = this;
    context.fillStyle = this.ink.panel;
    context.fillRect(0, 0, view.width, AXIS);
    context.fillStyle = this.ink.soft;
    context.font = SMALL;
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const value of this.ticks().values) {
      const x = this.x(value);
      if (x < view.gutter - 1) continue;
      context.fillRect(Math.round(x), AXIS - 5, 1, 5);
      const text = shortTime(this.job.ns(value));
      if (x + 4 + context.measureText(text).width < view.width)
        context.fillText(text, x + 4, AXIS / 2);
    }
    context.fillRect(0, AXIS - 1, view.width, 0.5);
  }

  // The critical path as one row: at each time, what the run waits for.
  path(path) {
    const { context, view } = this;
    context.fillStyle = this.ink.paper;
    context.fillRect(0, AXIS, view.width, PATH);
    this.label("critical path", 10, AXIS + PATH / 2, true);
    context.save();
    context.beginPath();
    context.rect(view.gutter, AXIS, view.width - view.gutter, PATH);
    context.clip();
    let drawn = -Infinity;
    for (let at = path.firstAt(view.from); at < path.count && path.start[at] < view.to; at += 1) {
      const x = Math.max(this.x(path.start[at]), view.gutter, drawn);
      const end = this.x(path.end[at]);
      if (end - drawn < 0.5) continue;
      context.fillStyle = this.steps[path.kindOf(at)];
      context.fillRect(x, AXIS + 4, Math.max(end - x, 0.5), PATH - 8);
      drawn = Math.max(end, x + 0.5);
      if (end - x > LEAST_TEXT) this.text(path.nameOf(at), x, end, AXIS + PATH / 2);
    }
    context.restore();
    context.fillStyle = this.ink.line;
    context.fillRect(0, AXIS + PATH - 1, view.width, 1);
  }

  group(group, y) {
    const { context, view } = this;
    const { one } = group;
    context.fillStyle = this.ink.line;
    context.fillRect(0, y, view.width, 1);
    const name = `${group.isOpen ? "▾" : "▸"} ${nameOf(one)}`;
    this.label(name, 10, y + 12, true);
    const left = 10 + context.measureText(name).width;
    const many = one.count === 1 ? "1 rank" : `${one.count.toLocaleString("en-US")} ranks`;
    const shownAs = one.asRank !== one.rank ? `, shown as ${one.asRank}` : "";
    if (!group.isOpen) this.label(`${many}${shownAs}`, 24, y + 25, false);
    context.save();
    context.beginPath();
    context.rect(view.gutter, y, view.width - view.gutter, group.height);
    context.clip();
    if (!one.shown)
      this.label("not embedded: the page would be too large", view.gutter + 8, y + 17, false);
    else if (group.isOpen) this.unfoldedRows(group, y);
    else this.foldedRow(group, y);
    context.restore();
    if (!group.isOpen) return;
    context.font = SMALL;
    if (left + context.measureText(`${many}${shownAs}`).width + 16 < view.gutter) {
      this.label(`${many}${shownAs}`, view.gutter - 8, y + 12, false, "right");
    }
    for (const row of group.streams) {
      this.label(this.job.about.streams[row.stream], 24, row.y - group.y + y + 8, false);
    }
  }

  unfoldedRows(group, y) {
    for (const row of group.streams) {
      row.lanes.forEach((lane, at) => {
        const top = y + row.y - group.y + at * row.each;
        if (top > this.view.height || top + row.each < AXIS) return;
        this.lane(group.one, lane, top, row.each - (row.each > 8 ? 2 : 1));
      });
    }
    if (this.view.path) this.stepsOf(group.one, y + 17, 3);
  }

  foldedRow(group, y) {
    const streams = this.rows.lanesOf(group.one.at).filter((lanes) => lanes.length);
    const each = Math.floor(25 / Math.max(streams.length, 1));
    streams.forEach((lanes, at) => {
      for (const lane of lanes) this.lane(group.one, lane, y + 6 + at * each, each - 1);
    });
    if (this.view.path) this.stepsOf(group.one, y + 2, 3);
  }

  // Marks when the critical path is on a rank of a class.
  stepsOf(one, y, height) {
    const { context, view } = this;
    context.fillStyle = this.ink.accent;
    let drawn = -Infinity;
    for (const at of view.path.stepsOfClass(one.at)) {
      if (view.path.end[at] < view.from) continue;
      if (view.path.start[at] > view.to) break;
      const x = this.x(view.path.start[at]);
      const end = this.x(view.path.end[at]);
      if (end - drawn < 0.5) continue;
      context.fillRect(x, y, Math.max(end - x, 1), height);
      drawn = end;
    }
  }

  lane(one, lane, y, height) {
    const { context, view } = this;
    const table = view.colouring.table(one);
    const marks = view.found?.of(one.graph);
    const { start, end, nodes } = lane;
    let at = lane.firstEndingAfter(view.from);
    while (at < lane.count && start[nodes[at]] <= view.to) {
      const node = nodes[at];
      const x = this.x(start[node]);
      const wide = (end[node] - start[node]) * this.scale;
      const strength = marks && !marks[node] ? DIMMED : 1;
      context.fillStyle = this.palette[table[node]];
      if (wide >= 1) {
        const left = Math.max(x, view.gutter - 2);
        const right = Math.min(x + wide, view.width + 2);
        context.globalAlpha = strength;
        context.fillRect(left, y, Math.max(right - left - (wide > 3 ? 0.6 : 0), 0.5), height);
        if (right - left > LEAST_TEXT && height > 10) {
          this.text(one.nodes.name(node), left, right, y + height / 2, strength < 1);
        }
        at += 1;
        continue;
      }
      const pixel = Math.floor(x);
      const until = view.from + (pixel + 1 - view.gutter) / this.scale;
      const next = Math.max(lane.firstStartingAt(until, at), at + 1);
      const filled = (lane.before[next] - lane.before[at]) * this.scale;
      const anyMark = marks && someMarked(marks, nodes, at, next);
      context.globalAlpha = marks && !anyMark ? DIMMED : Math.min(Math.max(filled, WEAKEST), 1);
      context.fillRect(pixel, y, 1, height);
      at = next;
    }
    context.globalAlpha = 1;
  }

  selection(top) {
    const { context, view } = this;
    if (!view.selected) return;
    const { at, node } = view.selected;
    const { start, end } = this.job.times(at);
    const group = this.rows.groups[at];
    const y = (group.isOpen ? this.rows.heightOf(at, node) : group.y + 5) - view.scroll + top;
    const height = group.isOpen ? 16 : 27;
    context.strokeStyle = this.ink.ink;
    context.lineWidth = 2;
    const x = Math.max(this.x(start[node]), view.gutter);
    const wide = Math.max(Math.min(this.x(end[node]), view.width + 4) - x, 2);
    if (x < view.width && wide > 0) context.strokeRect(x - 1, y - 1, wide + 2, height + 1);
    context.lineWidth = 1;
  }

  text(text, left, right, middle, isDimmed = false) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(left, middle - 8, right - left - 2, 16);
    context.clip();
    context.globalAlpha = 1;
    context.fillStyle = isDimmed ? this.ink.soft : readableOn(context.fillStyle);
    context.font = SMALL;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText(text, left + 4, middle + 0.5);
    context.restore();
  }

  label(text, x, y, isStrong, align = "left") {
    const { context, view } = this;
    context.font = isStrong ? `600 12px ${FAMILY}` : SMALL;
    context.fillStyle = isStrong ? this.ink.ink : this.ink.soft;
    context.textBaseline = "middle";
    context.textAlign = align;
    const room =
      align === "right" ? view.gutter : x < view.gutter ? view.gutter - x - 6 : view.width;
    context.fillText(shortened(context, text, room), x, y);
    context.textAlign = "left";
  }
}

// Returns keys with their places, in rows as wide as a picture.
function placedKeys(keys, width, widthOf) {
  let [x, row] = [10, 0];
  return keys.map(([text, fill]) => {
    const wide = 34 + widthOf(text);
    if (x > 10 && x + wide > width) [x, row] = [10, row + 1];
    const placed = { text, fill, x, row };
    x += wide;
    return placed;
  });
}

export function nameOf(one) {
  return `${one.count === 1 ? "rank" : "ranks"} ${one.label}`;
}

function someMarked(marks, nodes, from, to) {
  for (let at = from; at < to; at += 1) if (marks[nodes[at]]) return true;
  return false;
}

function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let kept = text.length;
  while (kept > 1 && context.measureText(`${text.slice(0, kept)}…`).width > room) kept -= 1;
  return `${text.slice(0, kept)}…`;
}

// Returns black or white, whichever reads better on a colour (#rrggbb, as a canvas gives it back).
function readableOn(fill) {
  const parts = [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16));
  const bright = (parts[0] * 299 + parts[1] * 587 + parts[2] * 114) / 1000;
  return bright > 135 ? "#101214" : "#ffffff";
}
