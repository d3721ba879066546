// What the page shows of an answer: figures, pictures, what would help, and the best plans.

import { barsButton, csvButton } from "./download.js";
import { el, svg } from "./dom.js";
import { formatPercent } from "./format.js";

const PICTURES = [
  ["time", "Where the time goes", "Each moment of a rank counts once; the rest is idle."],
  ["memory", "Memory of a device", "The dashed line is what a device has."],
  ["step", "The step over time", "Each row is a stage of the pipeline, from start to end."],
  ["spent", "Where a request's time went", "Parts of the time from arrival to the last token."],
  ["phases", "Phases", "What each group of GPUs does; bars end with the step."],
  ["waits", "Where GPUs wait", "Shares of the time of all GPUs, by what they wait for."],
];

export function shownRun(answer) {
  const isLong = ([name]) => name === "rests on" || name === "";
  const figures = answer.lines
    .filter((line) => !isLong(line))
    .map(([name, text, about]) =>
      el("div", { title: about || null }, el("dt", {}, name), el("dd", {}, text)),
    );
  const rests = answer.lines
    .filter(isLong)
    .map(([name, text, about]) => el("p", { class: "note rests", title: about || null }, name ? `${name}: ${text}` : text));
  const said = answer.said ? ` ${answer.said}` : "";
  const interval = answer.interval && `${said} (${answer.interval} in 90 of 100 such jobs)`;
  return [
    el(
      "p",
      {},
      el("span", { class: "makespan" }, answer.time),
      el("span", { class: "unit interval" }, interval || `${said} without an interval`),
    ),
    el("p", { class: "bound" }, answer.bound),
    el("dl", { class: "facts" }, ...figures),
    ...rests,
    el("p", { class: "note" }, answer.ran),
    ...answer.warnings.map((text) => el("p", { class: "warnings" }, text)),
    pictures(answer),
    ...(answer.gains.length > 0 ? [gains(answer.gains)] : []),
    el("p", { class: "open" }, el("a", { href: answer.report, target: "_blank" }, "Open the report")),
  ];
}

// Returns the pictures that an answer has; that to a step that does not fit has one.
export function pictures(answer) {
  const known = PICTURES.filter(([kind]) => kind in answer.pictures);
  return el("div", { class: "pictures" }, ...known.map((one) => picture(answer, ...one)));
}

// The server escapes every text of a picture.
function picture(answer, kind, title, about) {
  const box = el("section", { class: `picture ${kind}`, "aria-label": title });
  box.innerHTML = answer.pictures[kind];
  box.prepend(el("h3", { title: about }, title));
  const bars = box.querySelector(".bars");
  if (bars !== null) bars.after(barsButton(bars));
  return box;
}

function gains(rows) {
  const drawn = rows.map(([text, share, left]) => [text, formatPercent(share), left, bar(text, share)]);
  return table("What the run would gain", ["with", "shorter by", "the run takes", ""], drawn);
}

function bar(text, share) {
  const told = `${text}: ${formatPercent(share)}`;
  const box = svg("rect", { width: `${100 * share}%`, height: "100%", class: "gain" });
  const attributes = { class: "bar", role: "img", "aria-label": told };
  return svg("svg", attributes, svg("title", {}, told), box);
}

// `use` is called with the controls of a plan that is chosen.
export function shownPlans(answer, use) {
  const names = Object.keys(answer.plans[0].set).filter((name) => hasAny(answer.plans, name));
  const words = ["time", "interval", "wins", "mfu", "tokens_per_s", "memory", "usd_per_million_tokens"];
  const heads = ["time", "90 %", "wins", "MFU", "tokens/s", "memory", "USD/Mtoken"];
  const rows = answer.plans.map((one) => [
    el("button", { type: "button", class: "use", onclick: () => use(one.set) }, "Use"),
    ...words.map((name) => one[name]),
    ...names.map((name) => one.set[name]),
  ]);
  return [
    el("p", { class: "note" }, `${answer.judged}.`),
    table(
      "The best plans, the fastest first",
      ["", ...heads, ...names.map((name) => name.replace("_", " "))],
      rows,
    ),
  ];
}

function hasAny(plans, name) {
  return plans.some((one) => one.set[name] !== "");
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
