"""How a list of flows runs on a network, by its `Level.flow_lists`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from yantra import _core
from yantra.base.errors import ConfigError
from yantra.fabric.graphs.describe import Shown
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.link_changes import LinkChange
from yantra.network import FlowLists, find, routings
from yantra.network.traffic.generator import Flows
from yantra.run import packets
from yantra.run.flows_outside import ProgramRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from yantra.network.external import Options
    from yantra.run.flows_as_messages import MessageRun

Run = _core.FlowRun | _core.PacketRun | ProgramRun | Any


class Choice(NamedTuple):
    """Routing, its seed, network; and shares by 1 / round trip.

    `network`: name or file. `packets`, `program`: settings of such networks.
    """

    routing: str = "ecmp"
    seed: int = 0
    rtt_fairness: bool = False
    network: str = "flow"
    packets: packets.PacketChoice = packets.PacketChoice()
    program: Options | None = None


class Routed(NamedTuple):
    """Flow f's links are those from first[f] to first[f+1]."""

    first: NDArray[np.uint64]
    hops: NDArray[np.uint32]

    def flows_by_hop(self) -> NDArray[np.int64]:
        lengths = self.first[1:].astype(np.int64) - self.first[:-1].astype(np.int64)
        return np.repeat(np.arange(len(lengths)), lengths)


class Given(NamedTuple):
    """A front's input; `route` routes other flows, or packets.

    `fabric`: the graph's origin, or None.
    """

    graph: Graph
    native: _core.FabricGraph
    flows: Flows
    routed: Routed
    choice: Choice
    changes: list[LinkChange]
    keeps_rates: bool
    fabric: Shown | None
    route: Callable[..., Routed]


class Front:
    """Default: flows end after latency and bytes over the narrowest link."""

    keeps_rates: ClassVar[bool] = False
    """Whether it can keep links' rates over time."""
    shares: ClassVar[bool] = False
    """Whether links may change rates, and flows share by round trips."""
    sees_loads: ClassVar[bool] = False
    """Whether routings see loads: of flows at their start, of packets at each switch."""
    slice: ClassVar[int] = 1
    """Steps of some milliseconds."""

    def steps(self, given: Given) -> int:
        return 0

    def start(self, given: Given) -> Run | None:
        return None

    def alone_ns(self, given: Given) -> NDArray[np.float64]:
        links, hops, starts = _hops(given)
        alone = np.add.reduceat(links.latency_ns[hops], starts)
        narrowest = np.minimum.reduceat(links.bytes_per_ns[hops], starts)
        with np.errstate(over="ignore"):  # infinite: refused by the caller
            taken: NDArray[np.float64] = alone + given.flows.bytes / narrowest
        return taken


class Stored(Front):
    """A flow is a message stored whole at each link."""

    keeps_rates = True
    slice = 100_000

    def steps(self, given: Given) -> int:
        return len(given.flows.src) + 2 * len(given.routed.hops)

    def start(self, given: Given) -> Run:
        return _core.queue_flows(**_columns(given))

    def alone_ns(self, given: Given) -> NDArray[np.float64]:
        links, hops, starts = _hops(given)
        alone: NDArray[np.float64] = np.add.reduceat(links.latency_ns[hops], starts)
        return alone + given.flows.bytes * np.add.reduceat(1 / links.bytes_per_ns[hops], starts)


class Shared(Front):
    keeps_rates = True
    shares = True
    sees_loads = True
    slice = 50

    def steps(self, given: Given) -> int:
        return 2 * len(given.flows.src)  # begins and ends, some together

    def start(self, given: Given) -> Run:
        return _core.share_flows(
            **_columns(given),
            rtt_fairness=given.choice.rtt_fairness,
            changes=[_core.RateChange(**change._asdict()) for change in given.changes],
            finder=self._finder(given),
        )

    def _finder(self, given: Given) -> _core.RoutesByLoad | None:
        # Routes flows at their start, where loads decide.
        choice, flows = given.choice, given.flows
        if not routings.find(choice.routing, "--routing").by_load:
            return None
        ends = flows.src.astype(np.int32), flows.dst.astype(np.int32)
        return _core.RoutesByLoad(given.native, choice.routing, choice.seed, *ends)


