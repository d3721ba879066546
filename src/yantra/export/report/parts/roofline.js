// The roofline: operations per byte against operations per second, both logarithmic.
//
// Kernels that fall on one spot of what is shown are one point; its area tells their time in all. The
// axes span what takes nearly all of the time; what lies beyond stands at the border.

import { axis, logTicks, plot } from "./chart.js";
import { byId } from "./dom.js";
import { formatBytes, formatCount, formatRate, formatTime } from "./format.js";
import { nearest, nextPlace, writeNames } from "./points.js";
import { colour } from "./theme.js";
import { uPlot } from "./uplot.js";

const HEIGHT = 400;
const NAMES_TOLD = 6;
const NAMES_DRAWN = 8;
const LONGEST_NAME = 28; // characters
const SPOT = 2; // pixels

export function drawRoofline(page, columns) {
  const box = byId("roofline");
  if (box === null) return;
  const kernels = kernelsOf(page, columns);
  const { peak, memory } = page.kernels;
  const [along, up] = ends(kernels, peak, memory);
  let spots = []; // of what is shown
  const place = ({ x, y }) => [x, y];
  plot(box, {
    label: "Roofline of all kernels",
    height: HEIGHT,
    keys: [
      { name: "kernels, by their time in all", series: "s0" },
      ...(memory ? [{ name: `memory: ${formatRate(memory, "B/s")}`, series: "s1" }] : []),
      ...(peak ? [{ name: `peak: ${formatRate(peak, "FLOP/s")}`, series: "s2" }] : []),
    ],
    data: roofs(along, peak, memory),
    scales: {
      x: { time: false, distr: 3, range: (u, min, max) => [Math.max(min, along[0]), Math.min(max, along[1])] },
      y: { distr: 3, range: () => up },
    },
    axes: [
      logAxis("arithmetic intensity, FLOP per byte", true, (value) => String(Number(value.toPrecision(3)))),
      logAxis("rate of operations", false, (value) => formatRate(value, "FLOP/s")),
    ],
    series: [roof("s1"), roof("s2")],
    draw: (u) => {
      spots = spotsOf(u, kernels, along, up);
      drawSpots(u, spots);
    },
    tell: (u) => toldOf(nearest(u, spots, place)),
    move: (u, by) => nextPlace(u, spots, place, by),
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

// Returns what the axes span: whole powers of ten.
function ends(kernels, peak, memory) {
  const main = mainPart(kernels);
  const intensities = main.map((kernel) => kernel.intensity);
  const rates = main.map((kernel) => kernel.rate);
  if (peak && memory) intensities.push(peak / memory);
  if (peak) rates.push(peak);
  return [decades(intensities), decades(rates)];
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
  return [10 ** Math.floor(Math.log10(low) - 0.05), 10 ** Math.ceil(Math.log10(high) + 0.05)];
}

// Columns of uPlot: intensities, and the roof of memory and of the peak there.
function roofs([left, right], peak, memory) {
  const ridge = peak && memory ? [peak / memory] : [];
  const at = [left, ...ridge, right];
  const isBelow = (x) => ridge.length === 0 || x <= ridge[0];
  const isAbove = (x) => ridge.length === 0 || x >= ridge[0];
  return [
    at,
    at.map((x) => (memory && isBelow(x) ? x * memory : null)),
    at.map((x) => (peak && isAbove(x) ? peak : null)),
  ];
}

function roof(name) {
  return { stroke: () => colour(name), width: 2, points: { show: false } };
}

function logAxis(label, across, shown) {
  return axis(label, across, {
    splits: (u, at, min, max) => logTicks(min, max, across ? u.width / 60 : u.height / 40),
    filter: (u, splits) => splits,
    values: (u, splits) => splits.map(shown),
  });
}

// Gathers kernels that fall on one spot of what is shown, those that take longest first.
function spotsOf(u, kernels, along, up) {
  const known = new Map();
  for (const kernel of kernels) {
    const at = within(kernel.intensity, along);
    if (at < u.scales.x.min || at > u.scales.x.max) continue;
    const [x, y] = [u.valToPos(at, "x"), u.valToPos(within(kernel.rate, up), "y")];
    const key = `${Math.round(x / SPOT)},${Math.round(y / SPOT)}`;
    const spot = known.get(key) ?? { x, y, time: 0, kernels: [] };
    spot.time += kernel.ns * kernel.calls;
    spot.kernels.push(kernel);
    known.set(key, spot);
  }
  return [...known.values()].sort((a, b) => b.time - a.time);
}

function within(value, [low, high]) {
  return Math.min(Math.max(value, low), high);
}

function drawSpots(u, spots) {
  const { ctx, bbox } = u;
  const most = spots[0]?.time ?? 1;
  const radius = ({ time }) => (3 + 11 * Math.sqrt(time / most)) * uPlot.pxRatio;
  const pixels = ({ x, y }) => [bbox.left + x * uPlot.pxRatio, bbox.top + y * uPlot.pxRatio];
  ctx.save();
  ctx.fillStyle = `${colour("s0")}8c`;
  ctx.strokeStyle = colour("paper");
  ctx.lineWidth = 0.5 * uPlot.pxRatio;
  for (const spot of spots) {
    const circle = new Path2D();
    circle.arc(...pixels(spot), radius(spot), 0, 2 * Math.PI);
    ctx.fill(circle);
    ctx.stroke(circle);
  }
  ctx.restore();
  const right = bbox.left + bbox.width;
  const named = spots.slice(0, NAMES_DRAWN).map((spot) => {
    const [x, y] = pixels(spot);
    const away = radius(spot) / 2;
    return { name: shortName(spot), x: Math.min(x + away, right), y: Math.max(y - away, bbox.top) };
  });
  writeNames(u, named);
}

function shortName({ kernels: [{ name }, ...others] }) {
  const more = new Set(others.map((one) => one.name)).size > 0 ? ", ..." : "";
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}\u2026` : `${name}${more}`;
}

function toldOf(spot) {
  if (spot === null) return null;
  const first = spot.kernels[0];
  const names = [...new Set(spot.kernels.map((kernel) => kernel.name))];
  const calls = spot.kernels.reduce((sum, kernel) => sum + kernel.calls, 0);
  const left = names.length - NAMES_TOLD;
  return [
    ...names.slice(0, NAMES_TOLD),
    ...(left > 0 ? [`and ${left} more`] : []),
    `${first.intensity.toPrecision(4)} FLOP/byte, ${formatRate(first.rate, "FLOP/s")}`,
    `${formatTime(first.ns)} and ${formatBytes(first.bytes)} a call, ${formatCount(calls)} calls, ${formatTime(spot.time)} over all ranks`,
  ].join("\n");
}
