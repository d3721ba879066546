"""An explanation in words: sentences first, then the tables they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from yantra.base.text import Grid, count, filled, shortened
from yantra.base.units import format_time
from yantra.explain.advice import in_words
from yantra.explain.named import ran_text
from yantra.explain.parts import (
    block,
    listed,
    total,
)
from yantra.result.critical_path import kind_text
from yantra.result.parts import text_of
from yantra.result.shares import percent, tenths

_NAMED_FROM = 10  # tenths of a per cent: parts with a name in sentences
_GAINS_FROM = 0.005
_WAITS_FROM = 100  # tenths between the path's and the average rank's share of kernels
_STRAGGLES_FROM = 1.1
_WIDEST = 60  # of a name: those of kernels have hundreds of letters


def words(data: Mapping[str, Any]) -> str:
    paragraphs = [_opening(data), _path_sentence(data), _ranks_sentence(data), _bounds_words(data)]
    paragraphs.append(_collectives_words(data))
    blocks = [filled(text) for text in (ran_text(data), *paragraphs) if text]
    grids = [_kinds(data), _phases(data), _names(data), _bounds_grid(data)]
    blocks += [block(title, grid) for title, grid in grids if grid.rows]
    blocks += _collectives(data)
    if "advice" in data:
        blocks.append(in_words(data["advice"]))
    not_run = [row for row in data["what_if"] or [] if row["problem"]]
    notes = [f"not run with {row['text']}: {row['problem']}" for row in not_run]
    blocks += [filled(f"note: {text}") for text in (*notes, *data["notes"])]
    return "\n\n".join(blocks)


def shares_in_words(parts: Mapping[str, float]) -> str:
    """`71.0 % kernels, 28.5 % bytes on links and 0.5 % other causes`, which add up."""
    named = dict(zip(parts, tenths(list(parts.values())), strict=True))
    large = {kind: share for kind, share in named.items() if share >= _NAMED_FROM}
    texts = [f"{percent(share)} {kind_text(kind)}" for kind, share in large.items()]
    rest = sum(named.values()) - sum(large.values())
    if rest and large:
        texts.append(f"{percent(rest)} other causes")
    return listed(texts)


def _opening(data: Mapping[str, Any]) -> str:
    ranks = f" on {count(data['ranks']['count'], 'rank')}" if data["ranks"] else ""
    return f"The run takes {format_time(data['makespan_ns'])}{ranks}. {_sentence(data)}"


def _sentence(data: Mapping[str, Any]) -> str:
    text: str = data["bound_by"]["text"]
    return f"It is {text}."


def _path_sentence(data: Mapping[str, Any]) -> str:
    path = data["critical_path"]
    if not path or not path["length_ns"]:
        return ""
    told = "Its critical path, what the end waited for back to the start, is "
    told += f"{shares_in_words(path['by_kind'])}."
    ranks = path.get("by_rank", {})
    if ranks:
        told += f" {_where(path, *next(iter(ranks.items())))}"
    return told


def _where(path: Mapping[str, Any], rank: str, parts: Mapping[str, float]) -> str:
    alike = " or those that do the same" if path.get("folded") else ""
    if path["by_rank_in_all"] == 1:
        return f"All of it is on rank {rank}{alike}."
    share = tenths([total(parts), path["length_ns"] - total(parts)])[0]
    told = f"Its longest part, {percent(share)}, is on rank {rank}{alike}"
    crossings = path.get("crossings")
    if crossings is None:
        return f"{told}."
    if not crossings:
        return f"{told}; outside collectives it stays on one rank."
    times = "once" if crossings == 1 else f"{crossings} times"
    return f"{told}; outside collectives it passes from one rank to another {times}."


def _ranks_sentence(data: Mapping[str, Any]) -> str:
    ranks = data["ranks"]
    if not ranks or not data["makespan_ns"]:
        return ""
    mean = {part: ns for part, ns in ranks["mean_ns"].items() if ns > 0}
    shares = dict(zip(mean, tenths(list(mean.values())), strict=True))
    texts = [f"{percent(share)} {text_of(part)}" for part, share in shares.items() if share]
    told = f"The time of the average rank goes to {listed(texts)}."
    return " ".join([told, *_waiting(data, shares.get("compute", 0)), *_straggler(ranks)])


def _waiting(data: Mapping[str, Any], of_average: int) -> Iterable[str]:
    path = data["critical_path"]
    if not path or not path["length_ns"]:
        return
    kinds = path["by_kind"]
    of_path = dict(zip(kinds, tenths(list(kinds.values())), strict=True)).get("compute", 0)
    if of_path - of_average >= _WAITS_FROM:
        yield (
            f"Kernels are {percent(of_path)} of the path and {percent(of_average)} of the time of "
            f"the average rank: for at least {percent(of_path - of_average)} of the time it "
            "computes nothing while the path does."
        )


def _straggler(ranks: Mapping[str, Any]) -> Iterable[str]:
    longest, median = ranks.get("computes_longest"), ranks.get("median_compute_ns", 0)
    if not longest or not longest["ns"] or longest["ns"] < _STRAGGLES_FROM * median:
        return
    yield (
        f"Rank {longest['rank']} computes longest, {format_time(longest['ns'])}; the median rank "
        f"computes {format_time(median)}."
    )


def _collectives_words(data: Mapping[str, Any]) -> str:
    best = (data.get("collectives") or {}).get("at_best")
    if not best:
        return ""
    told = "With every collective as fast as the cuts of its network allow"
    if best["gain"] < _GAINS_FROM:
        return f"{told} it would not be {100 * _GAINS_FROM:g} % shorter."
    return f"{told} it would be {100 * best['gain']:.1f} % shorter."


def _collectives(data: Mapping[str, Any]) -> list[str]:
    rows = (data.get("collectives") or {}).get("ran") or []
    lines = []
    for row in rows:
        name = f"{row['kind']} of {row['ranks']} ranks: "
        lines.append(filled(name + ", ".join(row["by"])))
    return ["\n".join(["What ran the collectives", *lines])] if lines else []


def _bounds_words(data: Mapping[str, Any]) -> str:
    rows = [row for row in data["what_if"] or [] if row["gain"] is not None]
    if not rows:
        return ""
    gains = sorted((row for row in rows if row["gain"] >= _GAINS_FROM), key=lambda r: r["gain"])
    texts = [f"{100 * row['gain']:.1f} % with {row['text']}" for row in gains]
    told = [f"At most it would be shorter by {listed(texts)}."]
    if not texts:
        told = [f"Nothing that was removed makes it {100 * _GAINS_FROM:g} % shorter."]
    told += [_next(data["next"])] if data["next"] else []
    longer = [row for row in rows if row["gain"] <= -_GAINS_FROM]
    told += [
        f"With {row['text']} it takes {-100 * row['gain']:.1f} % longer: ranks take work first "
        "come, first served, and another order came of it."
        for row in longer
    ]
    return " ".join(told)


def _next(after: Mapping[str, Any]) -> str:
    head = f"With {after['text']} it takes {format_time(after['makespan_ns'])}"
    if not after["makespan_ns"]:
        return f"{head}: nothing is left."
    if after.get("by_kind"):
        return f"{head}; its critical path is then {shares_in_words(after['by_kind'])}."
    return f"{head}, {after['bound_by']['text']}."


def _kinds(data: Mapping[str, Any]) -> tuple[str, Grid]:
    path = data["critical_path"]
    kinds = path["by_kind"] if path else {}
    shares = tenths(list(kinds.values()))
    rows: list[tuple[str, ...]] = [
        (kind_text(kind), format_time(ns), percent(share))
        for (kind, ns), share in zip(kinds.items(), shares, strict=True)
    ]
    if rows:
        rows.append(("together", format_time(path["length_ns"]), percent(sum(shares))))
    return "Critical path by kind", Grid(("kind", "time", "share"), rows)


def _phases(data: Mapping[str, Any]) -> tuple[str, Grid]:
    phases = data["phases"]
    shares = tenths([phase["length_ns"] for phase in phases])
    rows: list[tuple[str, ...]] = []
    for phase, share in zip(phases, shares, strict=True):
        kinds = phase["by_kind"]
        kind = max(kinds, key=lambda one: kinds[one])
        of_phase = dict(zip(kinds, tenths(list(kinds.values())), strict=True))[kind]
        bound = f"{kind_text(kind)} {percent(of_phase)}"
        rows.append((phase["name"], format_time(phase["length_ns"]), percent(share), bound))
    named = not rows or not rows[0][0].startswith("quarter ")
    title = "Critical path by phase" if named else "Critical path over the time"
    return title, Grid(("phase" if named else "", "time", "share", "most of it"), rows)


def _names(data: Mapping[str, Any]) -> tuple[str, Grid]:
    path = data["critical_path"]
    names = path.get("by_name", {}) if path else {}
    sums = {name: total(kinds) for name, kinds in names.items()}
    rows: list[tuple[str, ...]] = []
    for name, ns in sums.items():
        share = tenths([ns, max(path["length_ns"] - ns, 0)])[0]
        told = shortened(name or "(no name)", _WIDEST)
        rows.append((told, format_time(ns), percent(share)))
    title = "Nodes with most of the critical path"
    left_out = path["by_name_in_all"] - len(rows) if rows else 0
    have = "has" if left_out == 1 else "have"
    title += f" ({count(left_out, 'more name')} {have} less)" if left_out else ""
    return title, Grid(("name", "time", "share"), rows)


def _bounds_grid(data: Mapping[str, Any]) -> tuple[str, Grid]:
    rows: list[tuple[str, ...]] = []
    for row in data["what_if"] or []:
        if row["makespan_ns"] is None:
            rows.append((row["text"], "not run", "", ""))
            continue
        gain = f"{100 * row['gain']:.1f} %"
        rows.append((row["text"], format_time(row["makespan_ns"]), gain, row["bound_by"]))
    head = ("what if the run had", "makespan", "less", "then bound by")
    return "Each row is a separate run, except those about waiting", Grid(head, rows)
