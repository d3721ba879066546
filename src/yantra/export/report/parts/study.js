// The page of a study: filters of its trials, and what the point one points at tells.

import { el } from "./dom.js";
import { svgButton } from "./download.js";
import { setUpTables } from "./tables.js";
import { setUpTheme } from "./theme.js";

const COLUMNS = { cluster: 1, ranks: 2 };

setUpTheme();
setUpTables();
setUpFilters();
setUpPoints();
for (const picture of document.querySelectorAll("svg.study")) picture.after(svgButton(picture));
document.documentElement.dataset.ready = "yes";

function setUpFilters() {
  const table = document.querySelector("#trials table");
  if (table === null) return;
  const rows = [...table.tBodies[0].rows];
  const choices = Object.entries(COLUMNS).map(([name, column]) => {
    const values = [...new Set(rows.map((row) => row.cells[column].textContent))];
    return [name, select(name, values), (row, value) => row.cells[column].textContent === value];
  });
  const states = ["on the front", "feasible", "not feasible"];
  choices.push(["trials", select("trials", states), (row, value) => isIn(row, value)]);
  const count = el("output", { class: "count" });
  const apply = () => {
    const active = choices.filter(([, control]) => control.value !== "");
    const shown = new Set();
    for (const row of rows) {
      row.hidden = !active.every(([, control, holds]) => holds(row, control.value));
      if (!row.hidden) shown.add(row.cells[0].textContent);
    }
    table.parentElement.classList.toggle("filtered", active.length > 0);
    for (const point of document.querySelectorAll("svg.study g[data-trial]")) {
      point.classList.toggle("away", !shown.has(point.dataset.trial));
    }
    count.textContent = `${shown.size} of ${rows.length} trials`;
  };
  const bar = el("p", { class: "filters" });
  for (const [name, control] of choices) {
    control.addEventListener("change", apply);
    bar.append(el("label", {}, `${name} `, control));
  }
  bar.append(count);
  table.parentElement.before(bar);
  apply();
}

function select(name, values) {
  const options = [["all", ""], ...values.map((value) => [value, value])];
  return el("select", { id: `filter-${name}` }, ...options.map((one) => new Option(...one)));
}

function isIn(row, state) {
  const is = row.dataset.state ?? stateOf(row);
  row.dataset.state = is;
  return state === "feasible" ? is !== "not feasible" : is === state;
}

function stateOf(row) {
  const said = row.cells[row.cells.length - 2].textContent;
  if (said === "front") return "on the front";
  return said === "" ? "feasible" : "not feasible";
}

function setUpPoints() {
  const told = document.querySelector("#told");
  for (const point of document.querySelectorAll("svg.study g[data-trial]")) {
    const tell = () => {
      told.textContent = point.querySelector("title").textContent;
    };
    point.addEventListener("pointerenter", tell);
    point.addEventListener("focus", tell);
  }
}
