"""Figures as SVG in plain text: bars and curves; published as outlines, Yantra's filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 50, 80
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_TICKS = 5
_LETTER = 6.5  # the width of one, on average
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.axis,.grid{stroke:#222}.grid{opacity:.15}"
    "svg{background:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}"
    ".axis,.grid{stroke:#ddd}svg{background:#111}}"
)


class Curve(NamedTuple):
    """A series over numbers: `published` as points, or none of them, `ours` as a line."""

    name: str
    x: tuple[float, ...]
    published: tuple[float, ...]
    ours: tuple[float, ...]


class Panel(NamedTuple):
    title: str
    body: list[str]


def write(path: str, title: str, panels: Sequence[Panel]) -> None:
    """Write panels below each other."""
    height = 24 + HEIGHT * len(panels)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">',
        f"<style>{_STYLE}</style>",
        f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for at, panel in enumerate(panels):
        lines.append(f'<g transform="translate(0 {24 + HEIGHT * at})">')
        lines.append(f'<text x="{LEFT}" y="16">{escape(panel.title)}</text>')
        lines += [*panel.body, "</g>"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "</svg>"]) + "\n")


def bars(
    title: str,
    unit: str,
    names: Sequence[str],
    published: Sequence[float],
    ours: Sequence[float],
    *,
    logarithmic: bool = False,
) -> Panel:
    """Return pairs of bars: published, then Yantra's."""
    scale, body = _axis([*published, *ours], unit, logarithmic)
    step = (WIDTH - LEFT - RIGHT) / len(names)
    is_crowded = _LETTER * max(map(len, names)) > step
    for at, (name, theirs, own) in enumerate(zip(names, published, ours, strict=True)):
        x = LEFT + step * at
        for place, value, look in (
            (0.15, theirs, f'fill="none" stroke="{COLOURS[0]}"'),
            (0.5, own, f'fill="{COLOURS[0]}"'),
        ):
            top = scale(value)
            body.append(
                f'<rect x="{x + step * place:.1f}" y="{top:.1f}" width="{step * 0.33:.1f}" '
                f'height="{HEIGHT - BOTTOM - top:.1f}" {look}/>'
            )
        middle, below = x + step / 2, HEIGHT - BOTTOM + 12
        turned = f' transform="rotate(-30 {middle:.1f} {below})"' if is_crowded else ""
        anchor = "end" if turned else "middle"
        body.append(
            f'<text x="{middle:.1f}" y="{below}" text-anchor="{anchor}"{turned}>'
            f"{escape(name)}</text>"
        )
    return Panel(
        title, [*body, *_legend([("published", COLOURS[0], False), ("Yantra", COLOURS[0], True)])]
    )


def curves(title: str, unit: str, x_unit: str, series: Sequence[Curve]) -> Panel:
    """Return curves over numbers."""
    values = [value for curve in series for value in (*curve.published, *curve.ours)]
    scale, body = _axis(values, unit, False)
    furthest = max(x for curve in series for x in curve.x)

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * x / furthest

    for curve, colour in zip(series, COLOURS, strict=False):
        points = " ".join(
            f"{across(x):.1f},{scale(y):.1f}" for x, y in zip(curve.x, curve.ours, strict=True)
        )
        body.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        body += [
            f'<circle cx="{across(x):.1f}" cy="{scale(y):.1f}" r="3" fill="none" '
            f'stroke="{colour}"/>'
            for x, y in zip(curve.x, curve.published, strict=bool(curve.published))
        ]
    for tick in range(_TICKS + 1):
        x = furthest * tick / _TICKS
        place = f'x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 14}"'
        body.append(f'<text {place} text-anchor="middle">{x:g}</text>')
    body.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - BOTTOM + 30}" text-anchor="middle">'
        f"{escape(x_unit)}</text>"
    )
    names = [(curve.name, colour, True) for curve, colour in zip(series, COLOURS, strict=False)]
    if any(curve.published for curve in series):
        title = f"{title}; points are published, lines Yantra's"
    return Panel(title, [*body, *_legend(names)])


def _axis(
    values: Sequence[float], unit: str, logarithmic: bool
) -> tuple[Callable[[float], float], list[str]]:
    bottom, span = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP
    if logarithmic:
        low, high = floor(log10(min(values))), ceil(log10(max(values)))
        ticks = [10.0**power for power in range(low, high + 1)]

        def scale(value: float) -> float:
            return bottom - span * (log10(value) - low) / max(high - low, 1)
    else:
        unit_step = 10.0 ** floor(log10(max(values) / _TICKS))
        step = unit_step * ceil(max(values) / _TICKS / unit_step)
        ticks = [step * at for at in range(_TICKS + 1)]

        def scale(value: float) -> float:
            return bottom - span * value / ticks[-1]

    body = [f'<text x="{LEFT - 6}" y="{TOP - 14}" text-anchor="end">{escape(unit)}</text>']
    for tick in ticks:
        y = scale(tick)
        body.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        body.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    body.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none"/>')
    return scale, body


def _legend(names: Sequence[tuple[str, str, bool]]) -> list[str]:
    body, x = [], float(LEFT)
    for name, colour, is_filled in names:
        look = f'fill="{colour if is_filled else "none"}" stroke="{colour}"'
        body.append(f'<rect x="{x:.0f}" y="24" width="9" height="9" {look}/>')
        body.append(f'<text x="{x + 13:.0f}" y="33">{escape(name)}</text>')
        x += 26 + _LETTER * len(name)
    return body
