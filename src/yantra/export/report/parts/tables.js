// Tables: sorted by their heads, long ones unfolded on demand, saved as CSV.

import { csvButton } from "./download.js";

export function setUpTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => sort(table, head, column));
    });
    table.parentElement.append(csvButton(table));
  }
  for (const button of document.querySelectorAll(".show-more")) {
    const all = button.textContent;
    button.addEventListener("click", () => {
      const unfolded = button.parentElement.classList.toggle("unfolded");
      button.setAttribute("aria-expanded", String(unfolded));
      button.textContent = unfolded ? "Show fewer rows" : all;
    });
  }
}

function sort(table, head, column) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const shown = rows.filter((row) => !row.classList.contains("more")).length;
  const isNumber = head.classList.contains("number");
  const first = isNumber ? "descending" : "ascending";
  const now = head.getAttribute("aria-sort");
  const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", next);
  const sign = next === "ascending" ? 1 : -1;
  const keyed = rows.map((row) => [keyOf(row.cells[column]), row]);
  keyed.sort(([a], [b]) => sign * compare(a, b));
  keyed.forEach(([, row], at) => row.classList.toggle("more", at >= shown));
  body.append(...keyed.map(([, row]) => row));
}

function keyOf(cell) {
  const key = cell.dataset.key ?? cell.textContent;
  const number = Number(key);
  return key !== "" && Number.isFinite(number) ? number : key;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
