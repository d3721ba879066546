// Memory of a rank of each class over time.

import { stepChart } from "./chart.js";
import { byId } from "./dom.js";
import { formatBytes } from "./format.js";

export function drawMemory(page, columns) {
  const box = byId("memory");
  if (box === null || page.memory.length === 0) return;
  const series = page.memory.map((one, at) => {
    const ticks = columns.numbers(`memory${at}.tick`);
    const bytes = columns.numbers(`memory${at}.bytes`);
    const points = [...ticks].map((tick, k) => [tick / page.ticks_per_ns, one.fixed + bytes[k]]);
    return { name: `ranks ${one.label}`, series: `s${at % 10}`, points };
  });
  const values = series.flatMap((one) => one.points.map(([, value]) => value));
  const highest = values.reduce((most, value) => Math.max(most, value), page.capacity ?? 1) * 1.05;
  const about = {
    end: page.makespan / page.ticks_per_ns,
    highest,
    height: 270,
    axis: "memory of a rank",
    whole: 2 ** (10 * Math.floor(Math.log2(highest) / 10)),
    unit: (value) => formatBytes(Math.round(value)),
    label: "Memory of a rank of each class over time",
    limit: page.capacity && {
      value: page.capacity,
      name: `capacity of a device: ${formatBytes(page.capacity)}`,
    },
  };
  stepChart(box, series, about);
}
