"""The picture docs/accuracy.svg: each measured step of the package against what the default says.

Written as SVG text, so it is the same on every machine; `python -m docs.generate` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10
from pathlib import Path
from statistics import median

from yantra.accuracy.default import Ours, held_out_widths, judge, recorded

FILE = Path(__file__).resolve().parent / "accuracy.svg"
_LEFT, _TOP, _SIDE = 70, 20, 460
_WIDTH, _HEIGHT = 800, 540
_DECADES = (-2, 3)  # of seconds: 10 ms to 1,000 s
_TICKS = ("10 ms", "100 ms", "1 s", "10 s", "100 s", "1,000 s")
_INSIDE, _OUTSIDE, _INK = "#2f6fb2", "#c2410c", "#333"


def inside(found: Sequence[Ours], stated: Sequence[float]) -> list[bool]:
    """Return of each step whether its measured time is within its interval."""
    ends = (one.within(width) for one, width in zip(found, stated, strict=True))
    return [low <= one.row.seconds <= high for one, (low, high) in zip(found, ends, strict=True)]


def stated_of(found: Sequence[Ours]) -> list[float]:
    """Return the half-width of each step, without the steps of its model."""
    widths = held_out_widths(found)
    return [widths[one] for one in found]


def words(found: Sequence[Ours], stated: Sequence[float]) -> list[str]:
    """Return the legend's lines."""
    within = sum(inside(found, stated))
    whole = judge(found).whole
    return [
        f"{len(found):,} measured training steps",
        f"{len({one.row.machine for one in found})} kinds of machines",
        f"{len({one.row.dataset for one in found})} published data sets",
        "",
        f"{within:,} inside their 90 % interval",
        f"{len(found) - within:,} outside",
        f"({100 * whole.covered:.0f} % inside if each",
        "data set has one vote)",
        "",
        f"mean error {100 * whole.mean:.1f} %, framework",
        "unknown to the prediction",
        "",
        "shaded: the median interval",
    ]


def svg() -> str:
    """Return the picture of the last recorded run."""
    found = recorded()
    stated = stated_of(found)
    ends = zip(found, stated, strict=True)
    widest = median(one.within(width)[1] / one.seconds for one, width in ends)
    legend = words(found, stated)
    about = ", ".join(filter(None, legend))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" font-family="sans-serif" '
        f'font-size="13" fill="{_INK}">',
        f"<title>Predicted against measured: {about}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        *_frame(widest),
        *_points(found, inside(found, stated)),
        *_legend(legend),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _x(seconds: float) -> float:
    first, last = _DECADES
    return _LEFT + _SIDE * (log10(seconds) - first) / (last - first)


def _y(seconds: float) -> float:
    return _TOP + _SIDE + _LEFT - _x(seconds)


def _frame(widest: float) -> Iterator[str]:
    """Yield the band of an interval of that ratio, and the axes."""
    low, high = (10.0**decade for decade in _DECADES)
    ends = [
        (low, low),
        (low, low * widest),
        (high / widest, high),
        (high, high),
        (high, high / widest),
        (low * widest, low),
    ]
    corners = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in ends)
    yield f'<polygon points="{corners}" fill="{_INSIDE}" opacity="0.13"/>'
    yield f'<path d="{_line(low, low, high, high)}" stroke="{_INK}" stroke-dasharray="4 4"/>'
    for at, name in enumerate(_TICKS):
        tick = 10.0 ** (_DECADES[0] + at)
        yield f'<path d="{_line(tick, low, tick, high)}" stroke="{_INK}" opacity="0.15"/>'
        yield f'<path d="{_line(low, tick, high, tick)}" stroke="{_INK}" opacity="0.15"/>'
        foot = _TOP + _SIDE + 18
        yield f'<text x="{_x(tick):.0f}" y="{foot}" text-anchor="middle">{name}</text>'
        yield f'<text x="{_LEFT - 8}" y="{_y(tick) + 4:.0f}" text-anchor="end">{name}</text>'
    middle = _LEFT + _SIDE // 2
    yield f'<text x="{middle}" y="{_HEIGHT - 16}" text-anchor="middle">measured</text>'
    yield f'<text x="{_LEFT + 8}" y="{_TOP + 18}">predicted</text>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f"M{_x(x):.1f} {_y(y):.1f}L{_x(to_x):.1f} {_y(to_y):.1f}"


def _points(found: Sequence[Ours], are_in: Sequence[bool]) -> Iterator[str]:
    for chosen, colour in ((True, _INSIDE), (False, _OUTSIDE)):
        yield f'<g fill="{colour}" fill-opacity="0.55">'
        places = (
            (_x(one.row.seconds), _y(one.seconds))
            for one, is_in in zip(found, are_in, strict=True)
            if is_in is chosen
        )
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)
        yield "</g>"


def _legend(lines: Sequence[str]) -> Iterator[str]:
    left = _LEFT + _SIDE + 34
    for at, text in enumerate(lines):
        y = _TOP + 24 + 21 * at
        yield f'<text x="{left}" y="{y}">{text}</text>'
        if "inside their" in text or text.endswith("outside"):
            colour = _INSIDE if "inside" in text else _OUTSIDE
            yield f'<circle cx="{left - 12}" cy="{y - 4}" r="5" fill="{colour}"/>'
