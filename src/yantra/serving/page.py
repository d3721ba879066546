"""The page of a served trace: what users wait for, how many in time, why, and the load
behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.output import Path, write_text
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.export.report.bars import Piece, legend, row
from yantra.export.report.columns import Columns
from yantra.export.report.markup import Cell, Head, Html, element, facts, join, table
from yantra.export.report.shell import CHARTS, Page, Section, render
from yantra.serving.curves import LOAD, Curve, kv_room, load, replica_names, within
from yantra.serving.fleet import OBSTACLES, PHASES, PS
from yantra.serving.measures import PERCENTILES, Objective, column, kept
from yantra.serving.words import REASONS, pools_text, short, title, warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.serving.answer import Served
    from yantra.serving.fleet import Ran

_MEASURES = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e": "E2E"}
_MEANINGS = {
    "ttft": "time to the first token, from arrival",
    "tpot": "time per output token after the first: (last - first) / (output - 1)",
    "itl": "each gap between two tokens",
    "e2e": "time from arrival to the last token",
}
_CURVES = ("ttft", "tpot", "e2e")
_PHASES = {
    "queued": "queued",
    "prefill": "prefill",
    "transfer": "KV moves",
    "admission": "waits for decode",
    "decode": "decode",
    "preempted": "preempted",
    "recompute": "computed again",
}
_BANDS = ((0, 50, "the fastest half"), (50, 90, "the next 40 %"), (90, 99, "the next 9 %"),
          (99, 100, "the slowest 1 %"))  # fmt: skip
_OF_REQUESTS = (
    "request", "arrived", "prompt", "output", "waited", "held by", "TTFT", "E2E", "preempted",
    "from the cache",
)  # fmt: skip
_LONGEST, _MOST_BARS, _MOST_REPLICAS = 100, 16, 1_000
_SCRIPTS = (*CHARTS, "ready.js", "serve.js")


def write_page(served: Served, path: Path, objectives: Sequence[Objective] = ()) -> None:
    write_text(path, page(served, objectives))


def page(served: Served, objectives: Sequence[Objective] = ()) -> str:
    """Return the page as HTML, with the promises marked."""
    ran = served.sampled()
    columns = Columns()
    data: dict[str, Any] = {
        "end_ns": round(ran.makespan_s * 1e9),
        "attainment": [_attainment(served, name, objectives, columns) for name in _CURVES
                       if len(column(ran, name))],
        "load": [_load(served, ran, name, columns) for name in LOAD],
    }  # fmt: skip
    head = element("section", _head(served, objectives), id="top", aria_label="The answer")
    sections = [
        Section("times", "What users wait for", _TIMES, _percentiles(served)),
        Section("attainment", "How many are in time", _ATTAINMENT, _boxes(data["attainment"])),
        Section("spent", "Where a request's time went", _SPENT, spent(ran)),
        Section("behind", "Why requests waited", _BEHIND, _behind(ran)),
        Section("load", "Load over time", "", _boxes(data["load"])),
        Section("replicas", "Replicas", "", _replicas(served, ran)),
        Section("longest", "The requests that waited longest", "", _longest(ran)),
    ]
    styles = ("uplot.css", "report.css", "serve.css")
    return render(Page(title(served), head, sections, _SCRIPTS, styles, data, columns))


_TIMES = "Percentiles are the nearest rank upward."
_WITH_ENDS = "Below a value: between which 90 of 100 such runs are."
_ATTAINMENT = (
    "The share of requests that have their time within that of the axis; promises are dashed."
)
_SPENT = "Parts of the time from arrival to the last token. They add up exactly, for every request."
_BEHIND = "What held the first in the queue, for the time that requests had not started."


def _head(served: Served, objectives: Sequence[Objective]) -> Html:
    said, what = short(served.ttft.at(99.0)), "to the first token, for 99 of 100 requests"
    if objectives:
        said = f"{kept(served.ran, objectives).mean():.1%}"
        what = f"of requests keep {' and '.join(_promise(one) for one in objectives)}"
    parts = [
        element(
            "p",
            element("span", said, class_="makespan"),
            element("span", f" {what}", class_="unit"),
        )
    ]
    told = [f"{line[0].upper()}{line[1:]}." for line in warnings(served)]
    parts += [element("p", line, class_="warnings", role="alert") for line in told]
    if not told:
        parts.append(element("p", waiting(served), class_="bound"))
    return join([*parts, facts(_facts(served, objectives))])


def _promise(one: Objective) -> str:
    return f"{_MEASURES[one.measure]} {format_time(one.seconds * 1e9)}"


def waiting(served: Served) -> str:
    """Say what requests wait for."""
    behind = served.behind
    name = max(behind, key=lambda key: behind[key])
    whole = sum(behind.values())
    if not whole:
        return "No request waits to start."
    return (
        f"Requests wait {short(whole)} in the mean to start; "
        f"{behind[name] / whole:.0%} of it: {REASONS[name]}."
    )


def _facts(served: Served, objectives: Sequence[Objective]) -> Iterator[tuple[str, str]]:
    from yantra import __version__

    question, ran = served.question, served.ran
    if question.model is not None and question.cluster is not None:
        yield "model, cluster", f"{question.model.name} on {question.cluster.name}"
    yield "engines", pools_text(served)
    yield "routing", question.routing.replace("_", " ")
    yield "requests", f"{len(ran.requests):,} in {format_time(ran.makespan_s * 1e9)}"
    yield "throughput", f"{served.requests_per_s:.3g} requests/s, {_tokens(served)}"
    for one in objectives:
        value = one.value(ran)
        held = "kept" if value <= one.seconds else "broken"
        yield f"{one}", f"{format_time(value * 1e9)}, {held}"
    if objectives:
        yield "goodput", f"{served.goodput(objectives):.3g} requests/s keep all"
    cached, prompts = float(ran.column("cached").sum()), float(ran.requests.prompt.sum())
    yield "prompt tokens from the cache", f"{cached / prompts:.1%}"
    yield "preemptions", f"{int(ran.column('restarts').sum()):,}"
    for pool, room in zip(served.fleet.pools, served.rooms, strict=True):
        if room is not None:
            yield ("KV" if pool.role == "both" else f"KV, {pool.role}"), room.words()
    usd, joules = (served.per_million_tokens(one) for one in (served.cost_usd, served.energy_j))
    if usd is not None:
        yield "a million output tokens", f"{usd:.3g} USD"
    if joules is not None:
        yield "energy of a million output tokens", f"{joules / 1e6:.3g} MJ"
    yield "rests on", served.rests_on
    yield "made by", f"Yantra {__version__}"


def _tokens(served: Served) -> str:
    tokens = served.output_tokens_per_s
    return f"{tokens:,.0f} output tokens/s ({tokens / served.devices:,.0f} a device)"


def _percentiles(served: Served) -> Html:
    ranks = (None, *PERCENTILES)
    heads = [
        Head("measure", False),
        Head("mean"),
        *(Head(f"p{p:g}") for p in PERCENTILES),
        Head("most"),
    ]
    rows = []
    for name, words in _MEASURES.items():
        of = getattr(served, name)
        values = (of.mean, *of.percentiles)
        spans = [served.interval(name, rank) for rank in ranks]
        cells = [_time(value, span) for value, span in zip(values, spans, strict=True)]
        rows.append((f"{words}, {_MEANINGS[name]}", *cells, _time(of.most, None)))
    told = _WITH_ENDS if served.ends is not None else None
    note = element("p", told, class_="note") if told else None
    return join((table("Times by measure", heads, rows), note))


def _time(seconds: float, span: tuple[float, float] | None) -> Cell:
    if seconds != seconds:
        return Cell("")
    if span is None:
        return Cell(short(seconds), seconds)
    small = element("small", f" ({short(span[0])} to {short(span[1])})")
    return Cell(join((short(seconds), element("br"), small)), seconds)


def _attainment(
    served: Served, name: str, objectives: Sequence[Objective], columns: Columns
) -> dict[str, Any]:
    curves = [within(column(served.ran, name), "as predicted")]
    if served.ends is not None:
        names = ("with the shortest iterations of 90 in 100", "with the longest")
        curves += [
            within(column(ran, name), told) for ran, told in zip(served.ends, names, strict=True)
        ]
    marks: list[dict[str, Any]] = [
        {"ns": one.seconds * 1e9, "name": f"{one}"} for one in objectives if one.measure == name
    ]
    _add(f"{name}-curve", curves, columns)
    times = [*(int(curve.at_ns[at]) for curve in curves for at in (0, -1)),
             *(mark["ns"] for mark in marks)]  # fmt: skip
    low, high = max(min(times), 1) / 1.1, max(times) * 1.1
    return {
        "id": f"{name}-curve", "title": _MEASURES[name], "series": [one.name for one in curves],
        "low_ns": low, "high_ns": high, "marks": marks,
    }  # fmt: skip


def _load(served: Served, ran: Ran, name: str, columns: Columns) -> dict[str, Any]:
    curves = load(ran, served.fleet, name)
    _add(f"{name}-load", curves, columns)
    room = kv_room(served.fleet) if name == "kv_tokens" else None
    limit = None
    if room is not None and len(curves) == len(replica_names(served.fleet)):
        limit = {"value": room, "name": f"room of a replica: {room:,} tokens"}
    names = [one.name for one in curves]
    return {"id": f"{name}-load", "title": LOAD[name], "series": names, "limit": limit}


def _add(name: str, curves: Sequence[Curve], columns: Columns) -> None:
    for at, curve in enumerate(curves):
        columns.add(f"{name}.{at}.at", curve.at_ns)
        columns.add_reals(f"{name}.{at}.value", curve.values)


def _boxes(pictures: Sequence[dict[str, Any]]) -> Html:
    return join(element("div", id=one["id"], class_="chart") for one in pictures)


def spent(ran: Ran) -> Html:
    """Bars of where time went, of all and from the fastest to the slowest."""
    spent, e2e = ran.spent_s, ran.e2e_s
    order = np.argsort(e2e, kind="stable")
    rows = [_bar("all requests", "mean", spent)]
    for low, high, name in _BANDS:
        mine = order[len(order) * low // 100 : len(order) * high // 100]
        if len(mine):
            rows.append(_bar(name, count(len(mine), "request", commas=True), spent[mine]))
    keys = [
        (_PHASES[name], f"phase-{name}") for at, name in enumerate(PHASES) if spent[:, at].any()
    ]
    return join((legend(keys), element("div", *rows, class_="bars wide")))


def _bar(name: str, about: str, spent: np.ndarray) -> Html:
    means = spent.mean(axis=0).tolist()
    pieces = [
        Piece(_PHASES[phase], f"phase-{phase}", mean)
        for phase, mean in zip(PHASES, means, strict=True)
    ]
    return row(name, f"{about}, {short(sum(means))}", pieces, sum(means), short)


def _behind(ran: Ran) -> Html:
    behind = ran.behind_s
    means = behind.mean(axis=0).tolist()
    whole = sum(means)
    if whole <= 0:
        return element("p", "No request waited to start.", class_="note")
    pieces = [
        Piece(REASONS[name], f"behind-{name}", mean)
        for name, mean in zip(OBSTACLES, means, strict=True)
    ]
    keys = [(piece.name, piece.style) for piece in pieces if piece.amount > 0]
    heads = [
        Head("held by", False),
        Head("mean"),
        Head("share"),
        Head("requests", about="held by it at all"),
    ]
    rows = [
        (
            piece.name,
            Cell(short(piece.amount), piece.amount),
            Cell(f"{piece.amount / whole:.1%}", piece.amount),
            Cell(f"{held:,}", held),
        )
        for piece, held in zip(pieces, (behind > 0).sum(axis=0).tolist(), strict=True)
        if piece.amount > 0
    ]
    bar = row("all requests", f"mean, {short(whole)}", pieces, whole, short)
    return join(
        (
            legend(keys),
            element("div", bar, class_="bars wide"),
            table("What held requests", heads, rows),
        )
    )


def _replicas(served: Served, ran: Ran) -> Html:
    makespan = ran.makespan_s
    worked = ran.column("replica_worked") / PS
    busy = worked / makespan
    iterations = ran.column("replica_iterations")
    names = replica_names(served.fleet)
    engines = [pool.engine_name for pool in served.fleet.pools for _ in range(pool.replicas)]
    shown = range(min(len(names), _MOST_REPLICAS))
    bars = [
        row(names[at], engines[at], [Piece("busy", "busy", float(worked[at]))], makespan, short)
        for at in shown[:_MOST_BARS]
    ]
    heads = [
        Head("replica", False),
        Head("engine", False),
        Head("iterations"),
        Head("busy"),
        Head("of the run"),
    ]
    rows = [
        (
            Cell(names[at], at),
            engines[at],
            Cell(f"{int(iterations[at]):,}", int(iterations[at])),
            Cell(short(float(worked[at])), float(worked[at])),
            Cell(f"{busy[at]:.1%}", float(busy[at])),
        )
        for at in shown
    ]
    key = legend([("busy", "busy")])
    return join((key, element("div", *bars, class_="bars wide"), table("Replicas", heads, rows)))


def _longest(ran: Ran) -> Html:
    queue, behind = ran.queue_s, ran.behind_s
    begin = ran.column("arrival").min()
    arrived = (ran.column("arrival") - begin) / PS
    order = np.argsort(-queue, kind="stable")[:_LONGEST]
    heads = [Head(name, name != "held by") for name in _OF_REQUESTS]
    rows = []
    for at in order[queue[order] > 0].tolist():
        why = REASONS[OBSTACLES[int(behind[at].argmax())]] if behind[at].any() else ""
        times = [(float(of[at])) for of in (queue, ran.ttft_s, ran.e2e_s)]
        waited, ttft, e2e = (Cell(short(time), time) for time in times)
        sizes = ran.requests.prompt, ran.requests.output
        counted = *sizes, ran.column("restarts"), ran.column("cached")
        prompt, output, restarts, cached = (Cell(f"{of[at]:,}", int(of[at])) for of in counted)
        first = Cell(f"{at:,}", at), Cell(short(float(arrived[at])), float(arrived[at]))
        rows.append((*first, prompt, output, waited, why, ttft, e2e, restarts, cached))
    return table(f"By the time to their first iteration, at most {_LONGEST}", heads, rows)
