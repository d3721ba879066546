// The page of a study: its trials as points, and filters of them.

import { axis, plot } from "./chart.js";
import { pageData } from "./data.js";
import { byId, el } from "./dom.js";
import { formatBytes, shortTime } from "./format.js";
import { nearest, nextPlace, writeNames } from "./points.js";
import { setUpTables } from "./tables.js";
import { colour, setUpTheme } from "./theme.js";
import { uPlot } from "./uplot.js";

const COLUMNS = { cluster: 1, ranks: 2 };
const HEIGHT = 380;
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
  const placeIn = (u) => (point) => placeOf(u, point);
  const near = (u) => nearest(u, shown, placeIn(u));
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
    move: (u, by) => nextPlace(u, shown, placeIn(u), by),
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

function placeOf(u, { at: [x, y] }, onCanvas = false) {
  return [u.valToPos(x, "x", onCanvas), u.valToPos(y, "y", onCanvas)];
}

function drawNames(u, points) {
  const front = points.filter((one) => one.front);
  const named = front.map((one) => [one.name, ...placeOf(u, one, true)]);
  writeNames(u, named.map(([name, x, y]) => ({ name, x, y })));
}
