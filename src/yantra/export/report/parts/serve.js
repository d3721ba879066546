// The page of a served trace: how many requests are done within a time, and load over time.

import { logTimes, stepChart } from "./chart.js";
import { loadColumns, pageData } from "./data.js";
import { byId } from "./dom.js";
import { barsButton } from "./download.js";
import { formatCount, formatPercent } from "./format.js";
import { startPage } from "./ready.js";
import { setUpTables } from "./tables.js";
import { setUpTheme } from "./theme.js";

const FEWEST = 4; // on an axis of counts, so that marks differ

async function start() {
  setUpTheme();
  setUpTables();
  for (const box of document.querySelectorAll(".bars")) box.after(barsButton(box));
  const page = pageData();
  const columns = await loadColumns();
  for (const one of page.attainment) drawAttainment(one, columns);
  for (const one of page.load) drawLoad(one, page.end_ns, columns);
}

function seriesOf(one, columns) {
  return one.series.map((name, at) => {
    const times = columns.numbers(`${one.id}.${at}.at`);
    const values = columns.numbers(`${one.id}.${at}.value`);
    const points = [...times].map((ns, k) => [ns, values[k]]);
    return { name, series: `s${at % 10}`, points };
  });
}

function drawAttainment(one, columns) {
  const series = seriesOf(one, columns);
  const about = {
    end: one.high_ns,
    along: logTimes(one.low_ns, one.high_ns, one.title),
    highest: 1,
    height: 260,
    axis: "share of requests within",
    unit: formatPercent,
    label: `${one.title}: share of requests within a time`,
    marks: one.marks,
  };
  stepChart(byId(one.id), series, about);
}

function drawLoad(one, end, columns) {
  const series = seriesOf(one, columns);
  const values = series.flatMap((each) => each.points.map(([, value]) => value));
  const highest = values.reduce((most, value) => Math.max(most, value), one.limit?.value ?? FEWEST);
  const about = {
    end,
    highest: highest * 1.05,
    height: 190,
    axis: one.title,
    unit: (value) => formatCount(Math.round(value) + 0), // no -0
    label: `${one.title} over time`,
    limit: one.limit,
  };
  stepChart(byId(one.id), series, about);
}

startPage(start);