class Packets(Front):
    sees_loads = True
    slice = 200_000

    def steps(self, given: Given) -> int:
        """Two per packet and link, and as many for ACKs."""
        counts = -(-given.flows.bytes // self._payload(given))
        return 4 * int(counts[given.routed.flows_by_hop()].sum())

    def start(self, given: Given) -> Run:
        flows = given.flows
        back = flows._replace(src=flows.dst, dst=flows.src)
        sprayed, routing = None, routings.find(given.choice.routing, "--routing")
        if routing.by_packet:
            count = packets.entropies(given.choice.packets)
            sprayed = packets.Ways(count, given.route(flows, count))
        return packets.start(
            given.graph,
            given.native,
            given.routed,
            given.route(back),
            flows,
            given.choice.packets,
            sprayed,
            (routing.name, given.choice.seed) if routing.by_load else None,
        )

    def alone_ns(self, given: Given) -> NDArray[np.float64]:
        sizes = self._payload(given), packets.header_bytes(given.choice.packets)
        return packets.alone_ns(given.graph, given.routed, given.flows, *sizes)

    def _payload(self, given: Given) -> int:
        return int(dict(given.choice.packets.options).get("payload", packets.PAYLOAD))


class Program(Front):
    slice = 100

    def steps(self, given: Given) -> int:
        return len(given.flows.src)  # its work per flow is unknown

    def start(self, given: Given) -> Run:
        program = given.choice.program
        if program is None:
            problem = f"missing; the network {given.choice.network} is a program, so give one"
            raise ConfigError("--command", problem)
        return ProgramRun(given.graph, *given.routed, given.flows, program)


class AsMessages(Front):
    """Flows are messages of a job, run at once."""

    def steps(self, given: Given) -> int:
        return 4 * len(given.flows.src)

    def start(self, given: Given) -> MessageRun:
        from yantra.run.flows_as_messages import MessageRun
        from yantra.run.over_shown import scenario_over

        choice = given.choice
        if given.fabric is None:
            problem = f"{choice.network} needs the fabric by its kind or file, not the graph alone"
            raise ConfigError("--network", problem)
        return MessageRun(
            given.flows,
            scenario_over(given.fabric, choice.network, choice.routing, choice.seed),
        )

    def alone_ns(self, given: Given) -> NDArray[np.float64]:
        taken = super().alone_ns(given)
        if find(given.choice.network, "--network").has("charges_latency"):
            return taken
        links, hops, starts = _hops(given)
        bytes_alone: NDArray[np.float64] = taken - np.add.reduceat(links.latency_ns[hops], starts)
        return bytes_alone


_FRONTS: dict[FlowLists, Front] = {
    "alone": Front(),
    "stored": Stored(),
    "shared": Shared(),
    "packets": Packets(),
    "program": Program(),
    "as_messages": AsMessages(),
}


def front_of(network: str) -> Front:
    return _FRONTS[find(network, "--network").flow_lists]


def _hops(given: Given) -> tuple[Any, NDArray[np.uint32], NDArray[np.int64]]:
    return given.graph.links, given.routed.hops, given.routed.first[:-1].astype(np.int64)


def _columns(given: Given) -> dict[str, Any]:
    links = given.graph.links
    return {
        "first_hop": given.routed.first,
        "hops": given.routed.hops,
        "bytes": given.flows.bytes.astype(np.float64),
        "start_ns": given.flows.start_ns.astype(np.float64),
        "bytes_per_ns": np.ascontiguousarray(links.bytes_per_ns, np.float64),
        "latency_ns": np.ascontiguousarray(links.latency_ns, np.float64),
        "keeps_series": given.keeps_rates,
    }
