// The roofline: operations per byte against operations per second, both logarithmic.
//
// Kernels that fall on one spot of the picture are one point; its area tells their time in all. The
// axes span what takes nearly all of the time; what lies beyond stands at the border.

import { drawnToFit } from "./chart.js";
import { byId, svg } from "./dom.js";
import { svgButton } from "./download.js";
import { formatBytes, formatCount, formatRate, formatTime } from "./format.js";
import { hideTooltip, showTooltip, withTooltip } from "./tooltip.js";

const HEIGHT = 390;
const [LEFT, RIGHT, TOP, BOTTOM] = [96, 16, 24, 44];
const NAMES_SHOWN = 6;

export function drawRoofline(page, columns) {
  const box = byId("roofline");
  if (box === null) return;
  const kernels = kernelsOf(page, columns);
  const roofs = { peak: page.kernels.peak, memory: page.kernels.memory };
  drawnToFit(box, (width) => {
    const drawn = picture(kernels, roofs, width);
    box.replaceChildren(drawn, svgButton(drawn));
  });
}

function kernelsOf(page, columns) {
  const of = (name) => columns.numbers(`kernels.${name}`);
  const [operations, bytes, ticks, calls, name] = [
    "operations",
    "bytes",
    "ticks",
    "calls",
    "name",
  ].map(of);
  return [...operations].map((work, at) => ({
    name: columns.text(name[at]) ?? "",
    calls: calls[at],
    bytes: bytes[at],
    ns: ticks[at] / page.ticks_per_ns,
    intensity: work / bytes[at],
    rate: (work / ticks[at]) * page.ticks_per_ns * 1e9,
  }));
}

function picture(kernels, roofs, width) {
  const scale = scales(kernels, roofs, width);
  const spots = spotsOf(kernels, scale);
  const most = Math.max(...spots.map((spot) => spot.time));
  const points = spots.map((spot) => point(spot, most));
  return svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      height: HEIGHT,
      role: "group",
      "aria-label": "Roofline of all kernels",
    },
    ...axes(scale, width),
    ...roofLines(roofs, scale, width),
    ...points,
  );
}

function scales(kernels, roofs, width) {
  const main = mainPart(kernels);
  const intensities = main.map((kernel) => kernel.intensity);
  const rates = main.map((kernel) => kernel.rate);
  if (roofs.peak && roofs.memory) intensities.push(roofs.peak / roofs.memory);
  if (roofs.peak) rates.push(roofs.peak);
  const [left, right] = decades(intensities);
  const [low, high] = decades(rates);
  return {
    left,
    right,
    low,
    high,
    x: (value) =>
      LEFT + within((Math.log10(value) - left) / (right - left)) * (width - LEFT - RIGHT),
    y: (value) =>
      TOP + (1 - within((Math.log10(value) - low) / (high - low))) * (HEIGHT - TOP - BOTTOM),
  };
}

function within(share) {
  return Math.min(Math.max(share, 0), 1);
}

// Returns the kernels without those of least intensity that take a thousandth of the time together.
function mainPart(kernels) {
  const time = (kernel) => kernel.ns * kernel.calls;
  let left = 0.001 * kernels.reduce((sum, kernel) => sum + time(kernel), 0);
  const ascending = [...kernels].sort((a, b) => a.intensity - b.intensity);
  const first = ascending.findIndex((kernel) => (left -= time(kernel)) < 0);
  return ascending.slice(Math.max(first, 0));
}

function decades(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [Math.floor(Math.log10(low) - 0.05), Math.ceil(Math.log10(high) + 0.05)];
}

// Gathers kernels that fall on one spot, those that take longest first.
function spotsOf(kernels, scale) {
  const known = new Map();
  for (const kernel of kernels) {
    const [x, y] = [scale.x(kernel.intensity), scale.y(kernel.rate)];
    const key = `${Math.round(x / 2)},${Math.round(y / 2)}`;
    const spot = known.get(key) ?? { x, y, time: 0, kernels: [] };
    spot.time += kernel.ns * kernel.calls;
    spot.kernels.push(kernel);
    known.set(key, spot);
  }
  return [...known.values()].sort((a, b) => b.time - a.time);
}

