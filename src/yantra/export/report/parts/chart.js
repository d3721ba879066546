// A chart over time in SVG: steps or lines with areas, axes, and the values under the pointer.

import { el, svg } from "./dom.js";
import { svgButton } from "./download.js";
import { formatTime, shortTime, ticksBetween } from "./format.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const LEFT = 74;
const RIGHT = 12;
const TOP = 24; // with what the values are
const BOTTOM = 38; // with marks and what they are

// Draws `make(width)` into a box, again whenever its width changes.
export function drawnToFit(box, make) {
  let drawn = 0;
  const draw = () => {
    const width = Math.max(Math.floor(box.clientWidth), 280);
    if (width === drawn) return;
    drawn = width;
    const made = make(width);
    box.replaceChildren(...made);
    for (const picture of box.querySelectorAll("svg")) picture.after(svgButton(picture));
  };
  new ResizeObserver(draw).observe(box);
  draw();
}

// Returns the picture of `series`: [{name, series (class), points: [[ns, value], ...]}], where a
// value holds until the next point. `about` is {end, highest, height, axis: what the values are,
// unit: value -> text, label} and {limit: {value, name}}, if there is one, as a line of its own; marks
// are multiples of `whole`; {marks: [{ns, name}]}, lines at times; {along: logTimes(...)}, if time is
// not to go from 0 to `end`.
export function stepChart(series, about, width) {
  const plot = { width: width - LEFT - RIGHT, height: about.height - TOP - BOTTOM };
  const along = about.along ?? timesTo(about.end);
  const x = (ns) => LEFT + along.at(ns) * plot.width;
  const y = (value) => TOP + plot.height * (1 - value / about.highest);
  const parts = [...axes(about, along, plot, x, y, width)];
  for (const one of series) {
    const outline = steps(thinned(one.points, along, plot.width), about.end, x, y);
    const area = `M${x(one.points[0]?.[0] ?? 0)},${y(0)}L${outline}L${x(about.end)},${y(0)}Z`;
    if (series.length <= 2) parts.push(svg("path", { d: area, class: `area ${one.series}` }));
    parts.push(svg("path", { d: `M${outline}`, class: `curve ${one.series}` }));
  }
  if (about.limit) parts.push(...limitLine(about.limit, y(about.limit.value), width));
  (about.marks ?? []).forEach((mark, at) => parts.push(...markLine(mark, x(mark.ns), plot, at)));
  const line = svg("line", {
    class: "cursor",
    y1: TOP,
    y2: TOP + plot.height,
    visibility: "hidden",
  });
  const picture = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${about.height}`,
      height: about.height,
      role: "img",
      "aria-label": about.label,
    },
    ...parts,
    line,
  );
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / plot.width;
    if (share < 0 || share > 1) return;
    const ns = along.from(share);
    line.setAttribute("x1", x(ns));
    line.setAttribute("x2", x(ns));
    line.setAttribute("visibility", "visible");
    const told = series.map((one) => `${one.name}: ${about.unit(valueAt(one.points, ns))}`);
    showTooltip(
      [`${along.word} ${formatTime(Math.round(ns))}`, ...told].join("\n"),
      event.clientX,
      event.clientY,
    );
  });
  picture.addEventListener("pointerleave", () => {
    line.setAttribute("visibility", "hidden");
    hideTooltip();
  });
  return picture;
}

function timesTo(end) {
  return {
    at: (ns) => ns / end,
    from: (share) => share * end,
    ticks: (wanted) => ticksBetween(0, end, wanted).values,
    name: "time",
    word: "at",
  };
}

// Times from `low` to `high` by their logarithm, marked at 1, 2 and 5 times powers of ten.
export function logTimes(low, high, name) {
  const span = Math.log(high / low);
  return {
    at: (ns) => Math.min(Math.max(Math.log(Math.max(ns, low) / low) / span, 0), 1),
    from: (share) => low * Math.exp(share * span),
    ticks: (wanted) => {
      const powers = [];
      for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
        powers.push(power);
      const fine = powers.flatMap((power) => [power, 2 * power, 5 * power]);
      const inside = (all) => all.filter((ns) => ns >= low && ns <= high);
      if (inside(fine).length > wanted) return inside(powers);
      return inside(fine).length > 2 ? inside(fine) : ticksBetween(low, high, wanted).values;
    },
    name,
    word: "within",
  };
}

function markLine(mark, x, plot, at) {
  const [y1, y2] = [TOP, TOP + plot.height];
  const isRight = x > LEFT + plot.width / 2;
  const place = { x: isRight ? x - 4 : x + 4, y: y2 - 6 - 14 * at };
  return [
    svg("line", { class: "limit", x1: x, x2: x, y1, y2 }),
    svg("text", { ...place, "text-anchor": isRight ? "end" : "start" }, mark.name),
  ];
}

function limitLine(limit, y, width) {
  return [
    svg("line", { class: "limit", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }),
    svg("text", { x: width - RIGHT - 4, y: y + 14, "text-anchor": "end" }, limit.name),
  ];
}

export function legendOf(series) {
  const keys = series.map((one) =>
    el("li", { class: "key" }, el("span", { class: `swatch ${one.series}` }), one.name),
  );
  return el("ul", { class: "legend" }, ...keys);
}

function* axes(about, along, plot, x, y, width) {
  const whole = about.whole ?? 1; // what a mark is a round number of
  const marks = ticksBetween(0, about.highest / whole, Math.max(plot.height / 36, 2)).values;
  for (const value of marks.map((mark) => mark * whole)) {
    yield svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) });
    yield text(about.unit(value), LEFT - 8, y(value) + 4, "end");
  }
  for (const value of along.ticks(plot.width / 120)) {
    yield svg("line", {
      class: "axis",
      x1: x(value),
      x2: x(value),
      y1: TOP + plot.height,
      y2: TOP + plot.height + 4,
    });
    yield text(shortTime(value), x(value), about.height - BOTTOM + 16, "middle");
  }
  yield text(about.axis, 4, 12, "start");
  yield text(along.name, (LEFT + width - RIGHT) / 2, about.height - 6, "middle");
  yield svg("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(0), y2: y(0) });
}

function text(content, x, y, anchor) {
  return svg("text", { x, y, "text-anchor": anchor }, content);
}

function steps(points, end, x, y) {
  const parts = [];
  points.forEach(([ns, value], at) => {
    const until = at + 1 < points.length ? points[at + 1][0] : end;
    parts.push(
      `${x(ns).toFixed(1)},${y(value).toFixed(1)}`,
      `${x(until).toFixed(1)},${y(value).toFixed(1)}`,
    );
  });
  return parts.join("L");
}

// Keeps the lowest and the highest value of each pixel, so that no peak is lost.
function thinned(points, along, width) {
  if (points.length <= 2 * width) return points;
  const kept = [];
  let at = 0;
  while (at < points.length) {
    const pixel = Math.floor(along.at(points[at][0]) * width);
    let [low, high] = [at, at];
    let next = at;
    while (next < points.length && Math.floor(along.at(points[next][0]) * width) === pixel) {
      if (points[next][1] < points[low][1]) low = next;
      if (points[next][1] > points[high][1]) high = next;
      next += 1;
    }
    for (const place of [...new Set([at, low, high, next - 1])].sort((a, b) => a - b))
      kept.push(points[place]);
    at = next;
  }
  return kept;
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
