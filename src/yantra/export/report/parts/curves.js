// A page of bars, tables, and curves of shares: how many have at most a value.

import { stepChart, valuesTo } from "./chart.js";
import { loadColumns, pageData } from "./data.js";
import { byId } from "./dom.js";
import { barsButton } from "./download.js";
import { formatCount, formatPercent } from "./format.js";
import { drawPower } from "./power.js";
import { startPage } from "./ready.js";
import { setUpTables } from "./tables.js";
import { setUpTheme } from "./theme.js";

const UNITS = {
  share: (value) => `${(100 * value).toFixed(2)} %`,
  count: (value) => formatCount(Math.round(value) + 0), // no -0
  usd: (value) => `${Number(value.toPrecision(4))} USD`,
};

async function start() {
  setUpTheme();
  setUpTables();
  for (const box of document.querySelectorAll(".bars")) box.after(barsButton(box));
  const columns = await loadColumns();
  for (const one of pageData().curves) draw(one, columns);
  drawPower(pageData().power, columns);
}

function draw(one, columns) {
  const [at, shares] = [columns.numbers(`${one.id}.at`), columns.numbers(`${one.id}.share`)];
  const points = [...at].map((value, k) => [value, shares[k]]);
  const [low, high] = [at[0], at.at(-1)];
  const margin = 0.02 * (high - low) || Math.abs(high) * 0.05 || 1;
  stepChart(byId(one.id), [{ name: one.of, series: "s0", points }], {
    end: high + margin,
    along: valuesTo(Math.max(low - margin, 0), high + margin, one.title, UNITS[one.unit]),
    highest: 1,
    height: 230,
    axis: `share of ${one.of}`,
    unit: formatPercent,
    label: `${one.title}: share of ${one.of} with at most that`,
  });
}

startPage(start);
