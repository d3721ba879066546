"""Two results compared: what changed, by how much, and what of the critical path explains it.

Any two JSON forms. Ranks match by number if equally many, else as means; collectives by kind, group
and size, dimensions by place, nodes by name. Times per rank are means over all.

A critical path is as long as its run, so differences by kind, phase or name sum exactly, in ps, to
that of the makespans.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from yantra.base.documents import Path
from yantra.base.errors import show
from yantra.base.notebook import progress_line
from yantra.base.output import write_text
from yantra.compile import compile
from yantra.explain.named import figure_rows
from yantra.explain.parts import total
from yantra.explain.sums import sums_of_ranks, time_by
from yantra.export.json import head_of
from yantra.export.stored import Form, read_result, table_in
from yantra.result import Result, Table
from yantra.result.path import ns_of, ps_of
from yantra.result.table_names import TABLES
from yantra.run.simulate import run
from yantra.scenario import Case
from yantra.scenario.recognise import Known, recognise
from yantra.scenario.text import of_known, placing

MOST_ROWS = 100
Row = dict[str, Any]
Names = tuple[str, str]


class Comparison:
    """What changed from one result to another; `data` as JSON, `text()` in words."""

    def __init__(self, data: dict[str, Any], forms: Sequence[Form] = ()) -> None:
        self.data = data
        """Plain values; `yantra compare --json` prints them."""
        self._forms = forms

    def __repr__(self) -> str:
        from yantra.explain.compare_words import sentences

        return f"<Comparison: {' '.join(sentences(self.data)[:2])}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"

    def text(self) -> str:
        """Words and tables, at most 100 columns wide, without a final newline."""
        from yantra.explain.compare_words import words

        return words(self.data)

    def to_report(self, path: Path) -> None:
        """Write one HTML file that opens offline; it appears whole or not at all."""
        from yantra.explain.compare_page import page

        write_text(path, page([self.data], self._forms))


@progress_line("results")
def compare(
    a: Path | Case | Result, b: Path | Case | Result, names: Names | None = None
) -> Comparison:
    """What changed from one result to another.

    Each is a `Result`, its JSON file, or a file that is then run, recorded: a scenario or a
    `yantra.scenario.Case`. Raises ConfigError for another file, or one newer than this version
    reads.
    """
    shown = names or (called(a, "a"), called(b, "b"))
    return compared(form_of(a), form_of(b), shown)


def form_of(of: Path | Case | Result) -> Form:
    """A result to compare: itself, a file's, or of the run that a file describes."""
    if isinstance(of, Result):
        return _of_result(of)
    case = of if isinstance(of, Case) else Case(of)
    known = recognise(case.path)
    if known.kind == "result" or _is_own_json(known):
        return read_result(case.path)
    cluster = case.cluster if known.needs_cluster else None
    scenario = of_known(known, cluster, case.settings)
    with placing(known.name):
        model = compile(scenario)
    return _of_result(run(model, record=True))


def _of_result(result: Result) -> Form:
    return head_of(result) | {"tables": {name: result.table(name) for name in TABLES}}


def _is_own_json(known: Known) -> bool:
    is_scenario = isinstance(known.tree, dict) and "workload" in known.tree
    return known.kind == "scenario" and not is_scenario


def called(of: Path | Case | Result, otherwise: str) -> str:
    if isinstance(of, Result):
        return otherwise
    return os.fspath(of.path if isinstance(of, Case) else of)


def compared(
    a: Form, b: Form, names: Names = ("a", "b"), most: int | None = MOST_ROWS
) -> Comparison:
    """What changed from `a` to `b`; `names` are for texts.

    `most` rows are kept of each table of collectives and nodes, None for all.
    """

    def grouped(noted: list[str], table: str, *keys: str) -> Row:
        return _grouped(a, b, names, noted, table, keys, most)

    missing: list[str] = []
    before, after = a["makespan_ns"], b["makespan_ns"]
    change = _change(before, after)
    data = {
        "format": "yantra-comparison",
        "version": 1,
        "a": _about(a, names[0]),
        "b": _about(b, names[1]),
        "makespan_ns": {"a": before, "b": after, "change": change},
        "change": change / before if before else None,
        "figures": figure_rows(a, b),
        "critical_path": _paths(a, b, names, missing),
        "scenario": _scenarios(a, b, names, missing),
        "inputs": _inputs(a, b),
        "ranks": _ranks(a, b, names, missing),
        "by_rank": _by_rank(a, b),
        "collectives": grouped(missing, "collectives", "kind", "size_bytes"),
        "collectives_by_group": grouped([], "collectives", "kind", "group", "size_bytes"),
        "dimensions": _dimensions(a, b, names, missing),
        "nodes": grouped(missing, "nodes", "name", "type"),
        "missing": missing,
    }
    return Comparison(data, (a, b))


