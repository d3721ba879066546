// The page of `yantra ui`: sends the controls when one changes, and shows the last answer.

import { csvButton } from "./download.js";
import { byId, el } from "./dom.js";
import { formatPercent } from "./format.js";
import { setUpTheme } from "./theme.js";

const PAUSE_MS = 300; // while one types

let asked = 0; // the number of the last question; older answers are not shown
let lastRun; // what ends the run under way
const underWay = new Set(); // what ends each request under way

async function post(path, ending) {
  const form = Object.fromEntries(new FormData(byId("controls")));
  underWay.add(ending);
  byId("stop").disabled = false;
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(form),
      signal: ending.signal,
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  } catch (error) {
    throw ending.signal.aborted ? new Error("Stopped.") : error;
  } finally {
    underWay.delete(ending);
    byId("stop").disabled = underWay.size === 0;
  }
}

// Closes the connections, at which the server ends what runs for them.
function stop() {
  for (const ending of underWay) ending.abort();
}

async function run() {
  const number = ++asked;
  lastRun?.abort();
  lastRun = new AbortController();
  tell("Running ...");
  let content = [];
  let problem = "";
  try {
    content = shown(await post("/run", lastRun));
  } catch (error) {
    problem = error.message;
  }
  if (number !== asked) return;
  tell(problem);
  byId("answer").replaceChildren(...content);
  document.documentElement.dataset.runs = number;
}

function tell(text) {
  byId("status").textContent = text;
}

function shown(answer) {
  const figures = answer.figures.map(([name, text]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, text)),
  );
  const gains = answer.gains.map(([text, share]) => [text, formatPercent(share)]);
  return [
    el("p", {}, el("span", { class: "makespan" }, answer.time)),
    el("p", { class: "bound" }, answer.bound),
    el("dl", { class: "facts" }, ...figures),
    el("p", { class: "note" }, answer.ran),
    ...answer.warnings.map((text) => el("p", { class: "warnings" }, text)),
    table("What the run would gain", ["with", "shorter by"], gains),
    el("p", { class: "open" }, el("a", { href: answer.report, target: "_blank" }, "Open the report")),
  ];
}

async function plan() {
  const box = byId("best");
  byId("plan").disabled = true;
  box.replaceChildren(el("p", { role: "status" }, "Searching ..."));
  try {
    const answer = await post("/plan", new AbortController());
    const names = Object.keys(answer.plans[0].set);
    const rows = answer.plans.map((one) => [
      el("button", { type: "button", class: "use", onclick: () => use(one.set) }, "Use"),
      one.time,
      one.mfu,
      one.memory,
      ...names.map((name) => one.set[name]),
    ]);
    const heads = ["", "time", "MFU", "memory", ...names.map((name) => name.replace("_", " "))];
    box.replaceChildren(
      el("p", { class: "note" }, `${answer.judged}.`),
      table("The best plans, the fastest first", heads, rows),
    );
  } catch (error) {
    box.replaceChildren(el("p", { class: "warnings", role: "alert" }, error.message));
  }
  byId("plan").disabled = false;
  document.documentElement.dataset.plans = "yes";
}

function use(values) {
  for (const [name, value] of Object.entries(values)) byId("controls").elements[name].value = value;
  for (const slider of sliders()) follow(slider);
  run();
}

function sliders() {
  return document.querySelectorAll("input[data-sets]");
}

function boxOf(slider) {
  return byId("controls").elements[slider.dataset.sets];
}

// Sets the number of a slider.
function set(slider) {
  const number = 2 ** slider.value;
  boxOf(slider).value = number;
  slider.setAttribute("aria-valuetext", number);
}

// Moves a slider to the power of two that is nearest to its number.
function follow(slider) {
  const number = boxOf(slider).value;
  if (number > 0) slider.value = Math.round(Math.log2(number));
  slider.setAttribute("aria-valuetext", number || "usual");
}

function setUpSliders() {
  for (const slider of sliders()) {
    slider.addEventListener("input", () => set(slider));
    boxOf(slider).addEventListener("input", () => follow(slider));
  }
}

function table(name, heads, rows) {
  const top = heads.map((text) =>
    text ? el("th", { scope: "col" }, text) : el("td", { class: "control" }),
  );
  const body = rows.map((row) =>
    el(
      "tr",
      {},
      ...row.map((cell) => el("td", { class: cell instanceof Element ? "control" : null }, cell)),
    ),
  );
  const drawn = el(
    "table",
    {},
    el("caption", {}, name),
    el("thead", {}, el("tr", {}, ...top)),
    el("tbody", {}, ...body),
  );
  return el("div", { class: "table" }, drawn, csvButton(drawn));
}

function start() {
  setUpTheme();
  setUpSliders();
  let timer;
  const controls = byId("controls");
  controls.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(run, PAUSE_MS);
  });
  controls.addEventListener("submit", (event) => event.preventDefault());
  byId("plan").addEventListener("click", plan);
  byId("stop").addEventListener("click", stop);
  document.documentElement.dataset.ready = "yes";
  run();
}

start();
