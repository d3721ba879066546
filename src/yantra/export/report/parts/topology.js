// The network as a drawing: devices, and links coloured by their load, each direction apart. A slider
// goes through the run; at its left end is the load of the whole run.
//
// It is SVG: uPlot draws values along an axis, and a graph has none.

import { byId, el, svg } from "./dom.js";
import { svgButton } from "./download.js";
import { formatBytes, formatPercent, formatTime } from "./format.js";
import { withTooltip } from "./tooltip.js";

const UNIT = 46;
const MARGIN = 34;
const LOADS = [0.05, 0.2, 0.5, 0.8];
const LOAD_NAMES = ["under 5 %", "5 to 20 %", "20 to 50 %", "50 to 80 %", "from 80 %"];

export function drawTopology(page, columns) {
  const box = byId("topology");
  if (box === null || page.network.drawings.length === 0) return;
  const lines = [];
  box.append(
    ...page.network.drawings.map((drawing) => figure(drawing, page.network.labels, lines)),
  );
  if (page.network.over_time) box.before(slider(page, columns, lines));
  const keys = LOAD_NAMES.map((text, at) =>
    el("li", { class: "key" }, el("span", { class: `swatch load-${at}` }), text),
  );
  box.after(el("ul", { class: "legend", "aria-label": "Load of links" }, ...keys));
}

// Returns the controls that show another stretch of the run.
function slider(page, columns, lines) {
  const { frames } = page.network.over_time;
  const shares = columns.numbers("load.share");
  const end = page.makespan / page.ticks_per_ns;
  const told = el("output", { for: "load-time" }, "the whole run");
  const show = (event) => {
    const at = Number(event.target.value);
    const [from, to] = [((at - 1) / frames) * end, (at / frames) * end];
    told.textContent = at === 0 ? "the whole run" : `${formatTime(from)} to ${formatTime(to)}`;
    for (const line of lines)
      line.show(at === 0 ? null : line.at < 0 ? 0 : shares[line.at * frames + at - 1] / 1000);
  };
  const input = el("input", {
    type: "range",
    id: "load-time",
    min: 0,
    max: frames,
    step: 1,
    value: 0,
    "aria-label": "Stretch of the run whose load is shown",
    oninput: show,
  });
  return el("div", { class: "controls load-time" }, el("label", {}, "Load in", input), told);
}

function figure(drawing, labels, lines) {
  const xs = drawing.devices.flatMap(([, x1, , x2]) => [x1, x2]);
  const ys = drawing.devices.flatMap(([, , y1, , y2]) => [y1, y2]);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const place = (x, y) => [(x - left) * UNIT + MARGIN, (y - top) * UNIT + MARGIN];
  const width = (Math.max(...xs) - left) * UNIT + 2 * MARGIN;
  const height = (Math.max(...ys) - top) * UNIT + 2 * MARGIN;
  const links = [...drawing.links].sort((a, b) => (a[3] ?? -1) - (b[3] ?? -1));
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Topology: ${drawing.title}` },
    ...links.map((link) => drawn(link, drawing, place, labels, lines)),
    ...drawing.devices.map((device, at) => dot(device, place, nameOf(drawing, at))),
  );
  picture.style.width = `${Math.round(width * Math.min(1.6, 1100 / width))}px`;
  return el("figure", { class: "drawing" }, picture, el("figcaption", {}, drawing.title), svgButton(picture));
}

// A link bends to the left of its way, so that both directions show; long ones bend more.
function drawn([from, to, dimension, busy, bytes, at], drawing, place, labels, lines) {
  const { devices } = drawing;
  const [x1, y1] = place(...nearest(devices[from], devices[to]));
  const [x2, y2] = place(...nearest(devices[to], devices[from]));
  const far = Math.hypot(x2 - x1, y2 - y1) || 1;
  const toBar = devices[from][0] < 0 || devices[to][0] < 0;
  const bend = far > UNIT * 1.5 && !toBar ? 0.2 * far : 4;
  const [mx, my] = [
    (x1 + x2) / 2 + ((y2 - y1) / far) * bend,
    (y1 + y2) / 2 - ((x2 - x1) / far) * bend,
  ];
  const path = svg("path", {
    d: `M${x1.toFixed(1)},${y1.toFixed(1)}Q${mx.toFixed(1)},${my.toFixed(1)} ${x2.toFixed(1)},${y2.toFixed(1)}`,
  });
  let text = "";
  // `load` is that of a stretch, null for the whole run.
  const show = (load) => {
    const value = load ?? busy;
    const level = value === null || (load !== null && value === 0) ? "none" : levelOf(value);
    path.setAttribute("class", `link load-${level}`);
    path.setAttribute("stroke-width", value === null ? 1 : 1.4 + 2.6 * Math.min(value, 1));
    text =
      load !== null
        ? `in use ${formatPercent(load)}`
        : busy === null
          ? "carried nothing"
          : `${at < 0 ? "busy" : "in use"} ${formatPercent(busy)}, ${formatBytes(bytes)}`;
  };
  show(null);
  lines.push({ at, show });
  const ends = `${nameOf(drawing, from)} to ${nameOf(drawing, to)}`;
  return withTooltip(path, () => `${ends}: ${text}\n${labels[dimension]}`);
}

// Returns the point of a device, which may be a bar, where a link to another ends: the middle of the
// shorter one, or what is nearest to it.
function nearest([, x1, y1, x2, y2], [, ox1, oy1, ox2, oy2]) {
  return [meeting(x1, x2, ox1, ox2), meeting(y1, y2, oy1, oy2)];
}

function meeting(low, high, otherLow, otherHigh) {
  if (high - low <= otherHigh - otherLow) return (low + high) / 2;
  return Math.min(Math.max(low, (otherLow + otherHigh) / 2), high);
}

function dot(device, place, name) {
  const [x, y] = place(device[1], device[2]);
  if (device[0] < 0) {
    const [right, bottom] = place(device[3], device[4]);
    const half = right - x + bottom - y > 0 ? 2 : 6;
    const size = { width: right - x + 2 * half, height: bottom - y + 2 * half };
    const mark = svg("rect", { class: "switch-dot", x: x - half, y: y - half, rx: 2, ...size });
    return withTooltip(mark, () => name);
  }
  return svg(
    "g",
    {},
    svg("circle", { class: "rank-dot", cx: x, cy: y, r: 11 }),
    svg("text", { class: "rank-name", x, y }, String(device[0])),
  );
}

function nameOf({ names, devices }, at) {
  if (names) return names[at];
  return devices[at][0] < 0 ? "switch" : `rank ${devices[at][0]}`;
}

function levelOf(busy) {
  const at = LOADS.findIndex((limit) => busy < limit);
  return at < 0 ? LOADS.length : at;
}
