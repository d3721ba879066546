"""Stacked bars: rows of shares of one whole, also said in words.

They are SVG, so a page shows and prints them without scripts; a row has nothing to zoom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from yantra.export.report.markup import Html, element
from yantra.result.shares import percent, tenths


class Piece(NamedTuple):
    """A part of a bar: name, class in the style sheet, amount."""

    name: str
    style: str
    amount: float


def legend(pieces: Iterable[tuple[str, str]]) -> Html:
    items = [
        element("li", element("span", class_=f"swatch {style}"), name, class_="key")
        for name, style in pieces
    ]
    return element("ul", *items, class_="legend", aria_label="Colours")


def bar(pieces: Sequence[Piece], whole: float, told: str, show: Callable[[float], str]) -> Html:
    boxes, at = [], 0.0
    amounts = [piece.amount for piece in pieces]
    shares = tenths([*amounts, max(whole - sum(amounts), 0.0)])[:-1]
    for piece, share in zip(pieces, shares, strict=True):
        width = 100 * piece.amount / (whole or 1)
        if width > 0:
            title = element("title", f"{piece.name}: {show(piece.amount)}, {percent(share)}")
            box = element(
                "rect", x=f"{at:.3f}%", width=f"{width:.3f}%", height="100%", class_=piece.style
            )
            boxes.append(element("g", title, box))
        at += width
    return element("svg", *boxes, role="img", aria_label=told, class_="bar")


def row(
    name: str, about: str, pieces: Sequence[Piece], whole: float, show: Callable[[float], str]
) -> Html:
    """A bar with its name before it and its shares in words after it."""
    shares = "; ".join(
        f"{piece.name} {100 * piece.amount / (whole or 1):.0f} %"
        for piece in pieces
        if piece.amount >= 0.005 * whole > 0
    )
    return element(
        "div",
        element("span", name, element("small", f" {about}"), class_="bar-name", title=name),
        bar(pieces, whole, f"{name}: {shares}", show),
        element("span", shares, class_="bar-text"),
        class_="bar-row",
    )
