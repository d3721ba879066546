"""ASTRA-sim 1.0's training loops as a clock that is moved forward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from yantra.chakra import CollectiveType, NodeType, Trace
from yantra.workloads.importers.layer_text import Layer, Phase, Workload

Cost = Callable[[int, int], int]
TYPES = {
    "ALLREDUCE": [CollectiveType.ALL_REDUCE],
    "ALLTOALL": [CollectiveType.ALL_TO_ALL],
    "ALLGATHER": [CollectiveType.ALL_GATHER],
    "REDUCESCATTER": [CollectiveType.REDUCE_SCATTER],
    "ALLREDUCEALLTOALL": [CollectiveType.ALL_REDUCE, CollectiveType.ALL_TO_ALL],
    "NONE": [],
}


def dimensions(policy: str, side: str, sizes: Sequence[int], group: int | None) -> set[int]:
    """Return the dimensions of more than one rank that a policy's side spans.

    A transformer's group must be a product of leading dimensions.
    """
    everything = set(range(len(sizes)))
    model: set[int] = set()
    data: set[int] = set()
    if policy in ("DATA", "MICRO", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED"):
        data = everything
    elif policy in ("MODEL", "DISTRIBUTED_INFERENCE"):
        model = everything
    elif policy == "HYBRID_DATA_MODEL":
        model, data = {0}, everything - {0}
    elif policy == "HYBRID_MODEL_DATA":
        model, data = everything - {0}, {0}
    else:
        product = 1
        for at, size in enumerate(sizes):
            product *= size
            if group is not None and product <= group:
                model.add(at)
        data = everything - model
    return {at for at in (model if side == "model" else data) if sizes[at] > 1}


class _Clock:
    def __init__(self, workload: Workload, sizes: Sequence[int], cost: Cost, blocking: bool):
        self.workload, self.layers = workload, workload.layers
        self.sizes, self.cost, self.blocking = sizes, cost, blocking
        self.now = 0
        self.ends = [0]
        self.weights: dict[int, int] = defaultdict(int)
        self.embedding = 0

    def issue(self, number: int, side: str, phase: Phase) -> int:
        layer, workload = self.layers[number], self.workload
        policy = layer.policy or workload.policy
        if workload.policy.startswith("HYBRID_DLRM") and number == 0:
            policy, side = "MODEL", "model"
        spanned = dimensions(policy, side, self.sizes, workload.model_parallel_ranks)
        kinds = TYPES[phase.communication] if phase.size and spanned else []
        ends = [self.now + self.cost(int(kind), phase.size) + layer.update for kind in kinds]
        self.ends += ends
        return max(ends, default=self.now)

    def forward(self, number: int) -> None:
        self.now = max(self.now, self.weights[number]) + self.layers[number].forward.time
        self.now = self.issue(number, "model", self.layers[number].forward)

    def weight_gradient(self, layer: Layer, number: int) -> None:
        self.now += layer.weight_gradient.time
        end = self.issue(number, "data", layer.weight_gradient)
        self.weights[number] = max(self.weights[number], end)

    def data_pass(self) -> None:
        """DATA: nothing waits but the next pass."""
        for number, layer in enumerate(self.layers):
            self.now = max(self.now, self.weights[number]) + layer.forward.time
        for number, layer in reversed(list(enumerate(self.layers))):
            self.weight_gradient(layer, number)
            self.now += layer.input_gradient.time if number else 0

    def dlrm_pass(self) -> None:
        """Layer 0 is the embedding."""
        bottom = self.workload.last_bottom_layer
        assert bottom is not None
        exchanged = 0
        for number, layer in enumerate(self.layers):
            self.now = max(self.now, self.weights[number]) + layer.forward.time
            if number == 0 and layer.forward.communication == "ALLTOALL":
                exchanged = self.issue(0, "model", layer.forward)
            if number == bottom:
                self.now = max(self.now, exchanged)
        for number, layer in reversed(list(enumerate(self.layers))):
            self.weight_gradient(layer, number)
            self.now += layer.input_gradient.time if number else 0
            if number == bottom + 1:
                self.embedding = self.issue(0, "model", self.layers[0].input_gradient)
        if self.workload.policy == "HYBRID_DLRM":
            self.now = max(self.now, self.embedding)

    def hybrid_pass(self) -> None:
        """All policies that communicate activations."""
        transformer = "TRANSFORMER" in self.workload.policy
        for number in range(len(self.layers)):
            self.forward(number)
        for number, layer in reversed(list(enumerate(self.layers))):
            if number in self.workload.initiators:
                start = max(at for at in self.workload.checkpoints if at <= number)
                for again in range(start, number):
                    self.forward(again)
            self.now += layer.input_gradient.time
            gradients = self.now
            if number > 0 or transformer:
                gradients = self.issue(number, "model", layer.input_gradient)
            if transformer and self.blocking:
                self.now = gradients
            if self.workload.policy == "MODEL":
                self.now += layer.weight_gradient.time
            else:
                self.weight_gradient(layer, number)
            self.now = max(self.now, gradients)


def finish_time(
    workload: Workload, sizes: Sequence[int], passes: int, cost: Cost, blocking: bool = False
) -> int:
    clock = _Clock(workload, sizes, cost, blocking)
    for _ in range(passes):
        if workload.policy == "MICRO":
            for number, layer in enumerate(workload.layers):
                clock.issue(number, "data", layer.weight_gradient)
        elif workload.policy == "DISTRIBUTED_INFERENCE":
            for number in range(len(workload.layers)):
                clock.forward(number)
        elif workload.policy == "DATA":
            clock.data_pass()
        elif workload.policy.startswith("HYBRID_DLRM"):
            clock.dlrm_pass()
        else:
            clock.hybrid_pass()
    return max(clock.now, *clock.ends)


def graph_finish_time(trace: Trace, cost: Cost) -> int:
    ends: dict[int, int] = {}
    for node in trace:
        begin = max((ends[parent] for parent in node.data_deps), default=0)
        took = node.duration_micros
        if node.type is NodeType.COMM_COLL:
            took = cost(int(str(node["comm_type"])), int(str(node["comm_size"])))
        ends[node.id] = begin + took
    return max(ends.values(), default=0)
