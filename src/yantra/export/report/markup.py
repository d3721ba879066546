"""HTML as values: every text is escaped unless it is `Html` already, as names come from users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

_VOID = frozenset({"br", "input", "meta", "link", "rect", "line", "path", "circle"})


class Html(str):
    __slots__ = ()


Content = str | Html | None


def safe(content: Content) -> Html:
    if content is None:
        return Html("")
    return content if isinstance(content, Html) else Html(escape(content))


def join(parts: Iterable[Content]) -> Html:
    return Html("".join(safe(part) for part in parts))


def element(tag: str, *children: Content, **attributes: str | int | float | bool | None) -> Html:
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        written.append(f" {key}" if value is True else f' {key}="{escape(str(value))}"')
    head = f"<{tag}{''.join(written)}>"
    return Html(head if tag in _VOID else f"{head}{join(children)}</{tag}>")


class Cell(NamedTuple):
    """A cell whose column is sorted by `key`, not by its text."""

    text: Content
    key: float | str | None = None


class Head(NamedTuple):
    """A column's head; `about` is its tooltip."""

    text: str
    is_number: bool = True
    about: str | None = None


def table(name: str, heads: Sequence[Head], rows: Iterable[Sequence[Any]], shown: int = 12) -> Html:
    """A table that its heads sort; rows beyond `shown` are folded away."""
    top = [
        element(
            "th",
            element("button", head.text, type="button"),
            scope="col",
            class_="number" if head.is_number else None,
            title=head.about,
        )
        for head in heads
    ]
    body = [
        element("tr", *_cells(heads, row), class_="more" if at >= shown else None)
        for at, row in enumerate(rows)
    ]
    if not body:
        return element("p", f"{name}: none.", class_="note")
    whole = element(
        "table",
        element("caption", name),
        element("thead", element("tr", *top)),
        element("tbody", *body),
        class_="sortable",
    )
    more = element(
        "button",
        f"Show all {len(body):,} rows",
        type="button",
        class_="show-more",
        aria_expanded="false",
    )
    return element("div", whole, more if len(body) > shown else None, class_="table")


def _cells(heads: Sequence[Head], row: Sequence[Any]) -> list[Html]:
    cells = []
    for head, value in zip(heads, row, strict=True):
        cell = value if isinstance(value, Cell) else Cell(value)
        kind = "number" if head.is_number else None
        cells.append(element("td", cell.text, class_=kind, data_key=cell.key))
    return cells


_WIDE = 160  # characters that get a line of their own


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    return element(
        "dl",
        *[
            element(
                "div",
                element("dt", term),
                element("dd", value),
                class_="wide" if isinstance(value, str) and len(value) > _WIDE else None,
            )
            for term, value in pairs
        ],
        class_="facts",
    )
