"""What laws change of a place: more ranks, other numbers, other units, faster links, damage."""

from __future__ import annotations

from math import log2, prod
from random import Random

from tests.laws.jobs import Job
from tests.laws.places import Cable, Dim, Place, cluster_of, speed
from yantra.chakra import Node, NodeType, Trace
from yantra.scenario import Collectives, Scenario, Traces

ALGORITHMS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def _also_outside(collectives: Collectives, dimensions: int) -> Collectives:
    more = {}
    for kind in ALGORITHMS:
        names = getattr(collectives, kind)
        more[kind] = (*names, *names[-1:] * (dimensions - len(names)))
    return collectives.replace(**more)


def doubled(draw: Random, place: Place) -> Place | None:
    """None where a named cluster has no such number of ranks, or other links."""
    if place.cluster:
        found = cluster_of(place.cluster, 2 * place.ranks)
        if found is None or any(kind in ("mesh", "ring") for kind, *_ in found[0]):
            return None  # a torus of more ranks has other links
        return place._replace(dims=found[0], collectives=found[1])
    outside: Dim = (draw.choice(("ring", "switch", "fully_connected")), 2, *speed(draw))
    dims = (*place.dims, outside)
    place = place._replace(dims=dims, collectives=_also_outside(place.collectives, len(dims)))
    return _twice(place, speed(draw)) if place.cables else place


def _twice(place: Place, joined: tuple[float, float]) -> Place:
    ranks, switches = place.ranks // 2, place.devices - place.ranks // 2

    def moved(device: int, copy: int) -> int:
        if device < ranks:
            return device + copy * ranks
        return device - ranks + 2 * ranks + copy * switches

    cables: list[Cable] = [
        (moved(one, copy), moved(other, copy), *rest)
        for copy in (0, 1)
        for one, other, *rest in place.cables
    ]
    end = place.devices - 1
    cables.append((moved(end, 0), moved(end, 1), *joined))
    return place._replace(cables=tuple(cables), devices=2 * place.devices)


def grown(draw: Random, place: Place) -> Place | None:
    (kind, size, *rest), *others = place.dims
    if others or place.sort != "dimensions" or kind == "ring" or place.needs_powers:
        return None
    return place._replace(dims=((kind, size + draw.randrange(1, 6), *rest),))


