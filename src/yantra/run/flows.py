"""A list of flows over a fabric, simulated alone: when each is through, and how much slower it is
than alone.

A flow waits for the latency of its route and then shares all its links max-min fairly with the
others (`native/network/flow`). Alone it takes latency + bytes / narrowest link; its slowdown is
what it takes over that, as in studies of congestion control (Alizadeh et al., "pFabric", SIGCOMM
2013, section 5). Links may change their rate, or fail, at stated times; flows keep their routes and
wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.compile.fabric import native
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.link_changes import LinkChange
from yantra.network.traffic.generator import Flows
from yantra.network.traffic.reading import COLUMNS, read
from yantra.result.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Choice", "FlowResult", "read", "simulate"]

PERCENTILES = (50, 95, 99)


class Choice(NamedTuple):
    """How flows are routed and share: a routing, its seed, and whether by 1 / round trip."""

    routing: str = "ecmp"
    seed: int = 0
    rtt_fairness: bool = False


class FlowResult(NamedTuple):
    """When each flow is through, and what it would take alone, in ns; `solves` of shares."""

    flows: Flows
    end_ns: NDArray[np.float64]
    alone_ns: NDArray[np.float64]
    solves: int

    @property
    def fct_ns(self) -> NDArray[np.float64]:
        """Flow completion times."""
        return self.end_ns - self.flows.start_ns

    @property
    def slowdown(self) -> NDArray[np.float64]:
        """Completion time over that alone; 1 where both are 0."""
        alone = np.where(self.alone_ns > 0, self.alone_ns, 1.0)
        return np.where(self.alone_ns > 0, self.fct_ns / alone, 1.0)

    def table(self) -> Table:
        """Return a row for each flow, in the order of the list."""

        def column(values: Any) -> Any:
            return lambda: values.tolist()

        columns: dict[str, Any] = {
            name: ("whole", column(getattr(self.flows, name))) for name in COLUMNS
        }
        for name in ("end_ns", "fct_ns", "alone_ns", "slowdown"):
            columns[name] = ("real", column(getattr(self, name)))
        return Table("flows", len(self.end_ns), columns)

    def by_size(self) -> Iterator[tuple[int | None, int, tuple[float, ...]]]:
        """Yield the power of ten below a size, its flows and the percentiles of their slowdown.

        A last row with None is all flows.
        """
        sizes = np.maximum(self.flows.bytes, 1)
        decade = np.floor(np.log10(sizes)).astype(int)
        for power in np.unique(decade).tolist():
            chosen = self.slowdown[decade == power]
            yield power, len(chosen), tuple(np.percentile(chosen, PERCENTILES).tolist())
        if len(decade):
            yield None, len(decade), tuple(np.percentile(self.slowdown, PERCENTILES).tolist())


def simulate(
    graph: Graph, flows: Flows, choice: Choice, changes: list[LinkChange] | None = None
) -> FlowResult:
    """Simulate flows between the ranks of a graph.

    Raises ConfigError for a flow of a rank that is not there, or to itself, and for a routing that
    the graph does not allow; UnsupportedError where there is no way, or a flow never ends.
    """
    _check(flows, graph)
    of = native(graph)
    try:
        router = _core.Router(of, choice.routing, seed=choice.seed)
    except ValueError as error:
        raise ConfigError("--routing", str(error)) from None
    sources, destinations = flows.src.astype(np.int32), flows.dst.astype(np.int32)
    try:
        paths = router.paths(sources, destinations, np.arange(len(sources), dtype=np.int64))
    except _core.Unsupported as error:
        raise UnsupportedError(str(error)) from None
    first, hops = np.asarray(paths.first), np.asarray(paths.links)
    rates, latency = graph.links.bytes_per_ns, graph.links.latency_ns
    times = _core.simulate_flows(
        first_hop=first,
        hops=hops,
        bytes=flows.bytes.astype(np.float64),
        start_ns=flows.start_ns.astype(np.float64),
        bytes_per_ns=np.ascontiguousarray(rates, np.float64),
        latency_ns=np.ascontiguousarray(latency, np.float64),
        rtt_fairness=choice.rtt_fairness,
        changes=[_core.RateChange(**change._asdict()) for change in changes or []],
    )
    end_ns = np.array(times.end_ns)
    if not np.isfinite(end_ns).all():
        stuck = int(np.argmax(~np.isfinite(end_ns)))
        raise UnsupportedError(
            f"flow {stuck}, from {flows.src[stuck]} to {flows.dst[stuck]}, never ends: a link of "
            "its route is down and does not return"
        )
    alone = np.zeros(len(end_ns))
    if len(end_ns):
        starts = first[:-1].astype(np.int64)
        alone = np.add.reduceat(latency[hops], starts)
        alone += flows.bytes / np.minimum.reduceat(rates[hops], starts)
    return FlowResult(flows, end_ns, alone, times.solves)


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