function point(spot, most) {
  const told = toldOf(spot);
  const circle = svg("circle", {
    class: "point s0",
    cx: spot.x,
    cy: spot.y,
    r: 3 + 11 * Math.sqrt(spot.time / most),
    tabindex: 0,
    role: "img",
    "aria-label": told,
    onfocus: (event) => {
      const box = event.target.getBoundingClientRect();
      showTooltip(told, box.right, box.top);
    },
    onblur: hideTooltip,
  });
  return withTooltip(circle, () => told);
}

function toldOf(spot) {
  const first = spot.kernels[0];
  const names = [...new Set(spot.kernels.map((kernel) => kernel.name))];
  const calls = spot.kernels.reduce((sum, kernel) => sum + kernel.calls, 0);
  const left = names.length - NAMES_SHOWN;
  return [
    ...names.slice(0, NAMES_SHOWN),
    ...(left > 0 ? [`and ${left} more`] : []),
    `${first.intensity.toPrecision(4)} FLOP/byte, ${formatRate(first.rate, "FLOP/s")}`,
    `${formatTime(first.ns)} and ${formatBytes(first.bytes)} a call, ${formatCount(calls)} calls, ${formatTime(spot.time)} over all ranks`,
  ].join("\n");
}

function* axes(scale, width) {
  const bottom = HEIGHT - BOTTOM;
  for (let power = scale.left; power <= scale.right; power += 1) {
    const x = scale.x(10 ** power);
    yield svg("line", { class: "grid", x1: x, x2: x, y1: TOP, y2: bottom });
    yield svg(
      "text",
      { x, y: bottom + 16, "text-anchor": "middle" },
      power < 0 ? String(10 ** power) : formatCount(10 ** power),
    );
  }
  for (let power = scale.low; power <= scale.high; power += 1) {
    const y = scale.y(10 ** power);
    yield svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y });
    yield svg(
      "text",
      { x: LEFT - 8, y: y + 4, "text-anchor": "end" },
      formatRate(10 ** power, "FLOP/s"),
    );
  }
  yield svg(
    "text",
    { x: (LEFT + width) / 2, y: HEIGHT - 8, "text-anchor": "middle" },
    "arithmetic intensity, FLOP per byte",
  );
  yield svg("text", { x: 4, y: TOP - 12, "text-anchor": "start" }, "rate of operations");
}

function* roofLines(roofs, scale, width) {
  const right = 10 ** scale.right;
  const left = 10 ** scale.left;
  const ridge = roofs.peak && roofs.memory ? roofs.peak / roofs.memory : null;
  if (roofs.memory) {
    const from = Math.max(left, 10 ** scale.low / roofs.memory);
    const to = Math.min(ridge ?? right, 10 ** scale.high / roofs.memory, right);
    yield line(scale, from, from * roofs.memory, to, to * roofs.memory);
    const middle = Math.sqrt(from * to);
    const [x, y] = [scale.x(middle), scale.y(middle * roofs.memory)];
    yield svg(
      "text",
      { class: "name", x: x - 8, y: y - 8, "text-anchor": "end" },
      formatRate(roofs.memory, "B/s"),
    );
  }
  if (roofs.peak) {
    yield line(scale, Math.max(ridge ?? left, left), roofs.peak, right, roofs.peak);
    yield svg(
      "text",
      { class: "name", x: width - RIGHT, y: scale.y(roofs.peak) - 6, "text-anchor": "end" },
      formatRate(roofs.peak, "FLOP/s"),
    );
  }
}

function line(scale, x1, y1, x2, y2) {
  return svg("line", {
    class: "roof",
    x1: scale.x(x1),
    y1: scale.y(y1),
    x2: scale.x(x2),
    y2: scale.y(y2),
  });
}
