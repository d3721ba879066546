"""The contract of a network in Python: simple ones give a message's time (`delay_ns`); others
override `send` and `woken`, and call `arrive` and `wake_at`.

Trade-off: a few microseconds a message, and never folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from yantra.base.errors import UnsupportedError, YantraError
from yantra.base.fields import Section
from yantra.base.plugin_files import Named, what_was_raised
from yantra.fabric.topologies import find
from yantra.fabric.topologies.routes import Table, table_of

if TYPE_CHECKING:
    from yantra import _core
    from yantra.fabric.graphs.graph import Graph
    from yantra.network import FlowLists


class Crossing(NamedTuple):
    """A dimension that a message crosses: hops of `latency_ns` each, links of `bytes_per_ns`."""

    dimension: int
    hops: int
    latency_ns: float
    bytes_per_ns: float


class Message(NamedTuple):
    """A message from one rank to another, and when it is sent.

    `number` is unique among those under way. With `needs_fabric` the ends are devices of the graph,
    and `route` the links in order if it `wants_routes`.
    """

    number: int
    source: int
    destination: int
    bytes: int
    sent_ns: float
    route: Sequence[int] = ()


class Dimension(NamedTuple):
    """A dimension of the fabric: its topology, its size, and its links."""

    kind: Named
    size: int
    bytes_per_ns: float
    latency_ns: float


class Fabric:
    """What a network runs over: ranks as points of a product of dimensions, innermost first.

    `graph` is None unless the network `needs_fabric`.
    """

    def __init__(self, dimensions: tuple[Dimension, ...], graph: Graph | None = None) -> None:
        self.dimensions = dimensions
        self.graph = graph

    @property
    def ranks(self) -> int:
        return prod(dimension.size for dimension in self.dimensions)

    def crossings(self, source: int, destination: int) -> tuple[Crossing, ...]:
        """The dimensions in which two ranks differ, innermost first."""
        found = []
        for at, dimension in enumerate(self.dimensions):
            source, one = divmod(source, dimension.size)
            destination, other = divmod(destination, dimension.size)
            if one != other:
                hops = self._tables[at].hops(one, other)
                found.append(Crossing(at, hops, dimension.latency_ns, dimension.bytes_per_ns))
        return tuple(found)

    @cached_property
    def _tables(self) -> tuple[Table, ...]:
        return tuple(table_of(find(of.kind), of.size) for of in self.dimensions)

    def alone_ns(self, message: Message) -> float:
        """A message's time alone: latency of all hops + bytes / narrowest link."""
        crossed = self.crossings(message.source, message.destination)
        latency = sum(crossing.hops * crossing.latency_ns for crossing in crossed)
        return latency + message.bytes / min(crossing.bytes_per_ns for crossing in crossed)


class NetworkModel:
    """Base of networks in Python. `options` describes what a scenario may set, None for nothing.

    Without `charges_latency` a message alone takes its bytes over the bandwidth only. With
    `needs_fabric` it runs over graphs alone, which dimensions become. `flow_lists` is how lists of
    flows run on it (`yantra network flows`): as messages of a job.
    """

    options: ClassVar[Section | None] = None
    charges_latency: ClassVar[bool] = True
    needs_fabric: ClassVar[bool] = False
    flow_lists: ClassVar[FlowLists] = "as_messages"

    @classmethod
    def check_options(cls, options: Any) -> None:
        """Raises ConfigError for invalid options, before there is anything to run."""

    @classmethod
    def wants_routes(cls, options: Any) -> bool:
        """Whether messages over a graph come with the links that its routing chose."""
        return cls.needs_fabric

    def __init__(self, fabric: Fabric, options: Any) -> None:
        self.fabric = fabric
        self.given = options

    def delay_ns(self, message: Message) -> float:
        """A message's time when it has the network to itself."""
        raise NotImplementedError

    def send(self, message: Message) -> None:
        """Take a message; call `arrive` for it, now or when woken."""
        self.arrive(message, message.sent_ns + self.delay_ns(message))

    def woken(self, token: Any) -> None:
        """Go on with what `wake_at` was asked for."""
        raise NotImplementedError

    def closes(self) -> None:
        """Called when the run is over, however it ends."""

    def arrive(self, message: Message, at_ns: float, departed_ns: float | None = None) -> None:
        """Let a message arrive; its last byte left the source at `departed_ns`, by default then.

        UnsupportedError if that is before now, or the message is not under way.
        """
        self._bridge.arrive(message, at_ns, at_ns if departed_ns is None else departed_ns)

    def wake_at(self, at_ns: float, token: Any) -> None:
        """Have `woken(token)` called at a time that has not passed."""
        self._bridge.wake_at(at_ns, token)

    @property
    def now_ns(self) -> float:
        """The time of the run."""
        return self._bridge.now_ns

    _bridge: Bridge


class Bridge:
    def __init__(self, port: _core.NetworkPort, network: NetworkModel, ticks_per_ns: int) -> None:
        self.port = port
        self._network = network
        self._ticks_per_ns = ticks_per_ns
        self._tokens: dict[int, Any] = {}
        self._next_token = 0
        network._bridge = self

    @property
    def now_ns(self) -> float:
        return self.port.now / self._ticks_per_ns

    def sends(
        self, number: int, source: int, destination: int, size: int, route: list[int]
    ) -> None:
        message = Message(number, source, destination, size, self.now_ns, route)
        with self._explained():
            self._network.send(message)

    def wakes(self, token: int) -> None:
        with self._explained():
            self._network.woken(self._tokens.pop(token))

    def closes(self) -> None:
        self._network.closes()

    def arrive(self, message: Message, at_ns: float, departed_ns: float) -> None:
        self.port.arrives(message.number, self._ticks(at_ns), self._ticks(departed_ns))

    def wake_at(self, at_ns: float, token: Any) -> None:
        self.wake_at_tick(self._ticks(at_ns), token)

    def wake_at_tick(self, tick: int, token: Any) -> None:
        self._next_token = (self._next_token + 1) % 2**32
        self._tokens[self._next_token] = token
        self.port.wake(tick, self._next_token)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (YantraError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise UnsupportedError(
                f"the network {type(self._network).__name__} failed: {what_was_raised(error)}"
            ) from None

    def _ticks(self, ns: float) -> int:
        """Whole ns are cut off, as in ASTRA-sim; ps are rounded."""
        ticks = ns * self._ticks_per_ns
        if not 0 <= ticks < 2**63:
            raise ValueError(f"the network gives a time of {ns} ns")
        return int(ticks) if self._ticks_per_ns == 1 else round(ticks)
