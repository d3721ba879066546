// Points of a chart: which is under the cursor, and whose names there is room for.

import { write } from "./chart.js";
import { uPlot } from "./uplot.js";

const NEAR = 24; // pixels from a point that are still it

// Returns the point nearest to the cursor, null if none is near. `place` is where one is, in pixels.
export function nearest(u, points, place) {
  const away = (point) => {
    const [x, y] = place(point);
    return Math.hypot(x - u.cursor.left, y - u.cursor.top);
  };
  const found = points.reduce((best, one) => (best && away(best) <= away(one) ? best : one), null);
  return found && away(found) <= NEAR ? found : null;
}

// Returns where an arrow key takes the cursor: to the next point, from none to the first.
export function nextPlace(u, points, place, by) {
  const at = points.indexOf(nearest(u, points, place)) + by;
  const next = points[Math.min(Math.max(at, 0), points.length - 1)];
  return next ? place(next) : [-10, -10];
}

// Writes names beside their points, {name, x, y} in pixels of the canvas, as far as none covers another.
export function writeNames(u, named) {
  const { left, top, width, height } = u.bbox;
  const size = 14 * uPlot.pxRatio;
  const taken = [];
  u.ctx.save();
  u.ctx.font = u.axes[0].font[0];
  for (const { name, x, y } of named) {
    if (x < left || x > left + width || y < top || y > top + height) continue;
    const long = u.ctx.measureText(name).width;
    const isRight = x + size + long > left + width;
    const box = [isRight ? x - size / 2 - long : x + size / 2, y - size, long, size];
    if (box[0] < left || taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    write(u, name, box[0], y - size / 2, "left");
  }
  u.ctx.restore();
}

function overlap([x, y, width, height], [left, top, long, high]) {
  return x < left + long && left < x + width && y < top + high && top < y + height;
}
