"""What a chart shows: pixels in the colour of each curve, its ends, places of its values."""

from __future__ import annotations

from tests.browser.chromium import Page

_INKED = """(() => {
  const { plot } = document.querySelector('BOX');
  const { canvas } = plot.ctx;
  const { data } = plot.ctx.getImageData(0, 0, canvas.width, canvas.height);
  return plot.series.slice(1).map((one) => {
    const parts = [1, 3, 5].map((at) => parseInt(one.stroke().slice(at, at + 2), 16));
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      const isOwn = parts.every((part, k) => Math.abs(data[at + k] - part) < 3);
      if (isOwn && data[at + 3] > 200) count += 1;
    }
    return count;
  });
})()"""


def inked(page: Page, box: str) -> list[int]:
    """Pixels of a chart in the colour of each of its series; a later curve may cover an earlier."""
    page.settle()
    found: list[int] = page.evaluate(_INKED.replace("BOX", box))
    return found


def shown(page: Page, box: str) -> list[float]:
    """Ends of what a chart shows, along."""
    page.settle()
    found: list[float] = page.evaluate(
        f"(x => [x.min, x.max])(document.querySelector('{box}').plot.scales.x)"
    )
    return found


def told(page: Page) -> str:
    """What is under the cursor."""
    page.settle()
    text: str = page.evaluate("(e => e && !e.hidden ? e.textContent : '')"
                              "(document.querySelector('.tooltip'))")  # fmt: skip
    return text


def place(page: Page, box: str, x: float, y: float) -> tuple[float, float]:
    """Where in the window a value of a chart is."""
    page.evaluate(f"document.querySelector('{box}').scrollIntoView({{block: 'center'}})")
    page.settle()
    found: list[float] = page.evaluate(
        f"(u => {{ const at = u.over.getBoundingClientRect();"
        f" return [at.left + u.valToPos({x}, 'x'), at.top + u.valToPos({y}, 'y')]; }})"
        f"(document.querySelector('{box}').plot)"
    )
    return found[0], found[1]
