"""A comparison in words: what changed and what explains it, then the tables, largest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yantra.base.text import Grid, filled
from yantra.base.units import format_size, format_time
from yantra.explain.named import figure_grid, ran_text
from yantra.explain.parts import block, listed
from yantra.result.critical_path import kind_text
from yantra.result.parts import text_of

_SHOWN = 8
_NAMED_FROM = 0.05  # of the change: kinds in sentences
_BOUNDS = {
    "bubble": "the pipeline bubble",
    "latency": "latency",
    "network": "the network",
    "none": "no cause alone",
    "uneven": "uneven work",
    "waiting": "waiting for other ranks",
}
"""What bounds a run, in sentences; other kinds by their own name."""
_ARITHMETIC = "the rate of arithmetic"


def words(data: Mapping[str, Any]) -> str:
    blocks = ["\n".join(filled(text) for text in names_of(data))] if names_of(data) else []
    blocks.append(filled(" ".join(sentences(data))))
    grids = [
        ("Figures", figure_grid(data["figures"])),
        ("What differs in the scenario", _fields(data)),
        ("Critical path by kind", _kinds(data)),
        ("Critical path by phase", _parts(data, "by_phase", "phase")),
        ("Critical path by name", _parts(data, "by_name", "name")),
        (_ranks_title(data), _ranks(data)),
        ("Ranks whose finish changed most", _by_rank(data)),
        ("Collectives: time on the average rank", _collectives(data)),
        ("Dimensions", _dimensions(data)),
        ("Nodes by name: time on the average rank", _nodes(data)),
    ]
    blocks += [block(title, grid) for title, grid in grids if grid.rows]
    blocks += [filled(f"missing: {text}") for text in data["missing"]]
    return "\n\n".join(blocks)


def names_of(data: Mapping[str, Any]) -> list[str]:
    ran = [(data[side]["name"], ran_text(data[side])) for side in ("a", "b")]
    if ran[0][1] == ran[1][1]:
        ran = [("both", ran[0][1])]
    return [f"{name}: {text}" for name, text in ran if text]


def sentences(data: Mapping[str, Any]) -> list[str]:
    parts = (_opening(data), _sure(data), _bounds(data), _causes(data), _place(data))
    return [text for text in parts if text]


def _opening(data: Mapping[str, Any]) -> str:
    a, b = data["a"], data["b"]
    makespan = data["makespan_ns"]
    if not makespan["change"]:
        return f"{a['name']} and {b['name']} take the same time, {format_time(makespan['a'])}."
    more = "more" if makespan["change"] > 0 else "less"
    share = f" ({abs(100 * data['change']):.1f} %)" if data["change"] is not None else ""
    return (
        f"{a['name']} takes {format_time(makespan['a'])} and {b['name']} "
        f"{format_time(makespan['b'])}: {format_time(abs(makespan['change']))}{share} {more}."
    )


def _sure(data: Mapping[str, Any]) -> str:
    """Say whether the 90 % intervals tell the two apart, if both have one."""
    meet = intervals_meet(data["a"], data["b"])
    if meet is None or not data["makespan_ns"]["change"]:
        return ""
    ends = [data[side]["interval_ns"] for side in ("a", "b")]
    texts = [f"{format_time(first)} to {format_time(last)}" for first, last in ends]
    shown = f"({texts[0]}, {texts[1]})"
    if meet:
        return f"That is within their 90 % intervals {shown}."
    return f"Their 90 % intervals {shown} are apart."


def intervals_meet(side: Mapping[str, Any], other: Mapping[str, Any]) -> bool | None:
    """Return None where one of the two has no interval."""
    ends, others = (one.get("interval_ns") for one in (side, other))
    if ends is None or others is None:
        return None
    return bool(ends[0] <= others[1] and others[0] <= ends[1])


def _bounds(data: Mapping[str, Any]) -> str:
    first, second = (_called(data[side]["bound_by"]) for side in ("a", "b"))
    if first == second:
        return f"Both are bound by {first}."
    return f"The first is bound by {first}, the second by {second}."


def _called(bound: Mapping[str, Any]) -> str:
    """Kernels are "compute" or, under a roofline, "the rate of arithmetic": only the text knows."""
    kind: str = bound["kind"]
    if kind == "compute" and str(bound.get("text", "")).startswith(f"bound by {_ARITHMETIC}"):
        return _ARITHMETIC
    return _BOUNDS.get(kind, kind.replace("_", " "))


def _causes(data: Mapping[str, Any]) -> str:
    path = data["critical_path"]
    if not path:
        return ""
    whole = sum(abs(row["change_ns"]) for row in path["by_kind"])
    named = [row for row in path["by_kind"] if abs(row["change_ns"]) > _NAMED_FROM * whole]
    if not named:
        return "Their critical paths are alike by kind."
    texts = [_more_or_less(row["change_ns"], kind_text(row["kind"])) for row in named]
    return f"The critical path spends {listed(texts)}."


def _place(data: Mapping[str, Any]) -> str:
    path = data["critical_path"]
    rows = (path or {}).get("by_phase", [])
    changed = [row for row in rows if row["change_ns"] and row["phase"]]
    if not changed:
        return ""
    first = changed[0]
    more = "more" if first["change_ns"] > 0 else "less"
    size = format_time(abs(first["change_ns"]))
    return f"The phase that changed most is {first['phase']}, {size} {more}."


def _more_or_less(change_ns: float, on: str) -> str:
    return f"{format_time(abs(change_ns))} {'more' if change_ns > 0 else 'less'} on {on}"


def signed(change_ns: float) -> str:
    if not change_ns:
        return "0 ns"
    return ("+" if change_ns > 0 else "-") + format_time(abs(change_ns))


def _times(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return format_time(row["a_ns"]), format_time(row["b_ns"]), signed(row["change_ns"])


def _grid(head: str, rows: Sequence[tuple[str, ...]], left_out: int = 0) -> Grid:
    shown = list(rows)
    if left_out:
        shown.append((f"({left_out} more changed less)", "", "", ""))
    return Grid((head, "first", "second", "change"), shown)


def _fields(data: Mapping[str, Any]) -> Grid:
    rows = [
        (row["field"], *(value_of(row[side]) for side in ("a", "b"))) for row in data["scenario"]
    ]
    rows += [(row["file"], row["a"][:12], row["b"][:12]) for row in data["inputs"]]
    return Grid(("field", "first", "second"), rows)


def value_of(value: str | None) -> str:
    return "(default)" if value is None else value


def _kinds(data: Mapping[str, Any]) -> Grid:
    rows = [(kind_text(row["kind"]), *_times(row)) for row in _path(data, "by_kind")]
    if rows:
        makespan = data["makespan_ns"]
        sums = {"a_ns": makespan["a"], "b_ns": makespan["b"], "change_ns": makespan["change"]}
        rows.append(("together", *_times(sums)))
    return _grid("kind", rows)


def _path(data: Mapping[str, Any], member: str) -> list[Mapping[str, Any]]:
    path = data["critical_path"] or {}
    return [row for row in path.get(member, []) if row["a_ns"] or row["b_ns"]]


def _parts(data: Mapping[str, Any], member: str, key: str) -> Grid:
    found = [row for row in _path(data, member) if row["change_ns"]]
    rows = [(row[key] or f"(no {key})", *_times(row)) for row in found[:_SHOWN]]
    return _grid(key, rows, max(len(found) - _SHOWN, 0))


def _ranks_title(data: Mapping[str, Any]) -> str:
    counts = data["a"]["ranks"], data["b"]["ranks"]
    differ = f" ({counts[0]} and {counts[1]} ranks)" if counts[0] != counts[1] else ""
    return f"Where the time of the average rank goes{differ}"


def _ranks(data: Mapping[str, Any]) -> Grid:
    rows = [(text_of(row["part"]), *_times(row)) for row in data["ranks"]]
    return _grid("part", rows)


def _by_rank(data: Mapping[str, Any]) -> Grid:
    rows = data["by_rank"]
    if len({row["change_ns"] for row in rows}) < 2:
        return _grid("rank", [])
    shown = [(ranges_of(row["ranks"]), *_times(row)) for row in rows[:_SHOWN]]
    return _grid("rank", shown, max(len(rows) - _SHOWN, 0))


def ranges_of(ranges: Sequence[Sequence[int]]) -> str:
    """`0-3, 8`, cut to a few."""
    texts = [f"{first}-{last}" if last > first else f"{first}" for first, last in ranges]
    return ", ".join(texts[:3]) + (", ..." if len(texts) > 3 else "")


def _collectives(data: Mapping[str, Any]) -> Grid:
    rows = [
        (f"{count_of(row)} {row['kind']} {format_size(row['size_bytes'])}", *_times(row))
        for row in data["collectives"]["rows"][:_SHOWN]
    ]
    return _grid("collective", rows, max(data["collectives"]["in_all"] - _SHOWN, 0))


def count_of(row: Mapping[str, Any]) -> str:
    return times_of([row[side] for side in ("a_per_rank", "b_per_rank")])


def times_of(counts: Sequence[float]) -> str:
    texts = [f"{count:g}" for count in counts]
    return f"{listed(texts) if len(set(texts)) > 1 else texts[0]} x"


def _dimensions(data: Mapping[str, Any]) -> Grid:
    rows = []
    for row in data["dimensions"]:
        if row["a"] == row["b"]:
            continue
        cells = [carried(row[side]) for side in ("a", "b")]
        rows.append((str(row["dimension"]), *cells))
    return Grid(("dimension: kind, size, carried, busy", "first", "second"), rows)


def carried(use: Mapping[str, Any] | None) -> str:
    if use is None:
        return "none"
    busy = f"{100 * use['busy']:.1f} %"
    return f"{use['kind']} {use['size']}, {format_size(use['bytes'])}, {busy}"


def _nodes(data: Mapping[str, Any]) -> Grid:
    rows = [
        (f"{count_of(row)} {row['name']}", *_times(row)) for row in data["nodes"]["rows"][:_SHOWN]
    ]
    return _grid("node", rows, max(data["nodes"]["in_all"] - _SHOWN, 0))