def _about(form: Form, name: str) -> Row:
    ranks = table_in(form, "ranks")
    told = {key: form.get(key) for key in ("yantra_version", "semantics", "network", "bound_by")}
    told |= {"name": name, "what_ran": form.get("what_ran")}
    known = ranks is not None and "rank" in ranks.columns
    figures = form.get("figures") or {}
    if figures.get("time_low_ns") is not None:
        told["interval_ns"] = [figures["time_low_ns"], figures["time_high_ns"]]
    return {**told, "ranks": len(ranks) if ranks is not None and known else None}


def _change(a: float, b: float) -> float:
    return ns_of(ps_of(b) - ps_of(a))


def _row(what: Mapping[str, Any], a: float, b: float) -> Row:
    return {**what, "a_ns": a, "b_ns": b, "change_ns": _change(a, b)}


def _largest_first(rows: list[Row], by: str = "change_ns") -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row[by] or 0))


# --- the critical path


def _paths(a: Form, b: Form, names: Names, missing: list[str]) -> Row | None:
    lacking = [name for form, name in zip((a, b), names, strict=True) if not _path(form)]
    if lacking:
        missing.append(
            f"the critical path of {' and '.join(lacking)}: yantra run --record keeps it; "
            "without it the change is not explained by causes"
        )
        return None
    paths = a["critical_path"], b["critical_path"]
    told: Row = {"by_kind": _kinds(paths[0]["by_kind"], paths[1]["by_kind"])}
    for member, key in (("by_phase", "phase"), ("by_name", "name")):
        if all(member in path for path in paths):
            told[member] = _by_part(paths[0][member], paths[1][member], key)
    return told


def _path(form: Form) -> bool:
    return bool(form.get("critical_path", {}).get("by_kind"))


def _kinds(a: Mapping[str, float], b: Mapping[str, float]) -> list[Row]:
    kinds = dict.fromkeys([*a, *b])
    return _largest_first([_row({"kind": kind}, a.get(kind, 0), b.get(kind, 0)) for kind in kinds])


def _by_part(
    a: Mapping[str, Mapping[str, float]], b: Mapping[str, Mapping[str, float]], key: str
) -> list[Row]:
    rows = []
    for part in dict.fromkeys([*a, *b]):
        of_a, of_b = a.get(part, {}), b.get(part, {})
        kinds = _kinds(of_a, of_b)
        rows.append(_row({key: part}, total(of_a), total(of_b)) | {"by_kind": kinds})
    return _largest_first(rows)


# --- the scenarios and their files


def _scenarios(a: Form, b: Form, names: Names, missing: list[str]) -> list[Row]:
    lacking = [name for form, name in zip((a, b), names, strict=True) if "scenario" not in form]
    if lacking:
        missing.append(f"the scenario of {' and '.join(lacking)}: written by an older version")
        return []
    fields = dict(_leaves(a["scenario"])), dict(_leaves(b["scenario"]))
    return [
        {"field": field, "a": fields[0].get(field), "b": fields[1].get(field)}
        for field in dict.fromkeys([*fields[0], *fields[1]])
        if fields[0].get(field) != fields[1].get(field)
    ]


