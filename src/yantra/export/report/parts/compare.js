// The page of a comparison: when a few ranks of each result work, on one scale.

import { axis, plot } from "./chart.js";
import { loadColumns, pageData } from "./data.js";
import { byId } from "./dom.js";
import { barsButton } from "./download.js";
import { formatTime, shortTime, ticksBetween } from "./format.js";
import { startPage } from "./ready.js";
import { setUpTables } from "./tables.js";
import { colour, setUpTheme } from "./theme.js";
import { uPlot } from "./uplot.js";

const ROW = 12; // pixels of a kind of a rank
const FILLED = 0.84; // of a row
const AROUND = 66; // pixels above and below the rows

async function start() {
  setUpTheme();
  setUpTables();
  for (const box of document.querySelectorAll("#path .bars")) box.after(barsButton(box));
  const { lanes } = pageData();
  const columns = await loadColumns();
  const charts = [];
  lanes.results.forEach((one, at) => charts.push(drawn(one, at, lanes, columns, charts)));
}

// `charts` are all of the page: they show the same time.
function drawn(result, at, { kinds, longest_ns: longest, unit_ns: unit }, columns, charts) {
  const box = byId(`lanes-${at}`);
  if (box === null) return null;
  const rows = result.ranks.flatMap((rank, place) =>
    kinds.map((kind) => rowOf(rank, kind, columns, `lanes.${at}.${place}.${kind.style}`, unit)),
  );
  const groups = result.ranks.map((rank) => rows.filter((row) => row.rank === rank));
  return plot(box, {
    label: `Timeline of ${result.name}`,
    height: rows.length * ROW + AROUND,
    data: [[0, longest], [null, null]],
    scales: {
      x: { time: false, range: (u, min, max) => [Math.max(min, 0), Math.min(max, longest)] },
      y: { range: () => [0, rows.length] },
    },
    axes: [
      axis("time", true, {
        splits: (u, at, min, max) => ticksBetween(min, max, u.width / 120).values,
        values: (u, splits) => splits.map(shortTime),
      }),
      axis("", false, {
        labelSize: 0,
        space: 1,
        grid: { show: false },
        splits: () => groups.map((_, place) => rows.length - (place + 0.5) * kinds.length),
        filter: (u, splits) => splits,
        values: () => result.ranks.map((rank) => `rank ${rank}`),
      }),
    ],
    series: [{ paths: () => null, points: { show: false } }],
    draw: (u) => {
      rows.forEach((row, place) => drawRow(u, row, rows.length - place));
      drawEnd(u, result.makespan_ns);
    },
    tell: (u, left) => toldAt(u.posToVal(left, "x"), groups, result.makespan_ns),
    zoomed: (u) => charts.forEach((other) => follow(u, other)),
  });
}

function rowOf(rank, kind, columns, name, unit) {
  const of = (side) => (columns.has(`${name}.${side}`) ? columns.numbers(`${name}.${side}`) : []);
  const [starts, ends] = [of("start"), of("end")].map((all) => [...all].map((at) => at * unit));
  return { rank, kind, starts, ends };
}

function follow(from, other) {
  const { min, max } = from.scales.x;
  if (other === null || other === from) return;
  if (other.scales.x.min !== min || other.scales.x.max !== max) other.setScale("x", { min, max });
}

function drawRow(u, { kind, starts, ends }, top) {
  const { ctx, bbox } = u;
  const { min, max } = u.scales.x;
  const y = u.valToPos(top, "y", true);
  const height = FILLED * (u.valToPos(top - 1, "y", true) - y);
  ctx.save();
  ctx.fillStyle = colour(kind.style);
  for (let at = firstPast(ends, min); at < starts.length && starts[at] < max; at += 1) {
    const from = Math.max(u.valToPos(starts[at], "x", true), bbox.left);
    const to = Math.min(u.valToPos(ends[at], "x", true), bbox.left + bbox.width);
    ctx.fillRect(from, y, Math.max(to - from, 0.5), height);
  }
  ctx.restore();
}

function drawEnd(u, end) {
  const { ctx, bbox } = u;
  if (end < u.scales.x.min || end > u.scales.x.max) return;
  const x = u.valToPos(end, "x", true);
  ctx.save();
  ctx.strokeStyle = colour("ink");
  ctx.lineWidth = 1.5 * uPlot.pxRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

// Returns what each rank does at a time.
function toldAt(ns, groups, end) {
  const does = (rows) => {
    const names = rows.filter(({ starts, ends }) => starts[firstPast(ends, ns)] <= ns);
    return names.map(({ kind }) => kind.name).join(", ") || (ns > end ? "past its end" : "nothing of these");
  };
  const told = groups.map((rows) => `rank ${rows[0].rank}: ${does(rows)}`);
  return [`at ${formatTime(Math.round(ns))}`, ...told].join("\n");
}

// Returns the place of the first value above one; they ascend.
function firstPast(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

startPage(start);
