// A context of a canvas that draws into an SVG: what the timeline shows, as a file.
//
// It has what the painter and uPlot use and no more. A context that is never shown keeps its state, so
// colours read back, fonts and the widths of texts are those of the browser's own canvas.

import { svg } from "./dom.js";

const STATE = [
  "fillStyle",
  "strokeStyle",
  "lineWidth",
  "globalAlpha",
  "font",
  "textAlign",
  "textBaseline",
];
const ANCHORS = { left: "start", center: "middle", right: "end" };
const BASES = { top: "text-before-edge", bottom: "text-after-edge" };
const FONT = /^(?:(\d+) )?([\d.]+px) (.+)$/;
const COLOUR = /^rgba\((.+), ([\d.]+)\)$/;

// Stands in for Path2D, which cannot be read back.
class TracedPath {
  constructor(other) {
    this.path = other?.path ?? "";
  }

  arc(x, y, r) {
    this.path += `M${short(x - r)} ${short(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }

  closePath() {
    this.path += "z";
  }
}

// Runs `make`, whose canvas draws into an SVG instead, until the drawing that it began is done.
// Returns its result, and the picture as a function of its size and paper.
export async function traced(make) {
  const context = new SvgContext();
  const canvases = HTMLCanvasElement.prototype;
  const [getContext, path] = [canvases.getContext, globalThis.Path2D];
  try {
    canvases.getContext = function () {
      return Object.assign(context, { canvas: this });
    };
    globalThis.Path2D = TracedPath;
    const result = make();
    await null; // it draws in a microtask that is older than this one
    const picture = (width, height, paper) => {
      context.into.prepend(svg("rect", { width, height, fill: paper }));
      return context.finished(width, height);
    };
    return { picture, result };
  } finally {
    canvases.getContext = getContext;
    globalThis.Path2D = path;
  }
}

export class SvgContext {
  constructor() {
    this.into = svg("svg");
    this.outer = [];
    this.clips = 0;
    this.path = "";
    this.state = document.createElement("canvas").getContext("2d");
  }

  // Returns what was drawn as a picture of a size.
  finished(width, height) {
    this.into.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.into.setAttribute("width", width);
    this.into.setAttribute("height", height);
    return this.into;
  }

  save() {
    this.state.save();
    this.outer.push(this.into);
  }

  restore() {
    this.state.restore();
    this.into = this.outer.pop();
  }

  measureText(text) {
    return this.state.measureText(text);
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.path += `${this.path === "" ? "M" : "L"}${short(x)} ${short(y)}`; // as a canvas begins
  }

  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }

  // Until `restore`, what is drawn goes into a group that the path clips.
  clip(path = this) {
    this.clips += 1;
    const id = `clip-${this.clips}`;
    const group = svg("g", { "clip-path": `url(#${id})` });
    this.into.append(svg("clipPath", { id }, svg("path", { d: path.path })), group);
    this.into = group;
  }

  stroke(path = this) {
    this.into.append(svg("path", { d: path.path, ...this.line() }));
  }

  fill(path = this) {
    this.into.append(svg("path", { d: path.path, ...this.inside() }));
  }

  clearRect() {}

  translate(x, y) {
    this.state.translate(x, y);
  }

  rotate(angle) {
    this.state.rotate(angle);
  }

  setLineDash(dashes) {
    this.state.setLineDash(dashes);
  }

  strokeRect(x, y, width, height) {
    this.into.append(svg("rect", { ...box(x, y, width, height), ...this.line() }));
  }

  fillRect(x, y, width, height) {
    this.into.append(svg("rect", { ...box(x, y, width, height), ...this.inside() }));
  }

  fillText(text, x, y) {
    const [, weight, size, family] = FONT.exec(this.state.font);
    const look = {
      "font-family": family,
      "font-size": size,
      "font-weight": weight,
      "text-anchor": ANCHORS[this.state.textAlign],
      "dominant-baseline": BASES[this.state.textBaseline] ?? "central",
    };
    this.into.append(svg("text", { x: short(x), y: short(y), ...this.inside(), ...look }, text));
  }

  inside() {
    const [, rgb, alpha = 1] = COLOUR.exec(this.state.fillStyle) ?? [];
    const opacity = alpha * this.state.globalAlpha;
    return {
      fill: rgb ? `rgb(${rgb})` : this.state.fillStyle,
      "fill-opacity": opacity < 1 ? short(opacity) : null,
      transform: this.moved(),
    };
  }

  line() {
    const { strokeStyle, lineWidth } = this.state;
    const look = { fill: "none", stroke: strokeStyle, "stroke-width": lineWidth };
    const dashes = this.state.getLineDash().map(short).join(" ") || null;
    return { ...look, "stroke-dasharray": dashes, transform: this.moved() };
  }

  moved() {
    const { isIdentity, a, b, c, d, e, f } = this.state.getTransform();
    return isIdentity ? null : `matrix(${[a, b, c, d, e, f].map(short).join(" ")})`;
  }
}

for (const name of ["moveTo", "lineTo", "rect"]) {
  TracedPath.prototype[name] = SvgContext.prototype[name];
}

for (const name of STATE) {
  Object.defineProperty(SvgContext.prototype, name, {
    get() {
      return this.state[name];
    },
    set(value) {
      this.state[name] = value;
    },
  });
}

function box(x, y, width, height) {
  return { x: short(x), y: short(y), width: short(width), height: short(height) };
}

// A hundredth of a pixel is finer than can be seen.
function short(number) {
  return Math.round(number * 100) / 100;
}