def relabelling(draw: Random, place: Place, job: Job) -> tuple[int, ...]:
    """Return new numbers of ranks under which the network is the same. Where there are collectives,
    or a ring, its members keep their order; else any two are interchangeable.
    """
    turns, sizes = job.has_collectives, [size for _, size, *_ in place.dims]
    new = [_order(draw, kind, size, turns, place.needs_powers) for kind, size, *_ in place.dims]
    groups = [step.ranks for step in job.steps if step.what == "collective"]
    if not all(is_product(group, sizes) for group in groups):
        new[:-1] = [list(range(size)) for size in sizes[:-1]]
        if place.needs_powers:  # bits are turned there, not the ring of nodes
            new[-1] = list(range(sizes[-1]))
    numbers = []
    for rank in range(place.ranks):
        strides = [prod(sizes[:at]) for at in range(len(sizes))]
        at = [rank // stride % size for stride, size in zip(strides, sizes, strict=True)]
        numbers.append(sum(new[d][at[d]] * strides[d] for d in range(len(sizes))))
    if place.needs_powers and not all(_keeps_partners(group, numbers) for group in groups):
        return tuple(range(place.ranks))
    return tuple(numbers)


def _keeps_partners(group: tuple[int, ...], numbers: list[int]) -> bool:
    order = sorted(numbers[rank] for rank in group)
    places = [order.index(numbers[rank]) for rank in sorted(group)]
    return all(place == places[0] ^ at for at, place in enumerate(places))


def is_product(ranks: tuple[int, ...], sizes: list[int]) -> bool:
    strides = [prod(sizes[:at]) for at in range(len(sizes))]
    along = [
        {rank // stride % size for rank in ranks}
        for stride, size in zip(strides, sizes, strict=True)
    ]
    return prod(len(one) for one in along) == len(ranks)


def _order(draw: Random, kind: str, size: int, turns: bool, powers: bool) -> list[int]:
    if kind == "mesh" and size > 2:
        return list(range(size))
    by = draw.randrange(size)
    if turns and powers:  # halving and doubling finds partners by bits
        by = by if kind != "ring" else draw.choice((0, size // 2))
        return [at ^ by for at in range(size)]
    order = [(at + by) % size for at in range(size)]
    if kind != "ring" and not turns:
        draw.shuffle(order)
    return order


def scaled(place: Place, by: int) -> Place:
    delays = {
        name: getattr(place.collectives, name) * by
        for name in ("endpoint_delay_ns", "local_reduction_delay_ns")
    }
    return place._replace(
        dims=tuple((kind, size, rate / by, ns * by) for kind, size, rate, ns in place.dims),
        cables=tuple((one, other, rate / by, ns * by) for one, other, rate, ns in place.cables),
        collectives=place.collectives.replace(**delays),
        stretch=place.stretch * by,
    )


def whole_picoseconds(place: Place) -> Place:
    """Return a place of whole ns of latency, where a byte takes a whole number of picoseconds.

    Rates are powers of two, and at most 8 bytes/ns: so a byte takes 125 ps or more.
    """

    def near(rate: float, ns: float) -> tuple[float, float]:
        return 2.0 ** min(3, round(log2(rate))), float(round(ns))

    return place._replace(
        dims=tuple((kind, size, *near(rate, ns)) for kind, size, rate, ns in place.dims),
        cables=tuple((one, other, *near(rate, ns)) for one, other, rate, ns in place.cables),
    )


def shaken(draw: Random, place: Place) -> Place:
    name = "cables" if place.cables else "dims"
    rows = tuple(
        (*ends, rate * (1 + draw.uniform(-1e-7, 1e-7)), ns + draw.choice((0.0, 0.001, 0.002)))
        for *ends, rate, ns in getattr(place, name)
    )
    return place._replace(**{name: rows})


def faster_place(draw: Random, place: Place) -> Place:
    rows = list(place.cables or place.dims)
    at = draw.randrange(len(rows))
    *ends, rate, ns = rows[at]
    if draw.random() < 0.5:
        rate *= draw.choice((1.01, 1.5, 2.0, 40.0))
    else:
        ns *= draw.choice((0.5, 0.9))
    rows[at] = (*ends, rate, ns)  # type: ignore[assignment]
    return place._replace(**{"cables" if place.cables else "dims": tuple(rows)})


def damaged(scenario: Scenario, how: str) -> Scenario:
    """Return a scenario with a mistake in one trace, if it has something to get wrong.

    `size`: a receive of another size than its send; `tag`; `receive` and `send`: one that is not
    there; `member`: a collective that one member leaves out; `peer`: a send to no rank.
    """
    workload = scenario.workload
    assert isinstance(workload, Traces)
    kind = {"send": NodeType.COMM_SEND, "peer": NodeType.COMM_SEND, "member": NodeType.COMM_COLL}
    wanted = kind.get(how, NodeType.COMM_RECV)
    made, done = [], how == "none"
    for trace in workload.traces:
        nodes = list(trace)
        at = next((at for at, node in enumerate(nodes) if node.type == wanted), None)
        if not done and at is not None:
            done = True
            if how in _FIELDS:
                nodes[at].set(_FIELDS[how], nodes[at][_FIELDS[how]] + 1000)
            else:
                nodes = _left_out(nodes, at)
        made.append(Trace(nodes))
    return scenario.replace(workload=Traces(traces=tuple(made), groups=workload.groups))


_FIELDS = {"size": "comm_size", "tag": "comm_tag", "peer": "comm_dst"}


def _left_out(nodes: list[Node], at: int) -> list[Node]:
    gone = nodes.pop(at)
    for node in nodes:
        if gone.id in node.data_deps:
            node.data_deps = [one for one in node.data_deps if one != gone.id] + gone.data_deps
    return nodes
