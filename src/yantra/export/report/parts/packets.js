// Packets over time: the longest queues, and what the slowest messages may send.

import { stepChart } from "./chart.js";
import { byId } from "./dom.js";
import { formatBytes, formatRate } from "./format.js";

const HEIGHT = 250;

export function drawPackets(page, columns) {
  if (!page.packets) return;
  const end = page.makespan / page.ticks_per_ns;
  const bytes = (value) => formatBytes(Math.round(value));
  const rate = (value) => formatRate(value * 1e9, "B/s");
  draw("packet-queues", seriesOf(page.packets.queues, "packet.queue", columns), {
    end,
    axis: "bytes in the queue",
    unit: bytes,
    label: "Bytes that wait at the ports with the longest queues, over time",
  });
  draw("packet-rates", seriesOf(page.packets.rates, "packet.rate", columns), {
    end,
    axis: "rate that the sender may have",
    unit: rate,
    label: "Rates of the slowest messages over time",
  });
}

function seriesOf(names, prefix, columns) {
  return names.map((name, at) => {
    const ns = columns.numbers(`${prefix}${at}.ns`);
    const values = columns.numbers(`${prefix}${at}.value`);
    const points = [...ns].map((time, k) => [time, values[k]]);
    return { name, series: `s${at % 10}`, points };
  });
}

function draw(id, series, about) {
  const box = byId(id);
  if (box === null || series.length === 0) return;
  const values = series.flatMap((one) => one.points.map(([, value]) => value));
  const highest = values.reduce((most, value) => Math.max(most, value), 1) * 1.05;
  stepChart(box, series, { ...about, highest, height: HEIGHT });
}
