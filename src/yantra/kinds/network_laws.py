"""The laws every network keeps, and a command that checks one against them.

    python -m yantra.kinds.network_laws analytical
    python -m yantra.kinds.network_laws path/to/my_network.py

How messages share links is the network's choice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import isclose
from typing import Any

from yantra.base import contract
from yantra.base.contract import Contract
from yantra.base.errors import DeadlockError, UnsupportedError, YantraError
from yantra.base.fields import Plugin, PluginChoice
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.compile.fabric import links_between
from yantra.network import Level, find, level_of
from yantra.network.model import Dimension as FabricDimension
from yantra.network.model import Fabric
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces

TOPOLOGIES = (
    (("fully_connected", 6, 25.0, 300.0),),
    (("ring", 8, 50.0, 500.0),),
    (("switch", 4, 100.0, 250.0), ("ring", 3, 12.5, 2000.0)),
)
ON_CHIP = (
    (("ring", 8, 50.0, 0.5),),
    (("mesh", 4, 64.0, 0.25), ("ring", 3, 64.0, 1.0)),
)
"""On-chip topologies: rings and meshes of one bandwidth, with short links."""
FABRICS = (
    Plugin(
        kind="leaf_spine",
        options=(
            ("leaves", 2),
            ("ranks_per_leaf", 3),
            ("spines", 2),
            ("bytes_per_ns", 25.0),
            ("latency_ns", 300.0),
        ),
    ),
    Plugin(kind="dgx1", options=(("bytes_per_ns", 25.0), ("latency_ns", 700.0))),
)
"""For networks that run over graphs."""
ROUTING = "shortest"
SIZES = (1, 1000, 65_536, 10**7)
AT_ONCE = 3
"""Messages of a pair under way."""
PARTS, PART = 8, 5000
ENDS = ("send", "receive")
THREADS = 4
NEAR = 2  # links between ranks of one switch
LONGEST_HEADERS = 100  # bytes
LONGEST_STAGES = 300  # of routers at both ends of an on-chip channel, in bytes of it
LONGEST_FLIT = 64  # bytes

Kind = str | type
Where = tuple[tuple[str, int, float, float], ...] | Plugin
"""Dimensions, or a fabric."""
Post = tuple[int, int, int]


class Case:
    """A network, a `Plugin` if with options, on one topology or fabric."""

    def __init__(self, kind: PluginChoice, where: Where) -> None:
        self.kind = kind
        self.level: Level = level_of(kind)
        self.on = where if isinstance(where, Plugin) else None
        dimensions = where if not isinstance(where, Plugin) else _one_dimension_of(where)
        self.topology = Topology(
            dimensions=tuple(
                Dimension(kind=name, size=size, bytes_per_ns=rate, latency_ns=latency)
                for name, size, rate, latency in dimensions
            )
        )
        self.fabric = Fabric(tuple(FabricDimension(*of) for of in dimensions))
        self.graph = None if self.on is None else _graph_of(self.on)

    def __str__(self) -> str:
        if self.on is not None:
            return f"the fabric {self.on.kind} of {self.topology.ranks}"
        return " x ".join(f"{of.kind} {of.size}" for of in self.topology.dimensions)

    def links(self, source: int, destination: int) -> list[tuple[float, float]]:
        """Rate (bytes/ns) and latency (ns) of each link that a message crosses."""
        if self.graph is not None:
            path = links_between(self.graph, ROUTING, source, destination)
            of = self.graph.links
            return [(float(of.bytes_per_ns[at]), float(of.latency_ns[at])) for at in path]
        return [
            (of.bytes_per_ns, of.latency_ns)
            for of in self.fabric.crossings(source, destination)
            for _ in range(of.hops)
        ]

    def crossed(self, source: int, destination: int) -> int:
        if self.level.has("has_links"):
            return len(self.links(source, destination))
        return len(self.fabric.crossings(source, destination))

    def fastest(self, dimension: int) -> float:
        """The rate of a dimension's links, of a fabric the highest (bytes/ns)."""
        if self.graph is not None:
            return float(self.graph.links.bytes_per_ns.max())
        return self.topology.dimensions[dimension].bytes_per_ns

    def alone_ns(self, post: Post) -> float:
        source, destination, size = post
        links = self.links(source, destination)
        latency = sum(latency for _, latency in links) if self.level.has("charges_latency") else 0.0
        return latency + size / min(rate for rate, _ in links)

    def arrivals(self, posts: Sequence[Post], *, one_by_one: bool = False) -> list[float]:
        """When each message sent at 0 arrives, in ns; or `one_by_one`, each when the rank's last
        has left.
        """
        return self.ends("receive", self.messages(posts, one_by_one=one_by_one), len(posts))

    def ends(self, what: str, messages: Traces, count: int) -> list[float]:
        """When each `send` or `receive` of a job of messages ends, in ns."""
        rows = self.run(messages).nodes.as_dict()
        ends = dict(zip(rows["name"], rows["end_ns"], strict=True))
        return [ends[f"{what} {tag}"] for tag in range(count)]

    def messages(self, posts: Sequence[Post], *, one_by_one: bool = False) -> Traces:
        """A job of messages sent at 0, or `one_by_one`.

        Each has its own group, as a rank sends one message of a group at a time.
        """
        traces = [TraceBuilder(rank=rank) for rank in range(self.topology.ranks)]
        last: dict[int, Any] = {}
        for tag, (source, destination, size) in enumerate(posts):
            after = [last[source]] if one_by_one and source in last else []
            last[source] = traces[source].send(
                destination, size, tag=tag, group=f"{tag + 1}", after=after, name=f"send {tag}"
            )
            traces[destination].recv(source, size, tag=tag, name=f"receive {tag}")
        return Traces(
            traces=tuple(trace.build() for trace in traces),
            groups=tuple((tag + 1, posts[tag][:2]) for tag in range(len(posts))),
        )

    def there_and_back(self, size: int, times: int) -> Traces:
        """A job in which ranks 0 and 1 answer each other."""
        traces = [TraceBuilder(rank=rank) for rank in range(self.topology.ranks)]
        came: list[list[Any]] = [[], []]
        for tag in range(2 * times):
            source, destination = tag % 2, 1 - tag % 2
            traces[source].send(destination, size, tag=tag, after=came[source], name=f"send {tag}")
            came[destination] = [
                traces[destination].recv(source, size, tag=tag, name=f"receive {tag}")
            ]
        return Traces(traces=tuple(trace.build() for trace in traces))

    @property
    def every_pair(self) -> list[Post]:
        ranks = self.topology.ranks
        return [(a, b, 100 * a + b) for a in range(ranks) for b in range(ranks) if a != b]

    def all_reduce(self, size: int, fold: str = "auto") -> Result:
        return self.run(self.all_reduces(size), fold)

    def all_reduces(self, size: int) -> Traces:
        trace = TraceBuilder()
        trace.collective(CollectiveType.ALL_REDUCE, size)
        return Traces(traces=(trace.build(),) * self.topology.ranks)

    def run(self, workload: Traces, fold: str = "off") -> Result:
        return simulate(self.scenario(workload, fold))

    def scenario(self, workload: Traces, fold: str = "off") -> Scenario:
        ring = ("ring",) * len(self.topology.dimensions)
        collectives = Collectives(all_reduce=ring, chunks=2, endpoint_delay_ns=0)
        return Scenario(
            workload=workload,
            topology=self.topology,
            network=self.kind,
            collectives=collectives,
            fabric=self.on,
            routing=None if self.on is None else ROUTING,
            fold=fold,  # type: ignore[arg-type]
        )

    @property
    def neighbours(self) -> list[Post]:
        """A message from every other rank to the next: none share a rank or a link."""
        return [
            (rank, rank + 1, 1000)
            for rank in range(0, self.topology.dimensions[0].size - 1, 2)
            if self.graph is None or len(self.links(rank, rank + 1)) <= NEAR
        ]


