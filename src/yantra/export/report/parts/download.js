// Buttons that save what is on the page: a table as CSV, a chart as SVG.
//
// An SVG that leaves the page has no style sheet, so it takes along how each of its elements looks.

import { el, svg } from "./dom.js";

const LOOK = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "opacity",
  "visibility",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
];

export function csvButton(table) {
  const name = table.caption?.textContent ?? "table";
  return button("CSV", `Save the table "${name}" as CSV`, () =>
    save(csvOf(table), `${fileName(name)}.csv`, "text/csv;charset=utf-8"),
  );
}

export function svgButton(picture) {
  const name = picture.getAttribute("aria-label") ?? "chart";
  return button("SVG", `Save the chart "${name}" as SVG`, () =>
    save(svgOf(picture), `${fileName(name)}.svg`, "image/svg+xml"),
  );
}

function button(text, label, onclick) {
  return el("button", { type: "button", class: "export", "aria-label": label, onclick }, text);
}

function save(text, name, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function fileName(text) {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
}

// All rows, in the order that is shown, as RFC 4180 has it.
function csvOf(table) {
  const rows = [...table.rows].map((row) => [...row.cells].map((cell) => field(cell.textContent)));
  return rows.map((row) => `${row.join(",")}\r\n`).join("");
}

function field(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function svgOf(picture) {
  const copy = picture.cloneNode(true);
  const originals = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, at) => {
    const style = getComputedStyle(originals[at]);
    for (const property of LOOK) node.setAttribute(property, style.getPropertyValue(property));
    node.removeAttribute("class");
  });
  const { width, height } = picture.getBoundingClientRect();
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = getComputedStyle(document.body).backgroundColor;
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: paper }));
  return new XMLSerializer().serializeToString(copy);
}
