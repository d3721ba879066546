// A context of a canvas that draws into an SVG: what the timeline shows, as a file.
//
// It has what the painter uses and no more. A context that is never shown keeps its state, so
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
const FONT = /^(?:(\d+) )?([\d.]+px) (.+)$/;

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
    this.path += `L${short(x)} ${short(y)}`;
  }

  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }

  // Until `restore`, what is drawn goes into a group that the path clips.
  clip() {
    this.clips += 1;
    const id = `clip-${this.clips}`;
    const group = svg("g", { "clip-path": `url(#${id})` });
    this.into.append(svg("clipPath", { id }, svg("path", { d: this.path })), group);
    this.into = group;
  }

  stroke() {
    this.into.append(svg("path", { d: this.path, ...this.line() }));
  }

  strokeRect(x, y, width, height) {
    this.into.append(svg("rect", { ...box(x, y, width, height), ...this.line() }));
  }

  fillRect(x, y, width, height) {
    this.into.append(svg("rect", { ...box(x, y, width, height), ...this.fill() }));
  }

  fillText(text, x, y) {
    const [, weight, size, family] = FONT.exec(this.state.font);
    const look = {
      "font-family": family,
      "font-size": size,
      "font-weight": weight,
      "text-anchor": ANCHORS[this.state.textAlign],
      "dominant-baseline": "central",
    };
    this.into.append(svg("text", { x: short(x), y: short(y), ...this.fill(), ...look }, text));
  }

  fill() {
    const { fillStyle, globalAlpha } = this.state;
    const opacity = globalAlpha < 1 ? short(globalAlpha) : null;
    return { fill: fillStyle, "fill-opacity": opacity };
  }

  line() {
    const { strokeStyle, lineWidth } = this.state;
    return { fill: "none", stroke: strokeStyle, "stroke-width": lineWidth };
  }
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
