"""The training loops of ASTRA-sim 1.0 as graphs: what each policy computes, sends and waits for.

A rank runs one loop, so a computation depends on the last one and the collectives awaited by then,
a collective on the computation before it. A collective ends its layer's update time after its data
has arrived. docs/reference/text-workloads.md has the policies' graphs.

Source: facts of ASTRA-sim 1.0's loops (Rashidi et al., ISPASS 2020, and its source).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from yantra.base.text import count
from yantra.chakra.builder import TraceBuilder
from yantra.chakra.schema import Attribute, CollectiveType, Node
from yantra.chakra.trace import Trace
from yantra.workloads.importers.layer_text.split import Side, Split
from yantra.workloads.importers.layer_text.workload import DLRM, Layer, Phase, Workload

TimeUnit = Literal["us", "ns"]
Updates = Literal["delay", "compute", "none"]

SCHEMA = "1.0.2-chakra.1.0.0"
_TYPES: Mapping[str, CollectiveType] = {
    "ALLREDUCE": CollectiveType.ALL_REDUCE,
    "ALLTOALL": CollectiveType.ALL_TO_ALL,
    "ALLGATHER": CollectiveType.ALL_GATHER,
    "REDUCESCATTER": CollectiveType.REDUCE_SCATTER,
}
_HIGHEST = 100_000_000
_SIDES: Mapping[str, Side] = {"FWD": "model", "BWD_IG": "model", "BWD_WG": "data"}
_WORDS = {"FWD": "forward", "BWD_IG": "input-gradient", "BWD_WG": "weight-gradient"}
_WITHOUT_FORWARD = ("DATA", "MICRO")
_WITHOUT_INPUT_GRADIENT = ("DATA", "MICRO", "DISTRIBUTED_INFERENCE")
_WITHOUT_WEIGHT_GRADIENT = ("MODEL", "DISTRIBUTED_INFERENCE")

Order = Literal["newest", "oldest", "first"]


class Settings(NamedTuple):
    """The file's time unit, what an update occupies, and whether transformers wait for input
    gradients before weight gradients.
    """

    passes: int = 1
    time_unit: TimeUnit = "us"
    updates: Updates = "delay"
    blocking_gradients: bool = False


def trace(workload: Workload, split: Split, rank: int, settings: Settings) -> Trace:
    about = [Attribute("schema", SCHEMA), Attribute("input_file", workload.text)]
    loop = _Loop(workload, split, rank, settings, about)
    for _ in range(settings.passes):
        loop.one_pass()
    return loop.builder.build()


def not_issued(workload: Workload, split: Split) -> Iterator[str]:
    """The communication that a policy leaves out, one text per column.

    Input gradients of layer 0 are not mentioned.
    """
    for name, words in _WORDS.items():
        left_out = [
            layer.name
            for number, layer in enumerate(workload.layers)
            if _phase(layer, name).collectives and not _is_issued(workload, split, number, name)
        ]
        if left_out:
            others = len(left_out) - 1
            more = f" and {count(others, 'more layer')}" if others else ""
            yield (
                f"{workload.where}: the {words} communication of {left_out[0]}{more} is left out: "
                f"{workload.policy} has none there"
            )


def _is_issued(workload: Workload, split: Split, number: int, name: str) -> bool:
    policy = workload.policy
    if name == "BWD_IG" and number == 0:
        return True
    if split.ranks > 1 and split.scope(number, _SIDES[name]) is None:
        return False
    if name == "FWD":
        dlrm = policy in DLRM and workload.layers[number].forward.communication != "ALLTOALL"
        return policy not in _WITHOUT_FORWARD and not dlrm
    if name == "BWD_IG":
        return policy not in _WITHOUT_INPUT_GRADIENT
    return policy not in _WITHOUT_WEIGHT_GRADIENT


class _Loop:
    def __init__(
        self,
        workload: Workload,
        split: Split,
        rank: int,
        settings: Settings,
        about: list[Attribute],
    ) -> None:
        self.workload = workload
        self.layers = workload.layers
        self.split = split
        self.rank = rank
        self.settings = settings
        self.builder = TraceBuilder(attributes=about)
        self.last: list[Node] = []
        self.wait: list[Node] = []
        self.weights: dict[int, list[Node]] = {}
        self.embedding: list[Node] = []
        self.issued_after: dict[int, list[int]] = {}
        self.priority = 0
        self.elapsed = 0

    def one_pass(self) -> None:
        policy = self.workload.policy
        if policy == "MICRO":
            for number in range(len(self.layers)):
                self._weight_communication(number)
        elif policy == "DISTRIBUTED_INFERENCE":
            self._forward_pass()
        elif policy == "DATA":
            self._data_pass()
        elif policy in DLRM:
            self._dlrm_pass()
        else:
            self._hybrid_pass()

    def _data_pass(self) -> None:
        for number in range(len(self.layers)):
            self._forward(number)
        for number in reversed(range(len(self.layers))):
            self._compute(number, "BWD_WG")
            self._weight_communication(number)
            if number:
                self._compute(number, "BWD_IG")

    def _dlrm_pass(self) -> None:
        bottom = self.workload.last_bottom_layer or 0
        embedding: list[Node] = []
        for number, layer in enumerate(self.layers):
            self._forward(number)
            if number == 0 and layer.forward.communication == "ALLTOALL":
                embedding = self._communicate(0, "FWD", "first")
            if number == bottom:
                self.wait += embedding
        for number in reversed(range(len(self.layers))):
            self._compute(number, "BWD_WG")
            self._weight_communication(number, "newest")
            if number:
                self._compute(number, "BWD_IG")
            if number == bottom + 1:
                self.embedding = self._communicate(0, "BWD_IG", "first")
        if self.workload.policy == "HYBRID_DLRM":
            self.wait += self.embedding

    def _hybrid_pass(self) -> None:
        transformer = self.workload.model_parallel_ranks is not None
        self._forward_pass()
        for number in reversed(range(len(self.layers))):
            if number in self.workload.initiators:
                self._recompute(number)
            self._compute(number, "BWD_IG")
            gradients: list[Node] = []
            if number or transformer:
                gradients = self._communicate(number, "BWD_IG", "newest")
            if transformer and self.settings.blocking_gradients:
                self.wait += gradients
                gradients = []
            self._compute(number, "BWD_WG")
            if self.workload.policy != "MODEL":
                self._weight_communication(number, "oldest")
            self.wait += gradients

    def _forward_pass(self) -> None:
        for number in range(len(self.layers)):
            self._forward(number)
            self.wait += self._communicate(number, "FWD", "newest")

    def _recompute(self, initiator: int) -> None:
        start = max(point for point in self.workload.checkpoints if point < initiator)
        for number in range(start, initiator):
            self._compute(number, "FWD", again="_IN_BCKWD")
            self.wait += self._communicate(number, "FWD", "newest", again="_IN_BCKWD")

    def _forward(self, number: int) -> None:
        # The weights must be those of the previous pass.
        self.wait += self.weights.pop(number, [])
        self._compute(number, "FWD")

    def _weight_communication(self, number: int, order: Order = "newest") -> None:
        issued = self._communicate(number, "BWD_WG", order)
        self.weights.setdefault(number, []).extend(issued)

    def _compute(self, number: int, name: str, again: str = "") -> None:
        layer = self.layers[number]
        time = _phase(layer, name).time
        node = self.builder.compute(
            f"COMP_NODE_{layer.name}_{name}{again}",
            duration_micros=self._lap(time),
            after=[*self._last_unless_implied(), *self.wait],
        )
        if self.settings.time_unit == "ns":
            node["duration_ns"] = time
        self.last, self.wait = [node], []

    def _last_unless_implied(self) -> list[Node]:
        # An awaited collective issued after the latest computation implies it.
        last = [node.id for node in self.last]
        return [] if any(self.issued_after[node.id] == last for node in self.wait) else self.last

    def _lap(self, time: int) -> int:
        if self.settings.time_unit == "us":
            return time
        begin = self.elapsed
        self.elapsed += time
        return _nearest_us(self.elapsed) - _nearest_us(begin)

    def _communicate(self, number: int, name: str, order: Order, again: str = "") -> list[Node]:
        layer = self.layers[number]
        phase = _phase(layer, name)
        scope = self.split.scope(number, _SIDES[name]) if phase.collectives else None
        if scope is None:
            return []
        priority = self._next_priority(order)
        finished = [
            self._updated(
                layer,
                name + again,
                self.builder.collective(
                    _TYPES[kind],
                    phase.size,
                    name=f"COMM_COLL_NODE_{layer.name}_{name}{again}_{kind}",
                    group=scope.group(self.rank),
                    involved_dim=scope.involved,
                    priority=priority,
                    after=self.last,
                ),
            )
            for kind in phase.collectives
        ]
        issued_after = [node.id for node in self.last]
        self.issued_after |= {node.id: issued_after for node in finished}
        return finished

    def _updated(self, layer: Layer, name: str, collective: Node) -> Node:
        if not layer.update or self.settings.updates == "none":
            return collective
        is_ns = self.settings.time_unit == "ns"
        node = self.builder.compute(
            f"COMP_NODE_{layer.name}_{name}_UPDATE",
            duration_micros=_nearest_us(layer.update) if is_ns else layer.update,
            cpu=self.settings.updates == "delay",
            after=collective,
        )
        if is_ns:
            node["duration_ns"] = layer.update
        return node

    def _next_priority(self, order: Order) -> int:
        """The number under ASTRA-sim 1.0's policy LIFO; larger goes first."""
        if order == "first":
            return _HIGHEST
        taken = self.priority
        self.priority += 1 if order == "newest" else -1
        return taken


def _phase(layer: Layer, name: str) -> Phase:
    if name == "FWD":
        return layer.forward
    return layer.input_gradient if name == "BWD_IG" else layer.weight_gradient


def _nearest_us(ns: int) -> int:
    return (ns + 500) // 1000
