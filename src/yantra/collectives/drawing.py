"""A collective as a picture: a line for each position, an arrow for each message, red if it
adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from yantra.base.errors import ConfigError
from yantra.collectives.messages import Rounds

MOST_MESSAGES = 5_000
_LEFT, _TOP, _ROW = 90.0, 34.0, 26.0
_LEAST_ROUND = 60.0
_BETWEEN = 3.0  # messages of a round
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2937}"
    "line{stroke:#d1d5db}.copy{stroke:#2563eb}.add{stroke:#dc2626}"
    "@media(prefers-color-scheme:dark){svg{background:#111827}text{fill:#e5e7eb}"
    "line{stroke:#4b5563}.copy{stroke:#60a5fa}.add{stroke:#f87171}}"
)


def drawing(of: Rounds, title: str) -> str:
    """The SVG of a collective. Raises ConfigError where it has too many messages."""
    count = sum(len(round_) for round_ in of.rounds)
    if count > MOST_MESSAGES:
        problem = f"{count} messages are too many to draw"
        raise ConfigError(
            "--svg", f"{problem}; expected at most {MOST_MESSAGES}, so draw a smaller one"
        )
    widths = [max(_LEAST_ROUND, _BETWEEN * len(round_) + 40) for round_ in of.rounds]
    width, height = _LEFT + sum(widths) + 10, _TOP + _ROW * len(of.members)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label={quoteattr(title)}><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style><defs>{_tip('copy')}{_tip('add')}</defs>"
    )
    return "\n".join([head, *_lines(of, width), *_arrows(of, widths)]) + "\n</svg>\n"


def _tip(kind: str) -> str:
    shape = f'<path d="M0 0L6 3L0 6" class="{kind}" fill="none"/>'
    return (
        f'<marker id="{kind}" markerWidth="7" markerHeight="7" refX="6" refY="3" '
        f'orient="auto">{shape}</marker>'
    )


def _lines(of: Rounds, width: float) -> Iterator[str]:
    for at, name in enumerate(of.members):
        y = _height(at)
        yield f'<text x="6" y="{y + 4:.1f}">{escape(name)}</text>'
        yield f'<line x1="{_LEFT - 8:.1f}" y1="{y:.1f}" x2="{width:.1f}" y2="{y:.1f}"/>'


def _arrows(of: Rounds, widths: list[float]) -> Iterator[str]:
    left = _LEFT
    for number, (round_, width) in enumerate(zip(of.rounds, widths, strict=True)):
        yield f'<text x="{left:.1f}" y="16">round {number}</text>'
        for at, each in enumerate(round_):
            x, kind = left + _BETWEEN * at, "add" if each.reduce else "copy"
            tip = f"{of.members[each.src]} to {of.members[each.dst]}, {each.share} of the data"
            yield (
                f'<line class="{kind}" marker-end="url(#{kind})" x1="{x:.1f}" '
                f'y1="{_height(each.src):.1f}" x2="{x + 24:.1f}" y2="{_height(each.dst):.1f}">'
                f"<title>{escape(tip)}</title></line>"
            )
        left += width


def _height(position: int) -> float:
    return _TOP + _ROW * position
