"""Results beside each other as one HTML file that opens offline: words, bars, timelines, tables.

Changes are against the first result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from yantra.base.units import format_size, format_time
from yantra.explain.compare_words import carried, ranges_of, signed, times_of, value_of
from yantra.explain.compare_words import names_of as ran_of_pair
from yantra.explain.compare_words import sentences as sentences_of
from yantra.explain.comparison import MOST_ROWS
from yantra.explain.joined import Data, Joined, Row, joined, values
from yantra.explain.lanes_drawn import SCRIPTS, STYLES, drawn
from yantra.explain.named import figure_cells, ran_text
from yantra.explain.parts import listed
from yantra.explain.side_by_side_words import sure_of_others
from yantra.export.report.bars import Piece, bar, legend
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.shell import Page, Section, render
from yantra.export.stored import Form
from yantra.result.critical_path import kind_text
from yantra.result.parts import text_of


def page(pairs: Sequence[Data], forms: Sequence[Form] = ()) -> str:
    """The file of comparisons with one first result (`Comparison.data`)."""
    names = names_of(pairs)
    pictures = drawn(names, forms)
    sections = [
        Section("path", "Critical path", _PATH, _paths(pairs)),
        Section("scenario", "Scenario", "What differs.", _scenario(pairs)),
        Section("ranks", "Ranks", "Where the time of the average rank goes.", _ranks(pairs)),
        Section("collectives", "Collectives", _MEANS, _collectives(pairs)),
        Section("dimensions", "Dimensions", "", _dimensions(pairs)),
        Section("nodes", "Nodes", _MEANS, _nodes(pairs)),
    ]
    if pictures is not None:
        sections.insert(1, Section("timelines", "Timelines", _TIMELINES, pictures.boxes))
    sides = [pairs[0]["a"], *(data["b"] for data in pairs)]
    title = listed([_titled(name, side) for name, side in zip(names, sides, strict=True)])
    head = _head(pairs, names)
    if pictures is None:
        return render(Page(title, head, sections, ("plain.js",), STYLES))
    return render(Page(title, head, sections, SCRIPTS, STYLES, pictures.data, pictures.columns))


_PATH = (
    "What the end of each run waited for. A path is as long as its run, so the changes of its "
    "parts add up to the change."
)
_TIMELINES = (
    "All on the scale of the longest run; the line is the end of a run. Receives are left out, "
    "because most of them only wait."
)
_MEANS = "Times are those of the average rank."


def names_of(pairs: Sequence[Data]) -> list[str]:
    return [pairs[0]["a"]["name"], *(data["b"]["name"] for data in pairs)]


def _titled(name: str, side: Mapping[str, Any]) -> str:
    ran = side.get("what_ran") or {}
    told = " on ".join(str(ran[key]) for key in ("model", "cluster") if ran.get(key))
    return f"{name} ({told})" if told else name


def _head(pairs: Sequence[Data], names: Sequence[str]) -> Html:
    makespans = [data["makespan_ns"] for data in pairs]
    changes = [
        element(
            "p",
            element("span", signed(makespan["change"]), class_="makespan"),
            element("span", f" from {names[0]} to {name}", class_="unit"),
        )
        for makespan, name in zip(makespans, names[1:], strict=True)
    ]
    told = [*(" ".join(sentences_of(data)) for data in pairs), *sure_of_others(pairs)]
    if len(pairs) == 1:
        told = sentences_of(pairs[0])
    bounds = [element("p", text, class_="bound") for text in told]
    return element(
        "section",
        *changes,
        *[element("p", text, class_="note") for text in _ran(pairs)],
        *bounds,
        _figures(pairs, names),
        _missing(dict.fromkeys(text for data in pairs for text in data["missing"])),
        id="top",
        aria_label="The comparison",
    )


def _ran(pairs: Sequence[Data]) -> list[str]:
    if len(pairs) == 1:
        return ran_of_pair(pairs[0])
    sides = [pairs[0]["a"], *(data["b"] for data in pairs)]
    return [f"{side['name']}: {ran_text(side)}" for side in sides if ran_text(side)]


def _titles(pairs: Sequence[Data]) -> list[str]:
    return ["first", "second"] if len(pairs) == 1 else names_of(pairs)


def _heads(pairs: Sequence[Data], head: str) -> list[Head]:
    first, *others = _titles(pairs)
    heads = [Head(head, False), Head(first)]
    for name in others:
        heads += [Head(name), Head("change" if len(others) == 1 else f"{name}: change")]
    return heads


def _figures(pairs: Sequence[Data], names: Sequence[str]) -> Html:
    cells = figure_cells([data["figures"] for data in pairs])
    return table("Figures", _heads(pairs, "figure"), cells) if cells else Html("")


def _missing(texts: Iterable[str]) -> Html:
    items = [element("li", text) for text in texts]
    if not items:
        return Html("")
    return element("div", element("h2", "Missing"), element("ul", *items), class_="warnings")


def _paths(pairs: Sequence[Data]) -> Html:
    if not all(data["critical_path"] for data in pairs):
        return element("p", "One of the results holds no critical path.", class_="note")
    kinds = joined(pairs, lambda data: data["critical_path"]["by_kind"], lambda row: row["kind"])
    used = [one for one in kinds if any(one.times)]
    key = legend((kind_text(one.known["kind"]), f"step-{one.known['kind']}") for one in used)
    parts = [key, _bars(pairs, used)]
    parts.append(_changes(pairs, "By kind", "kind", kinds, lambda one: kind_text(one["kind"])))
    for member, what in (("by_phase", "phase"), ("by_name", "name")):
        parts.append(_by(pairs, member, what))
    return join(parts)


def _by(pairs: Sequence[Data], member: str, what: str) -> Html:
    rows = joined(pairs, lambda data: data["critical_path"].get(member, []), lambda row: row[what])
    if not rows:
        return Html("")
    return _changes(pairs, f"By {what}", what, rows, lambda row: row[what] or f"(no {what})")


def _bars(pairs: Sequence[Data], kinds: Sequence[Joined]) -> Html:
    first = pairs[0]["makespan_ns"]["a"]
    makespans = [first, *(data["makespan_ns"]["b"] for data in pairs)]
    whole = max(makespans) or 1
    bars = []
    for at, (name, makespan) in enumerate(zip(names_of(pairs), makespans, strict=True)):
        pieces = [
            Piece(kind_text(one.known["kind"]), f"step-{one.known['kind']}", one.times[at])
            for one in kinds
        ]
        told = format_time(makespan)
        picture = bar(pieces, whole, f"{name}: {told}", format_time)
        text = element("span", told, class_="bar-text")
        row = (element("span", name, class_="bar-name"), picture, text)
        bars.append(element("div", *row, class_="bar-row"))
    return element("div", *bars, class_="bars")


def _changes(
    pairs: Sequence[Data],
    name: str,
    head: str,
    rows: Sequence[Joined],
    text_of: Callable[[Row], str],
    left_out: int = 0,
) -> Html:
    cells = [[_texts(one, text_of), *_times(one)] for one in rows]
    more = f"{left_out} more changed less." if left_out else None
    whole = table(name, _heads(pairs, head), cells)
    return join([whole, element("p", more, class_="note") if more else None])


def _texts(one: Joined, text_of: Callable[[Row], str]) -> str:
    text = text_of(one.known)
    return f"{times_of(one.counts())} {text}" if "a_per_rank" in one.known else text


def _times(one: Joined) -> Iterable[Cell]:
    yield Cell(format_time(one.times[0]), one.times[0])
    for time, change in zip(one.times[1:], one.changes, strict=True):
        yield Cell(format_time(time), time)
        yield Cell(signed(change), change)


def _scenario(pairs: Sequence[Data]) -> Html:
    titles = _titles(pairs)
    fields = [[field, *map(value_of, told)] for field, *told in values(pairs, "scenario", "field")]
    heads = [Head("field", False), *(Head(title, False) for title in titles)]
    of_files = [Head("file", False), Head(f"{titles[0]}: SHA-256", False)]
    of_files += [Head(title, False) for title in titles[1:]]
    files = values(pairs, "inputs", "file")
    return join([table("Fields", heads, fields), table("Files that changed", of_files, files)])


def _ranks(pairs: Sequence[Data]) -> Html:
    parts = joined(pairs, lambda data: data["ranks"], lambda row: row["part"])
    tables = [
        _changes(
            pairs, "The average rank", "part", parts,
            lambda row: text_of(row["part"]),
        )
    ]  # fmt: skip
    for data in pairs:
        name = "Ranks whose finish changed"
        name += "" if len(pairs) == 1 else f" from {data['a']['name']} to {data['b']['name']}"
        rows = joined([data], lambda data: data["by_rank"], lambda row: str(row["ranks"]))
        tables.append(_changes([data], name, "rank", rows, lambda row: ranges_of(row["ranks"])))
    return join(tables)


def _collectives(pairs: Sequence[Data]) -> Html:
    def key_of(row: Row) -> Hashable:
        return row["kind"], row.get("group"), row["size_bytes"]

    return join(
        [
            _grouped(pairs, member, title, "collective", key_of, _collective)
            for member, title in (
                ("collectives", "By kind and size"),
                ("collectives_by_group", "By kind, group and size"),
            )
        ]
    )


def _collective(row: Row) -> str:
    group = f" in group {row['group']}" if row.get("group") else ""
    return f"{row['kind']}{group} {format_size(row['size_bytes'])}"


def _grouped(
    pairs: Sequence[Data],
    member: str,
    title: str,
    head: str,
    key_of: Callable[[Row], Hashable],
    text_of: Callable[[Row], str],
) -> Html:
    rows = joined(pairs, lambda data: data[member]["rows"], key_of)
    shown = rows[:MOST_ROWS]
    in_all = max([len(rows), *(data[member]["in_all"] for data in pairs)])
    return _changes(pairs, title, head, shown, text_of, in_all - len(shown))


def _dimensions(pairs: Sequence[Data]) -> Html:
    first, *others = _titles(pairs)
    heads = [Head("dimension"), Head(f"{first}: kind, size, carried, busy", False)]
    heads += [Head(name, False) for name in others]
    rows = [
        [str(dimension), *map(carried, uses)]
        for dimension, *uses in values(pairs, "dimensions", "dimension")
    ]
    return table("Dimensions of the network", heads, rows)


def _nodes(pairs: Sequence[Data]) -> Html:
    def key_of(row: Row) -> Hashable:
        return row["name"], row["type"]

    return _grouped(pairs, "nodes", "By name", "node", key_of, lambda row: row["name"])
