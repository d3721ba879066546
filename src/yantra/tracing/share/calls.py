"""Communications of a job, with the calls of each group poured into a number of calls that says
nothing about layers.

Calls of one kind between messages are a run. A run of four or more becomes `most` calls, whatever
there were; two or three become two. Their sizes are drawn over `_OCTAVES`, as equal ones would tell
how many bytes one kind has over another. The order of all calls of a job is that of their mean
begin on the lowest rank, so no two ranks wait for each other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from yantra.base.errors import TraceError
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.obfuscate.keyed import Keyed

_FEW = 3
_OCTAVES = 6


class Times(NamedTuple):
    """When each node of a rank began and ended in a run, in ns, by place in `Columns`."""

    start: list[float]
    end: list[float]


class Rank(NamedTuple):
    """A rank's trace as columns, and when its nodes ran."""

    columns: Columns
    times: Times


class Part(NamedTuple):
    """A node's part in a call: its share in the call, and the share of the node that it is."""

    node: int
    of_call: float
    of_node: float


class Call(NamedTuple):
    """One call to write, and the nodes of each rank of which it is made.

    `order`: the job's order; of a receive it is later than that of its send. `transfer_ns`: as
    recorded, from the last arrival.
    """

    order: tuple[float, int, str, int]
    type: int
    size: int
    nodes: dict[int, list[Part]]
    transfer_ns: float = 0.0


Kind = tuple[str, int | None, tuple[int, int]]


def calls_of(
    by_rank: Mapping[int, Columns], times: Mapping[int, Times], most: int, keyed: Keyed
) -> list[Call]:
    """All calls of a job. Raises TraceError where ranks of a group make different calls."""
    made: dict[Kind, dict[int, list[int]]] = defaultdict(dict)
    calls: list[Call] = []
    for rank, columns in by_rank.items():
        order = sorted(range(columns.count), key=lambda at: (times[rank].start[at], at))
        for at in order:
            if columns.type[at] == NodeType.COMM_COLL:
                made[_kind(columns, at)].setdefault(rank, []).append(at)
            elif columns.type[at] in (NodeType.COMM_SEND, NodeType.COMM_RECV):
                calls.append(_message(rank, columns, at, times[rank]))
    groups: dict[tuple[str, tuple[int, ...]], int] = {}
    for kind, nodes in sorted(made.items(), key=lambda item: repr(item[0])):
        for ranks in _meeting(kind, nodes, by_rank):
            number = groups.setdefault((kind[0], ranks), len(groups))
            part = {rank: nodes[rank] for rank in ranks}
            leader = Rank(by_rank[ranks[0]], times[ranks[0]])
            took = [recorded_ns(by_rank[rank], part[rank]) for rank in ranks]
            calls += _poured(kind, number, part, leader, most, keyed, [*map(min, *took, took[0])])
    return sorted(calls, key=lambda call: call.order)


def _kind(columns: Columns, at: int) -> Kind:
    return columns.group[at], columns.comm_type[at], columns.involved(at)


def _message(rank: int, columns: Columns, at: int, times: Times) -> Call:
    is_send = columns.type[at] == NodeType.COMM_SEND
    when = times.start[at] if is_send else times.end[at]
    order = when, 0 if is_send else 1, f"rank {rank}", at
    return Call(order, columns.type[at], columns.comm_size[at] or 0, {rank: [Part(at, 1.0, 1.0)]})


def _meeting(
    kind: Kind, nodes: Mapping[int, list[int]], by_rank: Mapping[int, Columns]
) -> list[tuple[int, ...]]:
    """Ranks that make equal calls: a name without members in the trace may be several groups."""
    alike: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
    for rank in sorted(nodes):
        alike[tuple(by_rank[rank].comm_size[at] for at in nodes[rank])].append(rank)
    if kind[2][1] == 0 and len(alike) > 1:
        ranks = [members[0] for members in alike.values()]
        raise TraceError(
            f"ranks {ranks[0]} and {ranks[1]}: make different calls in group {kind[0]}; "
            "`yantra chakra validate` says which; share traces whose ranks agree"
        )
    return [tuple(members) for members in alike.values()]


def _poured(
    kind: Kind,
    number: int,
    nodes: Mapping[int, Sequence[int]],
    leader: Rank,
    most: int,
    keyed: Keyed,
    transfers: Sequence[int],
) -> list[Call]:
    first = min(nodes)
    columns, times = leader
    messages = sorted(
        times.start[at] if type == NodeType.COMM_SEND else times.end[at]
        for at, type in enumerate(columns.type)
        if type in (NodeType.COMM_SEND, NodeType.COMM_RECV)
    )
    runs: dict[int, list[int]] = defaultdict(list)
    for place, at in enumerate(nodes[first]):
        runs[sum(when <= times.start[at] for when in messages)].append(place)
    calls = []
    for places in runs.values():
        own = [nodes[first][place] for place in places]
        sizes = [columns.comm_size[at] or 0 for at in own]
        total = sum(sizes)
        wanted = most if len(own) > _FEW else min(len(own), 2)
        ends = [0.0, *accumulate(_drawn(keyed, kind[1], wanted))]
        cuts = [round(total * end) for end in ends]
        for part, chosen in enumerate(_shares([size + 1 for size in sizes], ends)):
            when = sum(times.start[own[n]] * share for n, share, _ in chosen)
            size = cuts[part + 1] - cuts[part]
            stands = {
                rank: [Part(of[places[n]], *shares) for n, *shares in chosen]
                for rank, of in nodes.items()
            }
            moved = sum(transfers[places[n]] * of_node for n, _, of_node in chosen)
            order = when, 2, kind[0], number
            calls.append(Call(order, int(NodeType.COMM_COLL), size, stands, moved))
    return calls


def recorded_ns(columns: Columns, nodes: Sequence[int]) -> list[int]:
    """How long nodes took."""
    exact = columns.integers("duration_ns")
    return [columns.duration[at] * 1000 if (ns := exact[at]) is None else ns for at in nodes]


def _drawn(keyed: Keyed, type: int | None, parts: int) -> list[float]:
    """Shares of a whole, unequal by chance; alike in all passes, which wait for each other."""
    drawn = [keyed.number("call", type, part) / (1 << 128) for part in range(parts)]
    weights = [2 ** (_OCTAVES * each) for each in drawn]
    return [weight / sum(weights) for weight in weights]


def _shares(sizes: Sequence[int], ends: Sequence[float]) -> list[list[tuple[int, float, float]]]:
    """Cut sizes in a row at shares of the whole: for each part, indices, shares in it, shares of
    the size.
    """
    whole = sum(sizes)
    cuts = [whole * end for end in ends]
    found: list[list[tuple[int, float, float]]] = [[] for _ in cuts[1:]]
    done = 0.0
    for index, size in enumerate(sizes):
        begin, done = done, done + size
        for part in range(max(bisect_right(cuts, begin) - 1, 0), len(found)):
            if cuts[part] >= done:
                break
            inside = min(done, cuts[part + 1]) - max(begin, cuts[part])
            if inside > 0:
                each = cuts[part + 1] - cuts[part]
                found[part].append((index, inside / each, inside / size))
    return found
