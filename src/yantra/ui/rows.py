"""Rows of a picture: name, drawing, text."""

from __future__ import annotations

from yantra.export.report.markup import Html, element


def bar_row(name: str, text: str, drawn: Html) -> Html:
    return element(
        "div",
        element("span", name, class_="bar-name", title=name),
        drawn,
        element("span", text, class_="bar-text"),
        class_="bar-row",
    )
