"""What the buttons of a page save, caught before it becomes a file."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from tests.browser.chromium import Chromium, Page

_SAVED = """
new Promise((resolve) => {
  URL.createObjectURL = (blob) => { blob.text().then(resolve); return "blob:none"; };
  HTMLAnchorElement.prototype.click = function () {};
  document.querySelector(QUERY).click();
})
"""

# The two are compared on a page of their own: a report lets no image in.
_DIFFERENT = """
(async (addresses) => {
  const pixels = async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = new OffscreenCanvas(WIDTH, HEIGHT);
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff"; // the paper below what is transparent
    context.fillRect(0, 0, WIDTH, HEIGHT);
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, WIDTH, HEIGHT).data;
  };
  const [shown, saved] = [await pixels(addresses[0]), await pixels(addresses[1])];
  let count = 0;
  for (let at = 0; at < shown.length; at += 4) {
    if ([0, 1, 2].some((part) => Math.abs(shown[at + part] - saved[at + part]) > SHADE)) count += 1;
  }
  return (4 * count) / shown.length;
})(ADDRESSES)
"""


def saved(page: Page, query: str) -> str:
    text: str = page.evaluate(_SAVED.replace("QUERY", repr(query)))
    return text


def share_that_differs(
    browser: Chromium,
    page: Page,
    picture: str,
    folder: Path,
    shade: int = 48,
    canvas: str = "canvas",
) -> float:
    """Return the share of the canvas's pixels that an SVG has in another colour, 0 to 1. Another
    colour differs by more than `shade` of 255 in red, green or blue: edges are smoothed in
    different ways.
    """
    canvas = f"document.querySelector('{canvas}')"
    shown = page.evaluate(f"{canvas}.toDataURL()")
    empty = folder / "empty.html"
    empty.write_text("<!doctype html>")
    script = _DIFFERENT.replace("SHADE", str(shade))
    for name in ("width", "height"):
        script = script.replace(name.upper(), str(page.evaluate(f"{canvas}.{name}")))
    addresses = [shown, f"data:image/svg+xml;utf8,{quote(picture)}"]
    other = browser.open(empty, ready="true")
    found: float = other.evaluate(script.replace("ADDRESSES", json.dumps(addresses)))
    other.close()
    return found
