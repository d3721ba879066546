// The page of a study: its trials as points, and filters of them.

import { axis, plot, write } from "./chart.js";
import { pageData } from "./data.js";
import { byId, el } from "./dom.js";
import { formatBytes, shortTime } from "./format.js";
import { setUpTables } from "./tables.js";
import { colour, setUpTheme } from "./theme.js";
import { uPlot } from "./uplot.js";

const COLUMNS = { cluster: 1, ranks: 2 };
const HEIGHT = 380;
const NEAR = 24; // pixels from a point that are still it
const MARGIN = 0.06; // of what the points span
const UNITS = { s: (value) => shortTime(value * 1e9), bytes: formatBytes, "": plain };
const KEYS = [
  { name: "on the front", series: "front", colour: "accent" },
  { name: "behind it", series: "behind", colour: "s0" },
];
let showAlone = () => {}; // the points of these trials

setUpTheme();
setUpTables();
setUpPicture();
setUpFilters();
document.documentElement.dataset.ready = "yes";

function setUpFilters() {
  const table = document.querySelector("#trials table");
  if (table === null) return;
  const rows = [...table.tBodies[0].rows];
  const choices = Object.entries(COLUMNS).map(([name, column]) => {
    const values = [...new Set(rows.map((row) => row.cells[column].textContent))];
    return [name, select(name, values), (row, value) => row.cells[column].textContent === value];
  });
  const states = ["on the front", "feasible", "not feasible"];
  choices.push(["trials", select("trials", states), (row, value) => isIn(row, value)]);
  const count = el("output", { class: "count" });
  const apply = () => {
    const active = choices.filter(([, control]) => control.value !== "");
    const shown = new Set();
    for (const row of rows) {
      row.hidden = !active.every(([, control, holds]) => holds(row, control.value));
      if (!row.hidden) shown.add(row.cells[0].textContent);
    }
    table.parentElement.classList.toggle("filtered", active.length > 0);
    showAlone(shown);
    count.textContent = `${shown.size} of ${rows.length} trials`;
  };
  const bar = el("p", { class: "filters" });
  for (const [name, control] of choices) {
    control.addEventListener("change", apply);
    bar.append(el("label", {}, `${name} `, control));
  }
  bar.append(count);
  table.parentElement.before(bar);
  apply();
}

function select(name, values) {
  const options = [["all", ""], ...values.map((value) => [value, value])];
  return el("select", { id: `filter-${name}` }, ...options.map((one) => new Option(...one)));
}

function isIn(row, state) {
  const is = row.dataset.state ?? stateOf(row);
  row.dataset.state = is;
  return state === "feasible" ? is !== "not feasible" : is === state;
}

function stateOf(row) {
  const said = row.cells[row.cells.length - 2].textContent;
  if (said === "front") return "on the front";
  return said === "" ? "feasible" : "not feasible";
}

function setUpPicture() {
  const box = byId("picture");
  if (box === null) return;
  const { points, axes, label } = pageData();
  let shown = points;
  const near = (u) => nearest(u, shown);
  const chart = plot(box, {
    label,
    height: HEIGHT,
    keys: KEYS,
    data: columnsOf(points),
    scales: { x: scaleOf(axes[0], 0, () => shown), y: scaleOf(axes[1], 1, () => shown) },
    axes: axes.map((one, at) => axis(nameOf(one), at === 0, ticksOf(one))),
    series: KEYS.map(dots),
    draw: (u) => drawNames(u, shown),
    tell: (u) => near(u)?.told ?? null,
    move: (u, by) => {
      const at = shown.indexOf(near(u)) + by;
      return placeOf(u, shown[Math.min(Math.max(at, 0), shown.length - 1)]);
    },
    enter: (u) => {
      const report = near(u)?.report;
      if (report) location.href = report;
    },
  });
  showAlone = (trials) => {
    shown = points.filter((one) => trials.has(String(one.trial)));
    chart.setData(columnsOf(shown));
  };
}

function columnsOf(points) {
  const of = (isFront) => points.map((one) => (one.front === isFront ? one.at[1] : null));
  return [points.map((one) => one.at[0]), of(true), of(false)];
}

// All points with a margin, or what is zoomed into.
function scaleOf({ log }, at, shown) {
  const [into, from] = log ? [Math.log, Math.exp] : [(end) => end, (end) => end];
  const range = (u, min, max) => {
    const values = shown().map((one) => one.at[at]);
    if (values.length === 0) return [1, 2];
    const ends = [Math.min(...values), Math.max(...values)];
    if (at === 0 && (min > ends[0] || max < ends[1])) return [min, max];
    const [low, high] = ends.map(into);
    const margin = MARGIN * (high - low) || Math.abs(low) * 0.1 || 1;
    return [from(low - margin), from(high + margin)];
  };
  return { time: false, distr: log ? 3 : 1, range };
}

function nameOf({ name, unit }) {
  return unit in UNITS ? name : `${name}, ${unit}`;
}

function ticksOf({ unit, log }) {
  const shown = UNITS[unit] ?? plain;
  const values = (u, splits) => splits.map((value) => (value === null ? "" : shown(value)));
  const isShort = (splits) => splits.length <= 8;
  // uPlot marks each multiple of a power of ten; all have names where they are few.
  return log ? { values, filter: (u, splits) => (isShort(splits) ? splits : rounds(splits)) } : { values };
}

function rounds(splits) {
  return splits.map((value) => (/^[125]/.test(value.toExponential()) ? value : null));
}

function plain(value) {
  return String(Number(value.toPrecision(4)));
}

// The front is joined by a line.
function dots({ series, colour: name }) {
  return {
    stroke: () => colour(name),
    width: 1.5,
    paths: series === "front" ? uPlot.paths.linear() : () => null,
    spanGaps: true,
    points: { show: true, size: 9, fill: () => colour(name), width: 0 },
  };
}

function placeOf(u, point) {
  return point ? [u.valToPos(point.at[0], "x"), u.valToPos(point.at[1], "y")] : [-10, -10];
}

function nearest(u, points) {
  const away = (point) => {
    const [x, y] = placeOf(u, point);
    return Math.hypot(x - u.cursor.left, y - u.cursor.top);
  };
  const found = points.reduce((best, one) => (best && away(best) <= away(one) ? best : one), null);
  return found && away(found) <= NEAR ? found : null;
}

// Names of the front's points, as far as they do not overlap.
function drawNames(u, points) {
  const { left, top, width, height } = u.bbox;
  const size = 14 * uPlot.pxRatio;
  const taken = [];
  u.ctx.save();
  u.ctx.font = u.axes[0].font[0];
  for (const point of points.filter((one) => one.front)) {
    const [x, y] = [u.valToPos(point.at[0], "x", true), u.valToPos(point.at[1], "y", true)];
    if (x < left || x > left + width || y < top || y > top + height) continue;
    const long = u.ctx.measureText(point.name).width;
    const isRight = x + size + long > left + width;
    const box = [isRight ? x - size / 2 - long : x + size / 2, y - size, long, size];
    if (box[0] < left || taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    write(u, point.name, box[0], y - size / 2, "left");
  }
  u.ctx.restore();
}

function overlap([x, y, width, height], [left, top, long, high]) {
  return x < left + long && left < x + width && y < top + high && top < y + height;
}