def _graph_of(fabric: Plugin) -> Any:
    from yantra.fabric.graphs import builder_of, graph_of

    return graph_of(builder_of(fabric, "fabric"), "fabric")


def _one_dimension_of(fabric: Plugin) -> tuple[tuple[str, int, float, float], ...]:
    return (("switch", _graph_of(fabric).ranks, 25.0, 300.0),)


Law = Callable[[Case], str | None]


def every_message_arrives(case: Case) -> str | None:
    try:
        case.arrivals(case.every_pair)
        case.all_reduce(10_000)
    except DeadlockError as error:
        return _why(error)
    return None


def _why(error: DeadlockError) -> str:
    lines = str(error).splitlines()
    return next((line for line in lines if "did not arrive" in line), lines[-1])


def several_messages_of_a_pair_arrive(case: Case) -> str | None:
    posts = [post for post in case.every_pair for _ in range(AT_ONCE)]
    try:
        case.arrivals(posts)
    except DeadlockError as error:
        return f"of {AT_ONCE} messages of each pair at once some are lost: {_why(error)}"
    return None


def messages_that_depend_on_each_other_arrive(case: Case) -> str | None:
    pairs = [(0, 1, 1000), (0, 1, 1000), (1, 0, 70_000), (1, 0, 1000), (0, 1, 1000)]
    try:
        case.arrivals(pairs, one_by_one=True)
    except DeadlockError as error:
        return f"one that is sent when another has left does not arrive: {_why(error)}"
    try:
        case.ends("receive", case.there_and_back(1000, 3), 6)
    except DeadlockError as error:
        return f"one that is sent when another has come does not arrive: {_why(error)}"
    return None


