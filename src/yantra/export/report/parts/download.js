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
  return pictureButton(`the chart "${name}"`, name, () => svgOf(picture));
}

// The bars in a box, with what is said beside them and their key. `head` returns a first line.
export function barsButton(box, head = null) {
  const [before, key] = [box.previousElementSibling, keyOf(box)];
  const title = inWords(isKey(before) ? box.closest("section").querySelector("h2, h3") : before);
  return pictureButton(`the bars "${title}"`, title, () =>
    picturedBars(box, key, head === null ? [] : [head(title)]),
  );
}

function isKey(element) {
  return element !== null && element.classList.contains("legend");
}

// The key is next to the box, or one for several boxes.
function keyOf(box) {
  const near = [box.previousElementSibling, box.nextElementSibling];
  return near.find(isKey) ?? box.closest("section").querySelector(".legend");
}

// Saves an SVG that is drawn when the button is pressed; the file is called by the title.
export function pictureButton(what, title, drawn) {
  return button("SVG", `Save ${what} as SVG`, async () =>
    save(
      new XMLSerializer().serializeToString(await drawn()),
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
  return copy;
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

function picturedBars(box, legend, heads) {
  const { color, fontFamily } = getComputedStyle(box);
  const look = { fill: color, "font-family": fontFamily, "font-size": TEXT };
  const words = (x, y, text) => svg("text", { x, y, ...look }, text);
  const top = 20 * heads.length;
  const bars = [...box.querySelectorAll("svg")];
  const parts = bars.flatMap((bar, at) => {
    const copy = lookingAlike(bar);
    const place = { x: 0, y: top + ROW * at + 20, width: BAR, height: 18 };
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
    const said = [".bar-name", ".bar-text"].map((one) => bar.parentElement.querySelector(one));
    const text = said.filter(Boolean).map(inWords).join(": ");
    return [words(0, top + ROW * at + 14, text), copy];
  });
  parts.unshift(...heads.map((text, at) => words(0, 20 * at + 14, text)));
  let y = top + ROW * bars.length + 20;
  for (const key of legend.querySelectorAll(".key")) {
    const fill = getComputedStyle(key.querySelector(".swatch")).backgroundColor;
    parts.push(svg("rect", { x: 0, y: y - 10, width: 12, height: 12, fill }));
    parts.push(words(18, y, key.textContent));
    y += 18;
  }
  return svg("svg", { width: BAR, height: y, viewBox: `0 0 ${BAR} ${y}` }, paper(), ...parts);
}
