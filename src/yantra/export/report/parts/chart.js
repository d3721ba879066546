// Charts by uPlot: axes, zoom, the values under the pointer, and a picture as SVG.

import { el } from "./dom.js";
import { pictureButton } from "./download.js";
import { formatTime, shortTime, ticksBetween } from "./format.js";
import { traced } from "./svg_context.js";
import { colour, onTheme } from "./theme.js";
import { hideTooltip, showTooltip } from "./tooltip.js";
import { uPlot } from "./uplot.js";

const LEAST = 260; // pixels across
const STEP = 12; // pixels that an arrow key moves the cursor
const HELP = "Arrow keys read values, plus and minus zoom, 0 shows all. Drag to zoom.";

// Draws `make(width)` into a box, again whenever its width changes; nothing while it has none.
export function drawnToFit(box, make) {
  let drawn = 0;
  const draw = () => {
    const width = Math.max(Math.floor(box.clientWidth), LEAST);
    if (width === drawn) return;
    drawn = width;
    make(width);
  };
  new ResizeObserver(draw).observe(box);
  draw();
}

// Puts a chart into a box. `about` is {label, height, keys: [{name, series}], data, and of uPlot:
// scales, axes, series, draw: (u) => for more than series}, {tell: (u, left, top) => text under
// the cursor}, {move: (u, by) => where an arrow key takes it, enter: (u) => what Enter and a click do,
// zoomed: (u) => what follows a zoom}.
export function plot(box, about) {
  const face = el("div", {
    class: "plot",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "chart",
    "aria-label": `${about.label}. ${HELP}`,
  });
  const bar = el("div", { class: "plot-bar" });
  box.replaceChildren(...(about.keys ? [legendOf(about.keys)] : []), face, bar);
  let chart = null;
  drawnToFit(face, (width) => {
    chart?.setSize({ width, height: about.height });
    chart ??= new uPlot(optionsOf(about, width), about.data, face);
  });
  onTheme(() => chart.redraw());
  bar.append(
    act("+", `Zoom in: ${about.label}`, () => zoom(chart, 2)),
    act("\u2212", `Zoom out: ${about.label}`, () => zoom(chart, 0.5)),
    act("All", `All of it: ${about.label}`, () => zoom(chart, 0)),
    pictureButton(`the chart "${about.label}"`, about.label, () => pictured(chart, about)),
  );
  setUpKeys(face, chart, about);
  box.plot = chart; // for consoles and tests
  return chart;
}

function act(text, label, onclick) {
  return el("button", { type: "button", class: "export", "aria-label": label, onclick }, text);
}

function optionsOf(about, width) {
  return {
    width,
    height: about.height,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, dist: 6 } },
    padding: [14, 14, 0, 0],
    scales: about.scales,
    axes: about.axes,
    series: [{}, ...about.series],
    hooks: {
      draw: about.draw ? [about.draw] : [],
      setCursor: [(u) => tellAt(u, about.tell)],
      setScale: [(u, key) => key === "x" && about.zoomed?.(u)],
    },
  };
}

function tellAt(u, tell) {
  const { left, top } = u.cursor;
  const text = left < 0 ? null : tell(u, left, top);
  if (!text) return hideTooltip();
  const box = u.over.getBoundingClientRect();
  showTooltip(text, box.left + left, box.top + Math.max(top, 0));
}

// Zooms about the middle; by 0 to all.
function zoom(u, by) {
  const middle = u.over.clientWidth / 2;
  const ends = by === 0 ? [] : [middle - middle / by, middle + middle / by];
  const [min, max] = ends.map((place) => u.posToVal(place, "x"));
  u.setScale("x", { min: min ?? u.data[0][0], max: max ?? u.data[0].at(-1) });
}

function setUpKeys(face, chart, about) {
  const move = about.move ?? ((u, by) => [Math.max(u.cursor.left, 0) + by * STEP, 0]);
  face.addEventListener("keydown", (event) => {
    const { key } = event;
    const by = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (by !== undefined) {
      const [left, top] = move(chart, by);
      chart.setCursor({ left: Math.min(Math.max(left, 0), chart.over.clientWidth), top });
    } else if (key in ZOOMS) zoom(chart, ZOOMS[key]);
    else if (key === "Escape") chart.setCursor({ left: -10, top: -10 });
    else if (key === "Enter" && about.enter) about.enter(chart);
    else return;
    event.preventDefault();
  });
  face.addEventListener("blur", () => chart.setCursor({ left: -10, top: -10 }));
  if (about.enter) chart.over.addEventListener("click", () => about.enter(chart));
}

const ZOOMS = { "+": 2, "=": 2, "-": 0.5, 0: 0 };

// Returns the chart as it is seen, as SVG.
async function pictured(chart, about) {
  const { min, max } = chart.scales.x;
  const scales = { ...about.scales, x: { ...about.scales.x, range: () => [min, max] } };
  const { picture, result } = await traced(
    () => new uPlot(optionsOf({ ...about, scales }, chart.width), chart.data, el("div")),
  );
  const { width, height } = result.ctx.canvas;
  result.destroy();
  return picture(width, height, colour("paper"));
}

function legendOf(series) {
  const keys = series.map((one) =>
    el("li", { class: "key" }, el("span", { class: `swatch ${one.series}` }), one.name),
  );
  return el("ul", { class: "legend" }, ...keys);
}

// An axis of uPlot in the colours of the page. `across`: along the bottom.
export function axis(label, across, more) {
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  return {
    label,
    font,
    labelFont: font,
    labelSize: 18,
    stroke: () => colour("soft"),
    grid: { stroke: () => colour("hair"), width: 1 },
    ticks: { stroke: () => colour("line"), width: 1, size: 4 },
    gap: 4,
    space: across ? 90 : 34,
    size: across ? 26 : (u, values) => widest(u, values, font) + 12,
    ...more,
  };
}

