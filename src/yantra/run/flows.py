"""A list of flows over a fabric alone: when each ends, and its slowdown.

`flow`: after its route's latency a flow shares its links max-min fairly; alone: latency + bytes /
narrowest link. `analytical`: always that. `store_and_forward`: each link whole, in order of
arrival; alone: latency + bytes / rate of each link. `packet` (docs/concepts/packet-network.md):
through when the receiver has the last byte, or with semantics ns3-fork the sender the last ACK.
`external` (docs/reference/external-networks.md) and others, as in Python, take messages; alone as
on `flow`. Slowdown: time over time alone (Alizadeh et al., "pFabric", SIGCOMM 2013, section 5). On
`flow` links may change rate or fail at stated times; flows keep their routes and wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.text import count
from yantra.compile.fabric import native
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.link_changes import LinkChange
from yantra.fabric.graphs.link_loads import Loads, loads
from yantra.network import routings
from yantra.network.traffic.generator import Flows
from yantra.network.traffic.reading import COLUMNS, read
from yantra.result.hot_links import HotLink, Share, busiest
from yantra.result.link_load import LinkName, link_name
from yantra.result.slowdowns import Percentiles, by_size, slowdown
from yantra.result.table import Table
from yantra.run import packets
from yantra.run.flow_fronts import Choice, Front, Given, Routed, front_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from yantra.fabric.graphs.describe import Shown

__all__ = ["Choice", "FlowResult", "read", "simulate"]

_LONG = 200_000  # steps; about a second


class Work(NamedTuple):
    """A list's crossings of links, and steps at most."""

    flows: int
    crossings: int
    steps: int

    @property
    def is_long(self) -> bool:
        return self.steps > _LONG

    def text(self) -> str:
        return (
            f"{count(self.flows, 'flow', commas=True)} over {self.crossings:,} "
            f"links in all, at most {self.steps:,} steps"
        )


class FlowResult(NamedTuple):
    """Ends of flows and their times alone in ns; `solves` of shares."""

    graph: Graph
    flows: Flows
    routed: Routed
    end_ns: NDArray[np.float64]
    alone_ns: NDArray[np.float64]
    solves: int
    stretches: _core.LinkStretches | None = None

    @property
    def through(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.isfinite(self.end_ns))

    @property
    def makespan_ns(self) -> float:
        return float(self.end_ns[self.through].max(initial=0.0))

    @property
    def fct_ns(self) -> NDArray[np.float64]:
        return self.end_ns - self.flows.start_ns

    @property
    def slowdown(self) -> NDArray[np.float64]:
        return slowdown(self.fct_ns, self.alone_ns)

    def table(self, chosen: NDArray[np.int64] | None = None) -> Table:
        rows = np.arange(len(self.end_ns)) if chosen is None else chosen
        end_ns, alone_ns = self.end_ns[rows], self.alone_ns[rows]
        flows = Flows(*(column[rows] for column in self.flows))
        of = self._replace(flows=flows, end_ns=end_ns, alone_ns=alone_ns)

        def column(name: str, holder: Any) -> Any:
            return lambda: getattr(holder, name).tolist()

        columns: dict[str, Any] = {"flow": ("whole", rows.tolist)}
        columns |= {name: ("whole", column(name, flows)) for name in COLUMNS}
        for name in ("end_ns", "fct_ns", "alone_ns", "slowdown"):
            columns[name] = ("real", column(name, of))
        return Table("flows", len(rows), columns)

    def by_size(self) -> Iterator[tuple[int | None, int, Percentiles, Percentiles]]:
        """Power of ten below the size, flows, percentiles of slowdown and time in ns.

        The last row, None, is all.
        """
        rows = self.through
        return by_size(self.flows.bytes[rows], self.slowdown[rows], self.fct_ns[rows])

    def link_bytes(self) -> NDArray[np.float64]:
        crossed = self.routed.flows_by_hop()
        done = np.isfinite(self.end_ns[crossed])
        sizes = self.flows.bytes[crossed[done]].astype(np.float64)
        links = len(self.graph.links.start)
        return np.bincount(self.routed.hops[done], sizes, links).astype(np.float64)

    def link_loads(self) -> NDArray[np.float64]:
        capacity = self.graph.links.bytes_per_ns * self.makespan_ns
        return np.divide(
            self.link_bytes(), capacity, where=capacity > 0, out=np.zeros(len(capacity))
        )

    def loads(self, frames: int) -> Loads:
        """Each link's load, whole and in `frames` equal parts of the time."""
        whole = self.link_loads()
        if not frames:
            return Loads(whole, np.zeros((0, len(whole))), self.makespan_ns)
        columns = [np.asarray(getattr(self._kept, name)) for name in _STRETCH]
        links = self.graph.links
        of = columns[0].astype(np.int64)
        pairs = links.start[of].astype(np.int64) * self.graph.devices + links.end[of]
        rows = np.column_stack(columns[1:])
        return loads(self.graph, pairs, rows, self.makespan_ns, frames)._replace(whole=whole)

    @property
    def _kept(self) -> _core.LinkStretches:
        if self.stretches is None:
            raise UnsupportedError("rates of links were not kept; ask for them before the run")
        return self.stretches

    def link_table(self) -> Table:
        """A row per link and stretch of one rate.

        `link` is its number; rate times time is what it carried. Raises UnsupportedError if rates
        were not kept.
        """
        columns = {name: np.asarray(getattr(self._kept, name)) for name in _STRETCH}
        order = np.lexsort((columns["from_ns"], columns["link"]))
        columns = {name: values[order] for name, values in columns.items()}
        links = columns["link"]
        names = {link: link_name(self.graph, link) for link in np.unique(links).tolist()}

        def named(part: int) -> Any:
            return lambda: [names[link][part] for link in links.tolist()]

        share = columns["bytes_per_ns"] / self.graph.links.bytes_per_ns[links]
        makers: dict[str, Any] = {"link": ("whole", links.tolist)}
        makers |= {name: ("text", named(part)) for part, name in enumerate(LinkName._fields)}
        makers |= {name: ("real", columns[name].tolist) for name in _STRETCH[1:]}
        makers["utilisation"] = ("real", share.tolist)
        return Table("link_rates", len(links), makers)

    def hot_links(self, most: int, flows_of_each: int = 5) -> list[HotLink]:
        carried, loads = self.link_bytes(), self.link_loads()
        crossed = self.routed.flows_by_hop()
        found = []
        for link in busiest(loads, carried, most):
            own = crossed[self.routed.hops == link]
            own = own[np.isfinite(self.end_ns[own])]
            own = own[np.argsort(-self.flows.bytes[own], kind="stable")]
            shares = [self._share(flow) for flow in own[:flows_of_each].tolist()]
            name = link_name(self.graph, link)
            found.append(HotLink(name, int(carried[link]), float(loads[link]), len(own), shares))
        return found

    def _share(self, flow: int) -> Share:
        src, dst, size, start = (int(column[flow]) for column in self.flows)
        return Share(f"flow {flow}: {src} to {dst}", size, start, float(self.end_ns[flow]))


