"""Why a recorded job takes so long, as text: what stands out first, then tables."""

from __future__ import annotations

from collections.abc import Iterator

from yantra.base.text import Grid, count, filled, rank_list, shortened
from yantra.base.units import format_size, format_time
from yantra.explain.parts import block
from yantra.explain.recordings.transfers import Transfer
from yantra.explain.recordings.why import WAITING, Why
from yantra.tracing.why.look import TITLES

_WIDEST = 48
_NOTHING = "no rank and no transfer stands out"


def text(of: Why, top: int = 10) -> str:
    """The answer in words, `top` rows a table."""
    return "\n\n".join(_blocks(of, top)) + "\n"


def _blocks(of: Why, top: int) -> Iterator[str]:
    alone = "" if of.ranks == of.world_size else f" of {of.world_size}"
    yield filled(
        f"{count(of.ranks, 'rank')}{alone}, {format_time(of.window_ns)}; {of.clocks.in_words()}"
        if of.ranks > 1
        else f"1 rank{alone}, {format_time(of.window_ns)}; {_alone(of)}"
    )
    if of.ranks > 1:
        yield "\n".join(map(filled, [*(of.named or [_NOTHING]), *_missing(of)]))
    yield _parts(of)
    if of.causes:
        yield "\n".join(
            filled(
                f"unexplained time is likely {row['name']}: {format_time(row['most_ns'])} on rank "
                f"{row['rank']}, where {row['evidence']}"
            )
            for row in of.causes
        )
    if of.late:
        yield _late(of, top)
        yield _collectives(of, top)
    if of.transfers:
        yield _transfers(of.transfers[:top])
    if len(of.steps) > 1:
        yield _steps(of, top)


def _alone(of: Why) -> str:
    if of.world_size == 1:
        return "who is late needs the others"
    return "who is late, and whether the network is slow, need the others"


def _missing(of: Why) -> Iterator[str]:
    if of.missing:
        one, several = "rank", f"the {count(len(of.missing), 'rank')}"
        said = f"{one} {of.missing[0]}" if len(of.missing) == 1 else several
        which = "" if len(of.missing) == 1 else f" ({rank_list(tuple(of.missing))})"
        yield f"{said} without a recording{which} may be later than all here"


def _parts(of: Why) -> str:
    whole = sum(row.mean_ns for row in of.parts)
    rows: list[tuple[str, ...]]
    moved = "transfers" if of.ranks > 1 else "transfers and waiting"
    titles = TITLES | {"communication": moved, WAITING: "waiting for late ranks"}
    rows = [
        (
            titles[row.part],
            format_time(row.mean_ns),
            f"{100 * row.mean_ns / whole:.1f} %" if whole else "",
            format_time(row.most_ns),
            str(row.rank),
        )
        for row in sorted(of.parts, key=lambda row: -row.mean_ns)
        if row.most_ns
    ]
    return block("Where the time goes", Grid(("part", "mean", "share", "most", "of rank"), rows))


def _late(of: Why, top: int) -> str:
    rows: list[tuple[str, ...]]
    rows = [
        (
            "transfer" if row.rank is None else f"rank {row.rank}",
            shortened(f"group {row.group} {row.name}" if row.rank is None else row.name, _WIDEST),
            TITLES.get(row.what, row.what),
            format_time(row.waited_ns),
            str(row.times),
            "" if row.since is None else str(row.since),
        )
        for row in of.late[:top]
    ]
    head = ("late", "because of", "part", "others wait", "times", "since step")
    return block("Who is late, and what it costs the others together", Grid(head, rows))


def _collectives(of: Why, top: int) -> str:
    ordered = sorted(of.meetings, key=lambda one: -one.waited_ns)[:top]
    rows: list[tuple[str, ...]]
    rows = [
        (
            f"{one.group}/{one.order}",
            one.kind.lower(),
            shortened(one.operator, _WIDEST),
            "" if one.step is None else str(one.step),
            f"rank {of.rank_of[one.ranks[one.last]]}",
            format_time(one.waited_ns),
            format_time(one.transfer_ns),
        )
        for one in ordered
    ]
    head = ("group/number", "kind", "operator", "step", "comes last", "others wait", "transfer")
    return block("Collectives with most waiting", Grid(head, rows))


def _transfers(some: list[Transfer]) -> str:
    rows: list[tuple[str, ...]]
    rows = [
        (
            one.group,
            str(len(one.ranks)),
            one.kind,
            format_size(one.bytes),
            str(one.calls),
            format_time(one.time_ns),
            f"{one.bus_bytes_per_ns:.3g}",
            _expected(one),
            "" if one.ratio is None else f"{one.ratio:.2f}",
            "" if one.beside is None else f"{one.beside:.2f}",
            " ".join(filter(None, (one.algorithm, one.protocol))),
            one.slow,
        )
        for one in some
    ]
    head = (
        "group", "ranks", "kind", "size", "calls", "transfer", "bus GB/s", "expected", "of it",
        "of others", "by", "slow beside",
    )  # fmt: skip
    return block("Transfers, from the last arrival", Grid(head, rows))


def _expected(one: Transfer) -> str:
    if one.expected_ns is None:
        return ""
    told = format_time(one.expected_ns)
    if one.low_ns is None or one.high_ns is None:
        return told
    return f"{told} ({format_time(one.low_ns)} to {format_time(one.high_ns)})"


def _steps(of: Why, top: int) -> str:
    shown = ("kernels", "communication", "host", "unexplained_host", "unexplained_device")
    rows = [
        (
            str(row.number),
            format_time(row.time_ns),
            *(format_time(row.parts_ns[part]) for part in shown),
            row.longer_because,
        )
        for row in of.steps[-top:]
    ]
    head = ("step", "time", *(TITLES[part] for part in shown), "longer because of")
    return block("Steps, parts in the mean of the ranks", Grid(head, rows))
