"""Rows of a picture: each with its name before it and what it says behind it."""

from __future__ import annotations

from yantra.export.report.markup import Html, element


def bar_row(name: str, text: str, drawn: Html) -> Html:
    """Return what is drawn with its name before it and a text behind it."""
    return element(
        "div",
        element("span", name, class_="bar-name", title=name),
        drawn,
        element("span", text, class_="bar-text"),
        class_="bar-row",
    )