_STRETCH = ("link", "from_ns", "to_ns", "bytes_per_ns")


class Simulation:
    """Flows under way; `ended()` advances, `result` works at any time.

    `keeps_rates` keeps links' rates over time.
    """

    def __init__(
        self,
        graph: Graph,
        flows: Flows,
        choice: Choice,
        changes: list[LinkChange] | None = None,
        keeps_rates: bool = False,
        fabric: Shown | None = None,
    ) -> None:
        _check(flows, graph)
        self._front = front_of(choice.network)
        _check_choice(choice, self._front, bool(changes), keeps_rates)
        self.graph, self.flows, self.choice = graph, flows, choice
        self._native_graph = native(graph)
        self.routed = self._route(flows)
        self._keeps_rates = keeps_rates
        self._end_ns: NDArray[np.float64] | None = None
        self._is_over = False
        self._given = Given(
            graph,
            self._native_graph,
            flows,
            self.routed,
            choice,
            changes or [],
            keeps_rates,
            fabric,
            self._route,
        )
        self.run = self._front.start(self._given)

    @cached_property
    def work(self) -> Work:
        steps = self._front.steps(self._given)
        return Work(len(self.flows.src), len(self.routed.hops), steps)

    def ended(self) -> Iterator[NDArray[np.int64]]:
        if self.run is None:
            self._end_ns = self.flows.start_ns + self.alone_ns
            yield np.arange(len(self.flows.src))
            return
        try:
            over = False
            while not over:
                over = self.run.run_for(self._front.slice)
                yield np.asarray(self.run.take_ended().flow).astype(np.int64)
        except _core.TooLong:
            raise UnsupportedError("flows: some take longer than the clock counts") from None
        self._is_over = True

    @property
    def result(self) -> FlowResult:
        """What is known by now. Raises UnsupportedError at the end if a flow never ends."""
        run = self.run
        end_ns = self._end_ns if run is None else np.asarray(run.end_ns)
        if end_ns is None:
            end_ns = np.full(len(self.flows.src), np.inf)
        keeps = self._keeps_rates and self._is_over
        stretches = run.link_stretches() if isinstance(run, _core.FlowRun) and keeps else None
        solves = 0 if run is None else run.solves
        given = self._as_routed
        alone_ns = self.alone_ns if given is self._given else self._front.alone_ns(given)
        return FlowResult(self.graph, self.flows, given.routed, end_ns, alone_ns, solves, stretches)

    @property
    def _as_routed(self) -> Given:
        # With routes found since.
        is_found = routings.find(self.choice.routing, "--routing").by_load
        is_found = is_found and self._front.shares
        if not is_found or not isinstance(self.run, _core.FlowRun) or not len(self.flows.src):
            return self._given
        routes = self.run.routes()
        return self._given._replace(
            routed=Routed(np.asarray(routes.first), np.asarray(routes.links))
        )

    def check_all_end(self) -> None:
        end_ns = self.result.end_ns
        if isinstance(self.run, _core.PacketRun):
            packets.check_not_stuck(self.run, self.graph)
        if not np.isfinite(end_ns).all():
            stuck = int(np.argmax(~np.isfinite(end_ns)))
            raise UnsupportedError(
                f"flow {stuck}, from {self.flows.src[stuck]} to {self.flows.dst[stuck]}, never "
                "ends: a link of its route is down and does not return"
            )

    def _route(self, flows: Flows, ways: int = 1) -> Routed:
        return _routed(self._native_graph, flows, self.choice, ways)

    @property
    def packet_run(self) -> _core.PacketRun | None:
        return self.run if isinstance(self.run, _core.PacketRun) else None

    @cached_property
    def alone_ns(self) -> NDArray[np.float64]:
        return self._front.alone_ns(self._given) if len(self.flows.src) else np.zeros(0)


