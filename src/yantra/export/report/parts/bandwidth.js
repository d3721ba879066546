// Bandwidth over time: for each dimension of the network, or label of its links, the share in use.

import { stepChart } from "./chart.js";
import { byId, el } from "./dom.js";
import { formatPercent } from "./format.js";

const HEIGHT = 160;

export function drawBandwidth(page, columns) {
  const box = byId("bandwidth");
  if (box === null || page.network.utilisation === null) return;
  const series = page.network.labels.map((name, at) => ({
    name,
    series: `s${at % 10}`,
    points: [],
  }));
  const dimension = columns.numbers("use.dimension");
  const from = columns.numbers("use.from");
  const share = columns.numbers("use.share");
  dimension.forEach((d, at) => series[d].points.push([from[at], share[at]]));
  const end = page.makespan / page.ticks_per_ns;
  const boxes = series.map(() => el("div"));
  box.replaceChildren(...boxes);
  series.forEach((one, at) =>
    stepChart(boxes[at], [one], {
      end,
      highest: Math.max(...one.points.map(([, value]) => value), 0.01) * 1.08,
      height: HEIGHT,
      axis: "share of the bandwidth in use",
      unit: formatPercent,
      label: `${one.name}: utilisation over time`,
    }),
  );
}
