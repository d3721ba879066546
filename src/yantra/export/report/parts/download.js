// Buttons that save what is on the page: a table as CSV, a chart or bars as SVG.
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

const [BAR, ROW, TEXT] = [800, 50, 13]; // of saved bars, in pixels

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

// The stacked bars in a box, with what is said beside them and their key, which is next to the box.
export function barsButton(box) {
  const [before, behind] = [box.previousElementSibling, box.nextElementSibling];
  const isKey = before.classList.contains("legend");
  const title = (isKey ? box.closest("section").querySelector("h2") : before).textContent;
  return button("SVG", `Save the bars "${title}" as SVG`, () =>
    save(
      new XMLSerializer().serializeToString(picturedBars(box, isKey ? before : behind)),
      `${fileName(title)}.svg`,
      "image/svg+xml",
    ),
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

// All rows, in the order that is shown, as RFC 4180 has it, without cells of controls.
function csvOf(table) {
  const rows = [...table.rows].map((row) =>
    [...row.cells]
      .filter((cell) => !cell.classList.contains("control"))
      .map((cell) => field(cell.textContent)),
  );
  return rows.map((row) => `${row.join(",")}\r\n`).join("");
}

function field(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function svgOf(picture) {
  const copy = lookingAlike(picture);
  const { width, height } = picture.getBoundingClientRect();
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(paper());
  return new XMLSerializer().serializeToString(copy);
}

function lookingAlike(picture) {
  const copy = picture.cloneNode(true);
  const originals = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, at) => {
    const style = getComputedStyle(originals[at]);
    for (const property of LOOK) node.setAttribute(property, style.getPropertyValue(property));
    node.removeAttribute("class");
  });
  return copy;
}

function paper() {
  const fill = getComputedStyle(document.body).backgroundColor;
  return svg("rect", { width: "100%", height: "100%", fill });
}

function inWords(element) {
  return [...element.childNodes].map((node) => node.textContent.trim()).join(", ");
}

function picturedBars(box, legend) {
  const { color, fontFamily } = getComputedStyle(box);
  const look = { fill: color, "font-family": fontFamily, "font-size": TEXT };
  const words = (x, y, text) => svg("text", { x, y, ...look }, text);
  const parts = [...box.querySelectorAll(".bar")].flatMap((bar, at) => {
    const copy = lookingAlike(bar);
    const place = { x: 0, y: ROW * at + 20, width: BAR, height: 18 };
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
    const said = [".bar-name", ".bar-text"].map((one) => bar.parentElement.querySelector(one));
    const text = said.filter(Boolean).map(inWords).join(": ");
    return [words(0, ROW * at + 14, text), copy];
  });
  let y = ROW * box.querySelectorAll(".bar").length + 20;
  for (const key of legend.querySelectorAll(".key")) {
    const fill = getComputedStyle(key.querySelector(".swatch")).backgroundColor;
    parts.push(svg("rect", { x: 0, y: y - 10, width: 12, height: 12, fill }));
    parts.push(words(18, y, key.textContent));
    y += 18;
  }
  return svg("svg", { width: BAR, height: y, viewBox: `0 0 ${BAR} ${y}` }, paper(), ...parts);
}