def _leaves(tree: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{where}.{key}" if where else key)
    elif isinstance(tree, list) and any(isinstance(item, dict) for item in tree):
        for at, item in enumerate(tree):
            yield from _leaves(item, f"{where}[{at}]")
    else:
        yield where, tree if isinstance(tree, str) else show(tree)


def _inputs(a: Form, b: Form) -> list[Row]:
    before, after = a.get("inputs", {}), b.get("inputs", {})
    return [
        {"file": file, "a": before[file], "b": after[file]}
        for file in before
        if file in after and before[file] != after[file]
    ]


# --- tables


def _both(
    a: Form, b: Form, names: Names, missing: list[str], table: str, needs: tuple[str, ...]
) -> bool:
    lacking = [
        name for form, name in zip((a, b), names, strict=True) if not _has(form, table, needs)
    ]
    if lacking:
        missing.append(f"the table {table} of {' and '.join(lacking)}: yantra run -o keeps it")
    return not lacking


def _has(form: Form, name: str, columns: tuple[str, ...]) -> bool:
    table = table_in(form, name)
    return table is not None and all(column in table.columns for column in columns)


def _table(form: Form, name: str) -> Table:
    table = table_in(form, name)
    assert table is not None  # `_both` has checked it
    return table


def _ranks(a: Form, b: Form, names: Names, missing: list[str]) -> list[Row]:
    if not _both(a, b, names, missing, "ranks", ("rank", "finish_ns")):
        return []
    means = _means(a), _means(b)
    parts = dict.fromkeys([*means[0], *means[1]])
    rows = [_row({"part": part}, *(mean.get(part, 0.0) for mean in means)) for part in parts]
    return _largest_first([row for row in rows if row["a_ns"] or row["b_ns"]])


def _means(form: Form) -> dict[str, float]:
    table = _table(form, "ranks")
    sums = sums_of_ranks(table, form["makespan_ns"])
    return {part: ps / (len(table) or 1) / 1000 for part, ps in sums.items()}


def _by_rank(a: Form, b: Form) -> list[Row]:
    """Ranks of equal finishes share a row; `ranks` lists their first and last numbers."""
    needs = ("rank", "finish_ns")
    if not (_has(a, "ranks", needs) and _has(b, "ranks", needs)):
        return []
    before, after = _table(a, "ranks"), _table(b, "ranks")
    if before.values("rank") != after.values("rank"):
        return []
    alike: dict[tuple[float, float], list[list[int]]] = {}
    for rank, *finishes in zip(
        before.values("rank"), before.values("finish_ns"), after.values("finish_ns"), strict=True
    ):
        ranges = alike.setdefault((finishes[0], finishes[1]), [])
        if ranges and ranges[-1][1] == rank - 1:
            ranges[-1][1] = rank
        else:
            ranges.append([rank, rank])
    rows = [_row({"ranks": ranges}, *finishes) for finishes, ranges in alike.items()]
    return _largest_first([row for row in rows if row["change_ns"]])[:MOST_ROWS]


def _grouped(
    a: Form,
    b: Form,
    names: Names,
    missing: list[str],
    table: str,
    keys: tuple[str, ...],
    most: int | None,
) -> Row:
    if not _both(a, b, names, missing, table, (*keys, "rank", "start_ns", "end_ns")):
        return {"rows": [], "in_all": 0}
    sums = _sums(a, table, keys), _sums(b, table, keys)
    rows = []
    for key in dict.fromkeys([*sums[0], *sums[1]]):
        (of_a, a_count), (of_b, b_count) = (one.get(key, (0.0, 0.0)) for one in sums)
        counts = {"a_per_rank": a_count, "b_per_rank": b_count}
        rows.append(_row(dict(zip(keys, key, strict=True)), of_a, of_b) | counts)
    changed = _largest_first([row for row in rows if row["change_ns"]])
    return {"rows": changed[:most], "in_all": len(changed)}


def _sums(form: Form, name: str, keys: tuple[str, ...]) -> dict[Any, tuple[float, float]]:
    table, of_ranks = _table(form, name), table_in(form, "ranks")
    ranks = len(of_ranks or ()) or len(set(table.values("rank"))) or 1
    sums = time_by(table, keys)
    return {key: (ps / ranks / 1000, count / ranks) for key, (ps, count) in sums.items()}


def _dimensions(a: Form, b: Form, names: Names, missing: list[str]) -> list[Row]:
    needs = ("dimension", "kind", "size", "bytes", "messages", "busy")
    if not _both(a, b, names, missing, "dimensions", needs):
        return []
    tables = _table(a, "dimensions"), _table(b, "dimensions")
    rows = []
    for at in range(max(len(table) for table in tables)):
        row: Row = {"dimension": at}
        for side, table in zip(("a", "b"), tables, strict=True):
            inside = at < len(table)
            row[side] = {one: table.values(one)[at] for one in needs[1:]} if inside else None
        rows.append(row)
    return rows