function widest(u, values, font) {
  u.ctx.save();
  u.ctx.font = font;
  const widths = (values ?? []).map((text) => u.ctx.measureText(text ?? "").width);
  u.ctx.restore();
  return Math.max(...widths, 12);
}

// Draws `series`: [{name, series (class), points: [[ns, value], ...]}], where a value holds until the
// next point. `about` is {end, highest, height, axis: what the values are, unit: value -> text,
// label} and {limit: {value, name}}, a line of its own; marks are multiples of `whole`; {marks:
// [{ns, name}]}, lines at times; {along: logTimes(...)}, if it is not time from 0 to `end`; `keys`.
export function stepChart(box, series, about) {
  const along = about.along ?? timesTo(about.end);
  const tables = series.map((one) => {
    const last = one.points.at(-1);
    const points = last && last[0] < along.high ? [...one.points, [along.high, last[1]]] : one.points;
    return [points.map(([ns]) => ns), points.map(([, value]) => value)];
  });
  const clamped = (u, min, max) => [Math.max(min, along.low), Math.min(max, along.high)];
  return plot(box, {
    label: about.label,
    height: about.height,
    keys: series,
    data: uPlot.join([[[along.low, along.high]], ...tables]),
    scales: {
      x: { time: false, distr: along.distr, range: clamped },
      y: { range: () => [0, about.highest] },
    },
    axes: [
      axis(along.name, true, {
        splits: (u, at, min, max) => along.ticks(min, max, u.width / 120),
        filter: (u, splits) => splits,
        values: (u, splits) => splits.map(along.shown),
      }),
      axis(about.axis, false, {
        splits: (u, at, min, max) => marksTo(max, about.whole ?? 1, (u.height - 60) / 36),
        values: (u, splits) => splits.map(about.unit),
      }),
    ],
    series: series.map((one) => curve(one.series, series.length <= 2)),
    draw: (u) => drawMarks(u, about),
    tell: (u, left) => {
      const ns = u.posToVal(left, "x");
      const told = series.map((one) => `${one.name}: ${about.unit(valueAt(one.points, ns))}`);
      return [`${along.word} ${along.exact(ns)}`, ...told].join("\n");
    },
  });
}

function curve(name, hasArea) {
  return {
    stroke: () => colour(name),
    width: 1.5,
    fill: hasArea ? () => `${colour(name)}4d` : undefined,
    paths: uPlot.paths.stepped({ align: 1 }),
    points: { show: false },
  };
}

function marksTo(highest, whole, wanted) {
  return ticksBetween(0, highest / whole, Math.max(wanted, 2)).values.map((mark) => mark * whole);
}

const TIMES = { word: "at", shown: shortTime, exact: (ns) => formatTime(Math.round(ns)) };

function timesTo(end) {
  const ticks = (low, high, wanted) => ticksBetween(low, high, wanted).values;
  return { low: 0, high: end, distr: 1, ticks, name: "time", ...TIMES };
}

// Times from `low` to `high` by their logarithm.
export function logTimes(low, high, name) {
  return { low, high, distr: 3, ticks: logTicks, name, ...TIMES, word: "within" };
}

// Returns 1, 2 and 5 times powers of ten, or powers alone where `wanted` are fewer.
export function logTicks(from, to, wanted) {
  const powers = [];
  for (let power = 10 ** Math.floor(Math.log10(from)); power <= to; power *= 10) powers.push(power);
  const fine = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const inside = (all) => all.filter((value) => value >= from && value <= to);
  if (inside(fine).length > wanted) return inside(powers);
  return inside(fine).length > 2 ? inside(fine) : ticksBetween(from, to, wanted).values;
}

// Values from `low` to `high`, each as `shown` writes it.
export function valuesTo(low, high, name, shown) {
  const ticks = (from, to, wanted) => ticksBetween(from, to, wanted).values;
  return { low, high, distr: 1, ticks, name, word: "at most", shown, exact: shown };
}

function drawMarks(u, { limit, marks = [] }) {
  const { left, top, width, height } = u.bbox;
  const shown = ({ ns }) => ns >= u.scales.x.min && ns <= u.scales.x.max;
  if (limit) {
    const y = u.valToPos(limit.value, "y", true);
    drawMark(u, [left, y, left + width, y], limit.name, [left + width - 4, y + 10], "right");
  }
  marks.filter(shown).forEach((mark, at) => {
    const x = u.valToPos(mark.ns, "x", true);
    const isRight = x > left + width / 2;
    const place = [isRight ? x - 4 : x + 4, top + height - 12 - 14 * uPlot.pxRatio * at];
    drawMark(u, [x, top, x, top + height], mark.name, place, isRight ? "right" : "left");
  });
}

function drawMark(u, [x1, y1, x2, y2], name, [x, y], side) {
  const { ctx } = u;
  ctx.save();
  ctx.strokeStyle = colour("accent");
  ctx.lineWidth = 1.5 * uPlot.pxRatio;
  ctx.setLineDash([6, 4].map((size) => size * uPlot.pxRatio));
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
  write(u, name, x, y, side);
  ctx.restore();
}

export function write(u, text, x, y, side) {
  const { ctx } = u;
  ctx.font = u.axes[0].font[0];
  ctx.fillStyle = colour("ink");
  ctx.textAlign = side;
  ctx.textBaseline = "middle";
  ctx.fillText(text, x, y);
}

function valueAt(points, ns) {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] > ns) high = middle;
    else low = middle + 1;
  }
  return low === 0 ? 0 : points[low - 1][1];
}