def a_message_in_parts_takes_no_less_than_the_whole(case: Case) -> str | None:
    """Parts, each sent when the one before has left, take at least as long as the whole.

    At most, for each part, a one-byte message's send more; twice that with headers.
    """
    for destination in range(1, case.topology.ranks):
        if len(case.links(0, destination)) != 1:
            continue
        whole = case.arrivals([(0, destination, PARTS * PART)])[0]
        byte = max(case.ends(what, case.messages([(0, destination, 1)]), 1)[0] for what in ENDS)
        parts = case.arrivals([(0, destination, PART)] * PARTS, one_by_one=True)[-1]
        most = whole + (PARTS - 1) * byte * (2 if case.level.has("has_headers") else 1)
        if not whole - 0.01 <= parts <= most + 0.01:
            bounds = f"expected {whole:g}, as the whole, to {most:g}"
            return f"{PARTS} parts of {PART} B to rank {destination} take {parts:g} ns; {bounds}"
    return None


def a_busy_link_carries_no_more_than_its_rate(case: Case) -> str | None:
    if not case.level.has("has_links"):
        return None
    ranks = case.topology.ranks
    for posts in ([(a, 0, 50_000) for a in range(1, ranks)], case.every_pair):
        result = case.run(case.messages(posts))
        table, most_ns = result.links.as_dict(), result.makespan_ns * (1 + 1e-9)
        columns = (table[name] for name in ("dimension", "bytes", "busy_ns"))
        for link, (dimension, carried, busy_ns) in enumerate(zip(*columns, strict=True)):
            rate = case.fastest(dimension)
            if carried > rate * most_ns + 1 or busy_ns > most_ns + 1:
                return (
                    f"link {link} carries {carried} bytes at {rate:g} bytes/ns and is busy for "
                    f"{busy_ns:g} ns, in {result.makespan_ns:g} ns"
                )
    return None


def a_message_alone_takes_its_latency_and_its_bytes(case: Case) -> str | None:
    """Over one hop, latency + size / bandwidth, or size / bandwidth without latency.

    Over several at least that. Headers may add a fifth and LONGEST_HEADERS, on-chip routers
    LONGEST_STAGES. Options have their defaults, so what one adds to messages must default to 0.
    """
    for destination in range(1, case.topology.ranks):
        for size in SIZES:
            post = (0, destination, size)
            took, least = case.arrivals([post])[0], case.alone_ns(post)
            hops = len(case.links(0, destination))
            same = isclose(took, least, rel_tol=1e-9, abs_tol=0.002)
            if case.level.has("has_headers"):
                more = LONGEST_STAGES if case.level.has("on_chip") else LONGEST_HEADERS
                most = 1.2 * case.alone_ns((0, destination, size + more))
                same = hops == 1 and least <= took <= most
            if not same and (hops == 1 or took < least):
                way = "one hop" if hops == 1 else f"{hops} hops"
                what = f"{size} B over {way} to rank {destination}"
                given = " with the defaults of its options" if case.level.options else ""
                expected = f"expected {'' if hops == 1 else 'at least '}{least:g}"
                return f"{what} take {took:g} ns{given}; {expected}"
    return None


def more_bytes_arrive_no_earlier(case: Case) -> str | None:
    """More bytes between the same ranks arrive no earlier."""
    for destination in range(1, case.topology.ranks):
        times = [case.arrivals([(0, destination, size)])[0] for size in SIZES]
        if times != sorted(times):
            return f"to rank {destination}, {SIZES} bytes arrive at {times} ns"
    return None


