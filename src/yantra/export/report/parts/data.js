// The data of the page: JSON at once, columns of numbers when they are unpacked (see columns.py).

import { byId } from "./dom.js";

let about = null;

export function pageData() {
  about ??= JSON.parse(byId("page-data").textContent);
  return about.page;
}

// Unpacks the columns; resolves to a `Columns`.
export async function loadColumns() {
  pageData();
  const packed = bytesOf(byId("page-columns").textContent.trim());
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const texts = JSON.parse(new TextDecoder().decode(bytes.subarray(about.texts_at)));
  return new Columns(about.columns, bytes, texts);
}

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export class Columns {
  constructor(directory, bytes, texts) {
    this.directory = directory;
    this.bytes = bytes;
    this.texts = texts;
    this.known = new Map();
  }

  has(name) {
    return name in this.directory;
  }

  // Returns a column as a Float64Array, read when it is first asked for.
  numbers(name) {
    if (!this.known.has(name)) this.known.set(name, this.read(name));
    return this.known.get(name);
  }

  // Returns the text of a number in a column of texts, null for none.
  text(number) {
    return number === 0 ? null : this.texts[number - 1];
  }

  read(name) {
    const [offset, count, planes, form] = this.directory[name];
    const bytes = this.bytes.subarray(offset, offset + count * planes);
    if (form === "real") return reals(bytes, count);
    const numbers = new Float64Array(count);
    for (let plane = planes - 1; plane >= 0; plane -= 1) {
      const from = plane * count;
      for (let at = 0; at < count; at += 1) numbers[at] = numbers[at] * 256 + bytes[from + at];
    }
    unfold(numbers, form === "delta");
    return numbers;
  }
}

// Moves the sign back from the lowest bit and adds differences up, in place.
function unfold(numbers, areDifferences) {
  let sum = 0;
  for (let at = 0; at < numbers.length; at += 1) {
    const half = Math.floor(numbers[at] / 2);
    const value = numbers[at] % 2 === 0 ? half : -half - 1;
    sum = areDifferences ? sum + value : value;
    numbers[at] = sum;
  }
}

function reals(bytes, count) {
  const mixed = new Uint8Array(count * 8);
  for (let plane = 0; plane < 8; plane += 1) {
    for (let at = 0; at < count; at += 1) mixed[at * 8 + plane] = bytes[plane * count + at];
  }
  return new Float64Array(mixed.buffer);
}
