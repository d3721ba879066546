// The network as a drawing: devices, and links coloured by their load, each direction apart.

import { byId, el, svg } from "./dom.js";
import { formatBytes, formatPercent } from "./format.js";
import { withTooltip } from "./tooltip.js";

const UNIT = 46;
const MARGIN = 34;
const LOADS = [0.05, 0.2, 0.5, 0.8];
const LOAD_NAMES = ["under 5 %", "5 to 20 %", "20 to 50 %", "50 to 80 %", "from 80 %"];

export function drawTopology(page) {
  const box = byId("topology");
  if (box === null) return;
  box.append(...page.network.drawings.map((drawing) => figure(drawing, page.network.dimensions)));
  const keys = LOAD_NAMES.map((text, at) =>
    el("li", { class: "key" }, el("span", { class: `swatch load-${at}` }), text),
  );
  box.after(el("ul", { class: "legend", "aria-label": "Load of links" }, ...keys));
}

function figure(drawing, dimensions) {
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
    ...links.map((link) => drawn(link, drawing.devices, place, dimensions)),
    ...drawing.devices.map((device) => dot(device, place)),
  );
  picture.style.width = `${Math.round(width * Math.min(1.6, 1100 / width))}px`;
  return el("figure", { class: "drawing" }, picture, el("figcaption", {}, drawing.title));
}

// A link bends to the left of its way, so that both directions show; long ones bend more.
function drawn([from, to, dimension, busy, bytes], devices, place, dimensions) {
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
    class: `link ${busy === null ? "load-none" : `load-${levelOf(busy)}`}`,
    d: `M${x1.toFixed(1)},${y1.toFixed(1)}Q${mx.toFixed(1)},${my.toFixed(1)} ${x2.toFixed(1)},${y2.toFixed(1)}`,
    "stroke-width": busy === null ? 1 : 1.4 + 2.6 * Math.min(busy, 1),
  });
  const load =
    busy === null ? "carried nothing" : `busy ${formatPercent(busy)}, ${formatBytes(bytes)}`;
  const told = `${nameOf(devices[from])} to ${nameOf(devices[to])}: ${load}\ndimension ${dimension} (${dimensions[dimension]})`;
  return withTooltip(path, () => told);
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

function dot(device, place) {
  const [x, y] = place(device[1], device[2]);
  if (device[0] < 0) {
    const [right, bottom] = place(device[3], device[4]);
    const half = right - x + bottom - y > 0 ? 2 : 6;
    const size = { width: right - x + 2 * half, height: bottom - y + 2 * half };
    return svg("rect", { class: "switch-dot", x: x - half, y: y - half, rx: 2, ...size });
  }
  return svg(
    "g",
    {},
    svg("circle", { class: "rank-dot", cx: x, cy: y, r: 11 }),
    svg("text", { class: "rank-name", x, y }, String(device[0])),
  );
}

function nameOf(device) {
  return device[0] < 0 ? "switch" : `rank ${device[0]}`;
}

function levelOf(busy) {
  const at = LOADS.findIndex((limit) => busy < limit);
  return at < 0 ? LOADS.length : at;
}
