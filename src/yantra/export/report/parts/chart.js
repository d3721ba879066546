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
// are multiples of `whole`.
export function stepChart(series, about, width) {
  const plot = { width: width - LEFT - RIGHT, height: about.height - TOP - BOTTOM };
  const x = (ns) => LEFT + (ns / about.end) * plot.width;
  const y = (value) => TOP + plot.height * (1 - value / about.highest);
  const parts = [...axes(about, plot, x, y, width)];
  for (const one of series) {
    const outline = steps(thinned(one.points, about.end, plot.width), about.end, x, y);
    const area = `M${x(0)},${y(0)}L${outline}L${x(about.end)},${y(0)}Z`;
    if (series.length <= 2) parts.push(svg("path", { d: area, class: `area ${one.series}` }));
    parts.push(svg("path", { d: `M${outline}`, class: `curve ${one.series}` }));
  }
  if (about.limit) parts.push(...limitLine(about.limit, y(about.limit.value), width));
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
    const ns = ((event.clientX - box.left - LEFT) / plot.width) * about.end;
    if (ns < 0 || ns > about.end) return;
    line.setAttribute("x1", x(ns));
    line.setAttribute("x2", x(ns));
    line.setAttribute("visibility", "visible");
    const told = series.map((one) => `${one.name}: ${about.unit(valueAt(one.points, ns))}`);
    showTooltip(
      [`at ${formatTime(Math.round(ns))}`, ...told].join("\n"),
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

function* axes(about, plot, x, y, width) {
  const whole = about.whole ?? 1; // what a mark is a round number of
  const marks = ticksBetween(0, about.highest / whole, Math.max(plot.height / 36, 2)).values;
  for (const value of marks.map((mark) => mark * whole)) {
    yield svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) });
    yield text(about.unit(value), LEFT - 8, y(value) + 4, "end");
  }
  for (const value of ticksBetween(0, about.end, plot.width / 120).values) {
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
  yield text("time", (LEFT + width - RIGHT) / 2, about.height - 6, "middle");
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
function thinned(points, end, width) {
  if (points.length <= 2 * width) return points;
  const kept = [];
  let at = 0;
  while (at < points.length) {
    const pixel = Math.floor((points[at][0] / end) * width);
    let [low, high] = [at, at];
    let next = at;
    while (next < points.length && Math.floor((points[next][0] / end) * width) === pixel) {
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
