// The timeline: what is in view, and what pointer, wheel, keys and buttons do to it.

import { colourings } from "./colours.js";
import { Details } from "./details.js";
import { byId, el } from "./dom.js";
import { pictureButton } from "./download.js";
import { formatCount, formatTime } from "./format.js";
import { nameOf, Painter } from "./painter.js";
import { AXIS, PATH, Rows } from "./rows.js";
import { Found } from "./search.js";
import { colour, onTheme } from "./theme.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const GUTTER = 176;
const HIGHEST = 620;
const LEAST_SPAN = 20;
const NEAR = 4; // pixels
const ZOOM = 1.5;

export class Timeline {
  constructor(job, path, waits) {
    this.job = job;
    this.path = path;
    this.canvas = byId("timeline-canvas");
    this.scroll = byId("timeline-scroll");
    this.rows = new Rows(job, path !== null);
    this.painter = new Painter(this.canvas, job, this.rows);
    this.colourings = colourings(job);
    this.details = new Details(job, path, waits, (target) => this.goTo(target));
    this.selected = null;
    this.found = null;
    this.foundAt = -1;
    this.current = 0;
    this.pending = false;
    const first = this.colourings.find((way) => way.name === "phase") ?? this.colourings[0];
    this.state = { colouring: first, showsPath: path !== null };
    [this.from, this.to] = [0, Math.max(job.makespan, LEAST_SPAN) * 1.005];
    this.setUpControls();
    this.setUpPointer();
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.scroll.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroll);
    onTheme(() => {
      this.painter.takeColours();
      this.paint();
    });
    this.showLegend();
    byId("timeline-legend").after(
      pictureButton("what the timeline shows", "timeline", () => this.picture()),
    );
    this.layOut();
  }

  get top() {
    return AXIS + (this.state.showsPath ? PATH : 0);
  }

  // Gives the canvas the height of its rows, or as much as fits; the rest is scrolled.
  layOut() {
    const whole = this.top + this.rows.height + 4;
    this.height = Math.min(whole, HIGHEST, Math.max(innerHeight - 190, 240));
    this.scroll.style.height = `${this.height}px`;
    byId("timeline-all").style.height = `${Math.max(whole, this.height)}px`;
    this.draw();
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    this.painter.paint(this.view());
    this.status();
  }

  picture() {
    return this.painter.picture(
      this.view(),
      this.keys().map(([text, name]) => [text, colour(name)]),
    );
  }

  view() {
    return {
      from: this.from,
      to: this.to,
      gutter: GUTTER,
      width: this.scroll.clientWidth,
      height: this.height,
      scroll: this.scroll.scrollTop,
      colouring: this.state.colouring,
      selected: this.selected,
      found: this.found,
      path: this.state.showsPath ? this.path : null,
    };
  }

  status() {
    const from = formatTime(this.job.ns(Math.max(this.from, 0)));
    const to = formatTime(this.job.ns(Math.min(this.to, this.job.makespan)));
    const text = `In view: ${from} to ${to} of ${formatTime(this.job.ns(this.job.makespan))}`;
    const status = byId("timeline-status");
    if (status.textContent !== text) status.textContent = text;
  }

  time(x) {
    const scale = (this.scroll.clientWidth - GUTTER) / (this.to - this.from);
    return this.from + (x - GUTTER) / scale;
  }

  setView(from, to) {
    const most = Math.max(this.job.makespan, LEAST_SPAN) * 1.005;
    const span = Math.min(Math.max(to - from, LEAST_SPAN), most);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - span / 2, 0), most - span);
    this.to = this.from + span;
    this.draw();
  }

  zoom(factor, about = (this.from + this.to) / 2) {
    const from = about - (about - this.from) / factor;
    this.setView(from, from + (this.to - this.from) / factor);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.setView(this.from + by, this.to + by);
  }

  fit() {
    this.setView(0, this.job.makespan * 1.005);
  }

  select(target) {
    this.selected = target;
    if (target) this.details.tell(target);
    else this.details.clear();
    this.draw();
  }

  // Selects a node, unfolds its class and brings it into view; `rank` shows the class as that rank.
  goTo(target, rank = null) {
    const one = this.job.classes[target.at];
    if (rank !== null) one.asRank = rank;
    if (!one.shown) return;
    if (!this.rows.unfolded.has(one.at)) {
      this.rows.toggle(one.at);
      this.layOut();
    }
    const { start, end } = this.job.times(target.at);
    const [begin, past] = [start[target.node], end[target.node]];
    const span = this.to - this.from;
    if (past - begin > span || past - begin < span / 400) {
      const wide = Math.max((past - begin) * 12, LEAST_SPAN);
      this.setView((begin + past) / 2 - wide / 2, (begin + past) / 2 + wide / 2);
    } else if (begin < this.from || past > this.to) {
      this.setView((begin + past) / 2 - span / 2, (begin + past) / 2 + span / 2);
    }
    this.reveal(this.rows.heightOf(target.at, target.node));
    this.select(target);
  }

  reveal(y) {
    const room = this.height - this.top;
    if (y < this.scroll.scrollTop + 20 || y > this.scroll.scrollTop + room - 30) {
      this.scroll.scrollTop = Math.max(0, y - room / 3);
    }
  }

  setUpControls() {
    byId("zoom-in").addEventListener("click", () => this.zoom(ZOOM));
    byId("zoom-out").addEventListener("click", () => this.zoom(1 / ZOOM));
    byId("zoom-fit").addEventListener("click", () => this.fit());
    byId("unfold").addEventListener("click", () => this.unfoldAll());
    this.setUpSearch();
    this.setUpRank();
    const choice = byId("colour");
    choice.append(...this.colourings.map((way, at) => el("option", { value: at }, way.name)));
    choice.value = this.colourings.indexOf(this.state.colouring);
    choice.addEventListener("change", () => {
      this.state.colouring = this.colourings[Number(choice.value)];
      this.showLegend();
      this.draw();
    });
    if (this.path === null) byId("path-label").hidden = true;
    byId("show-path").addEventListener("change", (event) => {
      this.state.showsPath = event.target.checked && this.path !== null;
      this.layOut();
    });
  }

  // Returns what the colours mean: pairs of a text and the name of its colour.
  keys() {
    const { legend, classes } = this.state.colouring;
    return legend.map((text, at) => [text, classes[at]]).filter(([text]) => text !== null);
  }

  showLegend() {
    const keys = this.keys().map(([text, name]) =>
      el("li", { class: "key" }, el("span", { class: `swatch ${name}` }), text),
    );
    byId("timeline-legend").replaceChildren(...keys);
  }

  unfoldAll() {
    const button = byId("unfold");
    const all = button.getAttribute("aria-pressed") !== "true";
    this.rows.unfolded = new Set(all ? this.job.classes.map((one) => one.at) : []);
    button.setAttribute("aria-pressed", String(all));
    button.textContent = all ? "Fold all" : "Unfold all";
    this.rows.lay();
    this.layOut();
  }

  setUpSearch() {
    const box = byId("search");
    box.addEventListener("input", () => this.search(box.value));
    byId("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.step(1);
    });
    byId("search-previous").addEventListener("click", () => this.step(-1));
  }

  search(wanted) {
    this.found = wanted.trim() === "" ? null : new Found(this.job, wanted);
    this.foundAt = -1;
    const none = !this.found || this.found.isEmpty;
    for (const id of ["search-next", "search-previous"]) byId(id).disabled = none;
    this.tellFound();
    this.draw();
  }

  tellFound() {
    const { found, foundAt } = this;
    const count = found ? found.list.length : 0;
    const at = foundAt >= 0 ? `${formatCount(foundAt + 1)} of ` : "";
    byId("search-found").textContent = found
      ? count
        ? `${at}${formatCount(count)} found`
        : "none found"
      : "";
  }

  step(by) {
    if (!this.found || this.found.isEmpty) return;
    const count = this.found.list.length;
    this.foundAt = this.foundAt < 0 && by < 0 ? count - 1 : (this.foundAt + by + count) % count;
    this.tellFound();
    this.goTo(this.found.list[this.foundAt]);
  }

  setUpRank() {
    const box = byId("rank");
    box.max = String(this.job.ranks - 1);
    box.addEventListener("change", () => {
      const rank = Number(box.value);
      const isRank =
        box.value !== "" && Number.isInteger(rank) && rank >= 0 && rank < this.job.ranks;
      box.setCustomValidity(isRank || box.value === "" ? "" : `0 to ${this.job.ranks - 1}`);
      box.reportValidity();
      if (isRank) this.showRank(rank);
    });
  }

  // Shows the class of a rank as that rank, with its own peers and groups.
  showRank(rank) {
    const one = this.job.classOf(rank);
    one.asRank = rank;
    if (one.shown && !this.rows.unfolded.has(one.at)) {
      this.rows.toggle(one.at);
      this.layOut();
    }
    this.current = one.at;
    this.scroll.scrollTop = this.rows.groups[one.at].y;
    if (this.selected?.at === one.at) this.details.tell(this.selected);
    this.draw();
  }

  setUpPointer() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", hideTooltip);
  }

  // The wheel zooms where the timeline has the focus or Ctrl is held; else the page scrolls.
  wheel(event) {
    const focused = document.activeElement === this.canvas;
    if (event.offsetX < GUTTER || !(focused || event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
    } else {
      this.zoom(Math.exp(-event.deltaY * 0.0022), this.time(event.offsetX));
    }
  }

  press(event) {
    if (event.button !== 0) return;
    const { canvas } = this;
    const [x, from, to] = [event.offsetX, this.from, this.to];
    const scale = (to - from) / (this.scroll.clientWidth - GUTTER);
    const zooms = event.shiftKey;
    let moved = false;
    canvas.setPointerCapture(event.pointerId);
    const move = (next) => {
      if (Math.abs(next.offsetX - x) > 3) moved = true;
      if (moved && !zooms && x >= GUTTER) {
        canvas.classList.add("dragging");
        this.setView(from - (next.offsetX - x) * scale, to - (next.offsetX - x) * scale);
      }
    };
    const release = (last) => {
      canvas.removeEventListener("pointermove", move);
      canvas.classList.remove("dragging");
      if (!moved) this.click(last);
      else if (zooms) {
        const ends = [this.time(x), this.time(last.offsetX)].sort((a, b) => a - b);
        this.setView(...ends);
      }
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", release, { once: true });
  }

  // Returns what lies under the pointer: a step of the path, a node, or the head of a class.
  under(event) {
    const time = this.time(event.offsetX);
    const y = event.offsetY;
    if (y < this.top) {
      const step = this.state.showsPath && y > AXIS ? this.path.at(time) : null;
      return step === null ? null : { step };
    }
    const inRows = y - this.top + this.scroll.scrollTop;
    if (event.offsetX < GUTTER) return { group: this.rows.groupAt(inRows) };
    const slack = (NEAR * (this.to - this.from)) / (this.scroll.clientWidth - GUTTER);
    const target = this.rows.nodeAt(inRows, time, slack);
    return target ? { target } : { group: null, empty: true };
  }

  click(event) {
    const hit = this.under(event);
    if (!hit) return;
    if (hit.step !== undefined) this.goToStep(hit.step);
    else if (hit.target) this.select(hit.target);
    else if (hit.group) this.toggle(hit.group.one.at);
    else this.select(null);
  }

  toggle(at) {
    this.current = at;
    this.rows.toggle(at);
    this.layOut();
  }

  goToStep(step) {
    const target = this.path.targetOf(step);
    if (target) this.goTo(target, this.path.rank[step]);
    else this.setView(this.path.start[step], this.path.end[step]);
  }

  hover(event) {
    const hit = event.buttons ? null : this.under(event);
    if (hit?.target) showTooltip(this.told(hit.target), event.clientX, event.clientY);
    else if (hit?.step !== undefined)
      showTooltip(this.path.told(hit.step), event.clientX, event.clientY);
    else hideTooltip();
  }

  told({ at, node }) {
    const one = this.job.classes[at];
    const { start, end } = this.job.times(at);
    const long = formatTime(this.job.ns(end[node] - start[node]));
    return `${one.nodes.name(node)} (${one.nodes.id(node)})\n${nameOf(one)}: ${long} from ${formatTime(this.job.ns(start[node]))}`;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      "+": () => this.zoom(ZOOM),
      "=": () => this.zoom(ZOOM),
      "-": () => this.zoom(1 / ZOOM),
      ArrowLeft: () => this.pan(-0.15),
      ArrowRight: () => this.pan(0.15),
      ArrowUp: () => this.moveTo(this.current - 1),
      ArrowDown: () => this.moveTo(this.current + 1),
      0: () => this.fit(),
      Home: () => this.fit(),
      n: () => this.neighbour(1),
      p: () => this.neighbour(-1),
      Enter: () => this.toggle(this.current),
      Escape: () => this.select(null),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  moveTo(at) {
    this.current = Math.min(Math.max(at, 0), this.job.classes.length - 1);
    this.reveal(this.rows.groups[this.current].y);
    byId("timeline-status").textContent = `At ${nameOf(this.job.classes[this.current])}`;
  }

  // Selects the next or previous node in the lane of the selected one, or the first in view.
  neighbour(by) {
    const at = this.selected?.at ?? this.current;
    if (!this.job.classes[at].shown) return;
    const node = this.selected?.node ?? null;
    const lanes = this.rows.lanesOf(at).flat();
    const lane = lanes.find((one) => node === null || one.nodes.includes(node));
    if (lane === undefined) return; // a receive has no row
    const place = node === null ? lane.firstEndingAfter(this.from) : lane.nodes.indexOf(node) + by;
    if (place >= 0 && place < lane.count) this.goTo({ at, node: lane.nodes[place] });
  }
}
