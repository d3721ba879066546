// The page of `yantra ui`: sends the controls when one changes, and shows the last answer.

import { questionInAddress, questionOf, remember } from "./address.js";
import { pictures, shownPlans, shownRun } from "./answer.js";
import { apply, complain, form, hasPlaceFor, setUpControls, settle } from "./controls.js";
import { byId, el } from "./dom.js";
import { setUpTheme } from "./theme.js";

const PAUSE_MS = 300; // while one types

let asked = 0; // the number of the last question; older answers are not shown
let lastRun; // what ends the run under way
let plansOf = ""; // the question whose best plans are shown
const underWay = new Set(); // what ends each request under way

class Wrong extends Error {
  constructor(answer) {
    super(answer.error);
    this.control = answer.control ?? "";
    this.seen = answer.pictures === undefined ? [] : [pictures(answer)];
  }
}

async function send(path, body, signal) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  const answer = await response.json();
  if (!response.ok) throw new Wrong(answer);
  return answer;
}

async function post(path, ending) {
  underWay.add(ending);
  byId("stop").disabled = false;
  try {
    return await send(path, questionOf(form()), ending.signal);
  } catch (error) {
    if (ending.signal.aborted) throw new Error("Stopped.");
    throw error instanceof TypeError ? new Error("The server does not answer.") : error;
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
  remember(questionOf(form()), form());
  complain("", "");
  dim(byId("answer"), true);
  byId("best")?.classList.toggle("old", plansOf !== "" && plansOf !== searched());
  byId("status").classList.remove("warnings");
  tell("Running ...");
  try {
    const content = shownRun(await post(`/${form().dataset.act}`, lastRun));
    if (number === asked) show(content, "");
  } catch (error) {
    if (number === asked) fail(error);
  }
  if (number === asked) document.documentElement.dataset.runs = number;
}

function show(content, problem) {
  tell(problem);
  byId("status").classList.toggle("warnings", problem !== "");
  dim(byId("answer"), false);
  byId("answer").replaceChildren(...content);
}

// What was stopped leaves the answer to an older question, dimmed; a wrong question has none.
function fail(error) {
  if (error.message === "Stopped." && byId("answer").hasChildNodes()) {
    tell("Stopped. Below is the answer to an earlier question.");
    byId("answer").removeAttribute("aria-busy");
  } else if (hasPlaceFor(error.control)) {
    complain(error.control, error.message);
    show([], `No answer: see ${error.control.replace("_", " ")}.`);
  } else {
    show(error.seen ?? [], error.message);
  }
}

function tell(text) {
  byId("status").textContent = text;
}

function dim(box, isOld) {
  box.classList.toggle("old", isOld);
  if (isOld) box.setAttribute("aria-busy", "true");
  else box.removeAttribute("aria-busy");
}

// Returns what a search for plans depends on: all but the plan.
function searched() {
  const question = questionOf(form());
  const { tp, pp, vpp, cp, ep, zero, micro_batch, recompute, ...others } = question;
  return JSON.stringify({ ...others, schedule: "", more: "", ignore_memory: "" });
}

async function plan() {
  const box = byId("best");
  const question = searched();
  byId("plan").disabled = true;
  dim(box, true);
  box.prepend(el("p", { role: "status", class: "note" }, "Searching ..."));
  let content;
  try {
    content = shownPlans(await post("/plan", new AbortController()), use);
  } catch (error) {
    content = [el("p", { class: "warnings", role: "alert" }, error.message)];
  }
  plansOf = question;
  dim(box, question !== searched());
  box.removeAttribute("aria-busy");
  box.replaceChildren(...content);
  byId("plan").disabled = false;
  document.documentElement.dataset.plans = "yes";
}

function use(values) {
  apply(values);
  run();
}

async function copied(control, name) {
  return (await send("/copy", { control, name })).text;
}

// Asks the question of the address, or what the page begins with.
function ask() {
  const question = questionInAddress();
  form().reset();
  if (question === null) settle();
  else apply(question);
  run();
}

async function share() {
  const button = byId("share");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
}

// The address holds the question, so links to sections only move the page.
function setUpLinks() {
  for (const link of document.querySelectorAll("a[href^='#']")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const to = byId(link.getAttribute("href").slice(1));
      to.scrollIntoView();
      to.setAttribute("tabindex", "-1");
      to.focus({ preventScroll: true });
    });
  }
}

function start() {
  setUpTheme();
  setUpLinks();
  setUpControls(copied, run);
  let timer;
  form().addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(run, PAUSE_MS);
  });
  addEventListener("hashchange", ask);
  byId("plan")?.addEventListener("click", plan);
  byId("stop").addEventListener("click", stop);
  byId("share").addEventListener("click", share);
  document.documentElement.dataset.ready = "yes";
  ask();
}

start();