def simulate(
    graph: Graph,
    flows: Flows,
    choice: Choice,
    changes: list[LinkChange] | None = None,
    *,
    keeps_rates: bool = False,
    fabric: Shown | None = None,
) -> FlowResult:
    """Simulate flows between ranks of a graph to their end.

    Raises ConfigError for a flow of an unknown rank or to itself, and a routing the graph does not
    allow; UnsupportedError without a way, or if a flow never ends.
    """
    simulation = Simulation(graph, flows, choice, changes, keeps_rates=keeps_rates, fabric=fabric)
    for _ in simulation.ended():
        pass
    simulation.check_all_end()
    return simulation.result


def _routed(graph: _core.FabricGraph, flows: Flows, choice: Choice, ways: int = 1) -> Routed:
    try:
        router = _core.Router(graph, choice.routing, seed=choice.seed)
    except ValueError as error:
        raise ConfigError("--routing", str(error)) from None
    sources, destinations = flows.src.astype(np.int32), flows.dst.astype(np.int32)
    try:
        numbers = np.arange(len(sources), dtype=np.int64)
        paths = router.paths(sources, destinations, numbers, packets=ways)
    except _core.Unsupported as error:
        raise UnsupportedError(str(error)) from None
    return Routed(np.asarray(paths.first), np.asarray(paths.links))


def _check_choice(choice: Choice, front: Front, has_changes: bool, keeps_rates: bool) -> None:
    if routings.find(choice.routing, "--routing").by_load and not front.sees_loads:
        problem = f"{choice.routing} goes by the load of links, which {choice.network} shows to "
        problem += "no routing of a list; take the network flow or packet, or the routing ecmp"
        raise ConfigError("--routing", problem)
    if not front.shares and (has_changes or choice.rtt_fairness):
        where = "--changes" if has_changes else "--rtt-fairness"
        raise ConfigError(where, f"goes with the network flow; this is {choice.network}")
    if keeps_rates and not front.keeps_rates:
        problem = f"the network {choice.network} keeps no rates of links over time; take another"
        raise ConfigError("--links", problem)


def _check(flows: Flows, graph: Graph) -> None:
    wrong = (flows.src >= graph.ranks) | (flows.dst >= graph.ranks) | (flows.src == flows.dst)
    if wrong.any():
        at = int(np.argmax(wrong))
        problem = (
            "sends to itself"
            if flows.src[at] == flows.dst[at]
            else f"is of a rank that the fabric does not have; its ranks are 0 to {graph.ranks - 1}"
        )
        raise ConfigError(f"flow {at}", f"{flows.src[at]} to {flows.dst[at]} {problem}")
