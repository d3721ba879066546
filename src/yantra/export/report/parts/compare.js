// The last script of a comparison: one part of the time is shown in all timelines at once.

import { byId, el } from "./dom.js";
import { barsButton } from "./download.js";
import { formatTime, shortTime } from "./format.js";
import { setUpTables } from "./tables.js";
import { setUpTheme } from "./theme.js";

const MOST = 32; // times that the whole is wider than what is shown
const STEPS = 5; // of the axis

const pictures = [...document.querySelectorAll("svg.lane")];
const units = pictures[0].viewBox.baseVal.width;
const longest = Number(byId("axis").dataset.longest);
let zoom = 1;

function show(start) {
  const width = units / zoom;
  const first = Math.min(Math.max(start, 0), units - width);
  for (const picture of pictures) {
    const { height } = picture.viewBox.baseVal;
    picture.setAttribute("viewBox", `${first} 0 ${width} ${height}`);
  }
  const at = (share) => ((first + share * width) / units) * longest;
  const marks = [...Array(STEPS + 1).keys()].map((step) => shortTime(at(step / STEPS)));
  byId("axis").replaceChildren(...marks.map((text) => el("span", {}, text)));
  byId("window").textContent = `${formatTime(at(0))} to ${formatTime(at(1))}`;
  const slider = byId("from");
  slider.disabled = zoom === 1;
  slider.value = zoom === 1 ? 0 : (1000 * first) / (units - width);
  byId("in").disabled = zoom === MOST;
  byId("out").disabled = zoom === 1;
}

// Zooms about the middle of what is shown.
function zoomBy(factor) {
  const { x, width } = pictures[0].viewBox.baseVal;
  zoom = Math.min(Math.max(zoom * factor, 1), MOST);
  show(x + width / 2 - units / zoom / 2);
}

function setUpZoom() {
  byId("in").addEventListener("click", () => zoomBy(2));
  byId("out").addEventListener("click", () => zoomBy(0.5));
  byId("whole").addEventListener("click", () => zoomBy(0));
  byId("from").addEventListener("input", ({ target }) =>
    show((target.value / 1000) * (units - units / zoom)),
  );
  window.addEventListener("beforeprint", () => zoomBy(0));
  show(0);
}

setUpTheme();
setUpTables();
setUpZoom();
for (const box of document.querySelectorAll("#path .bars")) box.after(barsButton(box));
for (const box of document.querySelectorAll(".lanes .bars")) {
  box.after(barsButton(box, (title) => `${title}; shown: ${byId("window").textContent}`));
}
document.documentElement.dataset.ready = "yes";
