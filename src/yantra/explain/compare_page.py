"""A comparison as one HTML file that opens offline: the words, two bars, and every table whole.

The page is that of the report of a run (`yantra.export.report.shell`): light and dark, printable,
tables that sort. Both bars have one scale, so the shorter run is the shorter bar.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from yantra.base.units import format_size, format_time
from yantra.explain.compare_words import (
    carried,
    count_of,
    names_of,
    ranges_of,
    signed,
    value_of,
)
from yantra.explain.compare_words import sentences as sentences_of
from yantra.explain.named import figure_cells
from yantra.explain.parts import PART_TEXTS, kind_text
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.shell import Page, Section, render

_SCRIPTS = ("plain.js",)
_STYLES = ("report.css",)
_SIDES = ("a", "b")


def page(data: Mapping[str, Any]) -> str:
    """Return the file of a comparison (`Comparison.data`)."""
    names = [data[side]["name"] for side in _SIDES]
    makespan = data["makespan_ns"]
    head = element(
        "section",
        element(
            "p",
            element("span", signed(makespan["change"]), class_="makespan"),
            element("span", f" from {names[0]} to {names[1]}", class_="unit"),
        ),
        *[element("p", text, class_="note") for text in names_of(data)],
        *[element("p", text, class_="bound") for text in sentences_of(data)],
        _figures(data),
        _missing(data["missing"]),
        id="top",
        aria_label="The comparison",
    )
    sections = [
        Section("path", "Critical path", _PATH, _paths(data)),
        Section("scenario", "Scenario", "What differs.", _scenario(data)),
        Section("ranks", "Ranks", "Where the time of the average rank goes.", _ranks(data)),
        Section("collectives", "Collectives", _MEANS, _collectives(data)),
        Section("dimensions", "Dimensions", "", _dimensions(data)),
        Section("nodes", "Nodes", _MEANS, _nodes(data)),
    ]
    title = f"{_titled(data['a'])} and {_titled(data['b'])}"
    return render(Page(title, head, sections, _SCRIPTS, _STYLES))


def _titled(side: Mapping[str, Any]) -> str:
    """Return the name of a result, with the model and the cluster where it says them."""
    ran = side.get("what_ran") or {}
    told = " on ".join(str(ran[key]) for key in ("model", "cluster") if ran.get(key))
    return f"{side['name']} ({told})" if told else str(side["name"])


_PATH = (
    "What the end of each run waited for. A path is as long as its run, so the changes of its "
    "parts add up to the change."
)
_MEANS = "Times are those of the average rank."


def _figures(data: Mapping[str, Any]) -> Html:
    heads = [Head("figure", False), Head("first"), Head("second"), Head("change")]
    cells = [list(row) for row in figure_cells(data["figures"])]
    return table("Figures", heads, cells) if cells else Html("")


def _missing(texts: Sequence[str]) -> Html:
    if not texts:
        return Html("")
    items = [element("li", text) for text in texts]
    return element("div", element("h3", "Missing"), element("ul", *items), class_="warnings")


def _paths(data: Mapping[str, Any]) -> Html:
    path = data["critical_path"]
    if not path:
        return element("p", "One of the results holds no critical path.", class_="note")
    parts = [_legend(path["by_kind"]), _bars(data)]
    parts.append(
        _changes("By kind", "kind", [(kind_text(row["kind"]), row) for row in path["by_kind"]])
    )
    for member, key in (("by_phase", "phase"), ("by_name", "name")):
        rows = [(row[key] or f"(no {key})", row) for row in path.get(member, [])]
        parts.append(_changes(f"By {key}", key, rows) if rows else Html(""))
    return join(parts)


def _legend(kinds: Iterable[Mapping[str, Any]]) -> Html:
    items = [
        element(
            "li",
            element("span", class_=f"swatch step-{row['kind']}"),
            kind_text(row["kind"]),
            class_="key",
        )
        for row in kinds
        if row["a_ns"] or row["b_ns"]
    ]
    return element("ul", *items, class_="legend", aria_label="Colours")


def _bars(data: Mapping[str, Any]) -> Html:
    makespan = data["makespan_ns"]
    whole = max(makespan["a"], makespan["b"]) or 1
    bars = []
    for side in _SIDES:
        at, pieces = 0.0, []
        for row in data["critical_path"]["by_kind"]:
            width = 100 * row[f"{side}_ns"] / whole
            told = f"{kind_text(row['kind'])}: {format_time(row[f'{side}_ns'])}"
            box = element(
                "rect",
                x=f"{at:.3f}%",
                width=f"{width:.3f}%",
                height="100%",
                class_=f"step-{row['kind']}",
            )
            pieces.append(element("g", element("title", told), box))
            at += width
        name = data[side]["name"]
        label = f"{name}: {format_time(makespan[side])}"
        picture = element("svg", *pieces, role="img", aria_label=label, class_="bar")
        text = element("span", format_time(makespan[side]), class_="bar-text")
        row = (element("span", name, class_="bar-name"), picture, text)
        bars.append(element("div", *row, class_="bar-row"))
    return element("div", *bars, class_="bars")


def _changes(
    name: str, head: str, rows: Sequence[tuple[str, Mapping[str, Any]]], left_out: int = 0
) -> Html:
    """Return a table of times before and after, which sorts by each."""
    heads = [Head(head, False), Head("first"), Head("second"), Head("change")]
    cells = [
        [
            text,
            Cell(format_time(row["a_ns"]), row["a_ns"]),
            Cell(format_time(row["b_ns"]), row["b_ns"]),
            Cell(signed(row["change_ns"]), row["change_ns"]),
        ]
        for text, row in rows
    ]
    more = f"{left_out} more changed less." if left_out else None
    return join([table(name, heads, cells), element("p", more, class_="note") if more else None])


def _scenario(data: Mapping[str, Any]) -> Html:
    fields = [[row["field"], *(value_of(row[side]) for side in _SIDES)] for row in data["scenario"]]
    files = [[row["file"], row["a"], row["b"]] for row in data["inputs"]]
    heads = [Head("field", False), Head("first", False), Head("second", False)]
    of_files = [Head("file", False), Head("first: SHA-256", False), Head("second", False)]
    return join([table("Fields", heads, fields), table("Files that changed", of_files, files)])


def _ranks(data: Mapping[str, Any]) -> Html:
    parts = [(PART_TEXTS.get(row["part"], row["part"]), row) for row in data["ranks"]]
    ranks = [(ranges_of(row["ranks"]), row) for row in data["by_rank"]]
    return join(
        [
            _changes("The average rank", "part", parts),
            _changes("Ranks whose finish changed", "rank", ranks),
        ]
    )


def _collectives(data: Mapping[str, Any]) -> Html:
    def rows(member: str) -> list[tuple[str, Mapping[str, Any]]]:
        return [(_collective(row), row) for row in data[member]["rows"]]

    def left_out(member: str) -> int:
        return int(data[member]["in_all"]) - len(data[member]["rows"])

    return join(
        [
            _changes(title, "collective", rows(member), left_out(member))
            for member, title in (
                ("collectives", "By kind and size"),
                ("collectives_by_group", "By kind, group and size"),
            )
        ]
    )


def _collective(row: Mapping[str, Any]) -> str:
    group = f" in group {row['group']}" if row.get("group") else ""
    return f"{count_of(row)} {row['kind']}{group} {format_size(row['size_bytes'])}"


def _dimensions(data: Mapping[str, Any]) -> Html:
    heads = [
        Head("dimension"),
        Head("first: kind, size, carried, busy", False),
        Head("second", False),
    ]
    rows = [
        [str(row["dimension"]), *(carried(row[side]) for side in _SIDES)]
        for row in data["dimensions"]
    ]
    return table("Dimensions of the network", heads, rows)


def _nodes(data: Mapping[str, Any]) -> Html:
    found = data["nodes"]
    rows = [(f"{count_of(row)} {row['name']}", row) for row in found["rows"]]
    return _changes("By name", "node", rows, found["in_all"] - len(found["rows"]))
