// Power of the building over time.

import { stepChart } from "./chart.js";
import { byId } from "./dom.js";

export function drawPower(courses, columns) {
  for (const one of courses) {
    const at = columns.numbers(`${one.id}.at`);
    const watts = columns.numbers(`${one.id}.watts`);
    const highest = watts.reduce((most, value) => Math.max(most, value), 1) * 1.05;
    const points = [...at].map((ns, k) => [ns, watts[k]]);
    stepChart(byId(one.id), [{ name: one.title, series: "s0", points }], {
      end: one.end,
      highest,
      height: 230,
      axis: "power",
      whole: 10 ** Math.floor(Math.log10(highest)),
      unit: formatWatts,
      label: one.title,
    });
  }
}

function formatWatts(watts) {
  const [scale, unit] = watts >= 1e6 ? [1e6, "MW"] : watts >= 1e3 ? [1e3, "kW"] : [1, "W"];
  return `${Number((watts / scale).toPrecision(4))} ${unit}`;
}