def messages_that_share_no_rank_and_no_link_do_not_wait(case: Case) -> str | None:
    together = case.arrivals(case.neighbours)
    for post, time in zip(case.neighbours, together, strict=True):
        alone = case.arrivals([post])[0]
        if not isclose(time, alone, abs_tol=0.002):
            return f"{post[0]} to {post[1]} takes {time:g} ns, alone {alone:g}"
    return None


def bytes_are_conserved(case: Case) -> str | None:
    """What is carried is what was sent, once for each link or dimension crossed.

    On chip, in whole flits.
    """
    for posts in ([(0, 1, 4321)], case.every_pair):
        carried = sum(use.bytes for use in case.run(case.messages(posts)).dimension_uses)
        times = [case.crossed(source, destination) for source, destination, _ in posts]
        least = sum(size * of for (_, _, size), of in zip(posts, times, strict=True))
        most = least + (sum(times) * (LONGEST_FLIT - 1) if case.level.has("on_chip") else 0)
        if not least <= carried <= most:
            what = "4321 bytes were" if len(posts) == 1 else f"{len(posts)} messages were"
            return f"{what} sent, over all links {least} bytes; {carried} are said to be carried"
    return None


def the_same_run_twice_is_the_same(case: Case) -> str | None:
    first, second = (list(case.all_reduce(50_000).finish_ps) for _ in range(2))
    return None if first == second else "two runs of one all-reduce end at different times"


def runs_on_any_number_of_threads_are_the_same(case: Case) -> str | None:
    """Concurrent runs of a model have the nodes and links of each alone."""
    for workload in (case.messages(case.every_pair), case.all_reduces(50_000)):
        model = compile(case.scenario(workload))

        def columns(_: int, model: Any = model) -> tuple[Any, ...]:
            result = run(model)
            ends = result.nodes.as_dict()["end_ns"]
            return list(result.finish_ps), list(ends), [use[:6] for use in result.dimension_uses]

        alone = columns(0)
        with ThreadPoolExecutor(THREADS) as pool:
            if any(other != alone for other in pool.map(columns, range(THREADS))):
                return f"of {THREADS} runs at once some differ from one alone"
    return None


def a_folded_run_is_the_whole_one(case: Case) -> str | None:
    whole = case.all_reduce(50_000, "off")
    try:
        folded = case.all_reduce(50_000, "require")
    except UnsupportedError:
        return None
    if list(folded.finish_ps) == list(whole.finish_ps):
        return None
    return f"folded it ends at {folded.makespan_ns:g} ns, whole at {whole.makespan_ns:g}"


LAWS: tuple[Law, ...] = (
    every_message_arrives,
    several_messages_of_a_pair_arrive,
    messages_that_depend_on_each_other_arrive,
    a_message_alone_takes_its_latency_and_its_bytes,
    more_bytes_arrive_no_earlier,
    a_message_in_parts_takes_no_less_than_the_whole,
    a_busy_link_carries_no_more_than_its_rate,
    messages_that_share_no_rank_and_no_link_do_not_wait,
    bytes_are_conserved,
    the_same_run_twice_is_the_same,
    runs_on_any_number_of_threads_are_the_same,
    a_folded_run_is_the_whole_one,
)


def violations(kind: PluginChoice) -> Iterator[str]:
    for where in places_of(kind):
        case = Case(kind, where)
        for law in LAWS:
            try:
                wrong = law(case)
            except YantraError as error:
                wrong = str(error)
            if wrong:
                yield f"{case}: {law.__name__}: {wrong}"


def places_of(kind: PluginChoice) -> tuple[Where, ...]:
    level = level_of(kind)
    if level.has("on_chip"):
        return ON_CHIP
    return (*TOPOLOGIES, *FABRICS) if level.has("on_fabric") else TOPOLOGIES


def summary(kind: PluginChoice) -> str:
    return f"every law holds on {', '.join(str(Case(kind, of)) for of in places_of(kind))}"


def known(name: str) -> Kind:
    find(name)
    return name


CONTRACT = Contract(
    kind="network",
    module="yantra.kinds.network_laws",
    about="Check a network: that it delivers, in time, what it is sent.",
    argument="a name (ideal), or a file with a line PLUGIN =",
    find=known,
    violations=violations,
    summary=summary,
)


main = partial(contract.main, CONTRACT)
"""Check the network named on the command line; return the exit status."""


if __name__ == "__main__":
    sys.exit(main())
