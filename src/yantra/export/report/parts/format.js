// Numbers with units for people, as the tables of the page write them.

const TIMES = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
];
const BINARY = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];
const DECIMAL = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

export function formatTime(ns) {
  for (const [size, unit] of TIMES) {
    if (Math.abs(ns) >= size * 0.9999995) return `${(ns / size).toFixed(3)} ${unit}`;
  }
  return `${Number.isInteger(ns) ? ns : ns.toFixed(3)} ns`;
}

// Returns a time without zeros behind its point, for axes.
export function shortTime(ns) {
  if (ns === 0) return "0";
  return formatTime(ns)
    .replace(/(\.\d*?)0+ /, "$1 ")
    .replace(". ", " ");
}

export function formatBytes(bytes) {
  for (const [size, unit] of BINARY) {
    if (bytes >= size) {
      const value = bytes / size;
      return `${Number.isInteger(value) ? value : value.toFixed(2)} ${unit}`;
    }
  }
  return `${bytes} B`;
}

export function formatRate(perSecond, unit) {
  for (const [size, prefix] of DECIMAL) {
    if (perSecond >= size) return `${trimmed(perSecond / size)} ${prefix}${unit}`;
  }
  return `${trimmed(perSecond)} ${unit}`;
}

export function formatPercent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

export function formatCount(number) {
  return number.toLocaleString("en-US");
}

function trimmed(value) {
  return String(Number(value.toPrecision(4)));
}

// Returns round numbers between two values, about `wanted` of them.
export function ticksBetween(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-12); at += 1) {
    found.push(at * step);
  }
  return { step, values: found };
}
