"""A stack's effect on times: factors, launches, stragglers (sources: docs/reference/accuracy.md).

A host runs ahead of its device, so all kernels together take D, or their launches H if longer; near
each other (D^4 + H^4)^(1/4), or the sum of the longer of each if that is less. The shortest kernels
take the difference. Trade-off: the sums are over a whole job; launches that hide behind
collectives, and the optimizer's few kernels, are left out. A host that `waits` in every layer takes
the sum of the longer of each.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from yantra.compute.model import Estimates, Kernels
    from yantra.scenario import Scenario, Stack, Topology

EXPERTS = "grouped_gemm"
PRODUCTS = ("gemm", EXPERTS, "conv")
ATTENTION = ("attention",)
"""Operator classes of a factor; `rest` covers others."""

SHARP = 4.0
"""The exponent above."""

OPTIMIZER = "optimizer"
TRAINS = ("dgrad", "wgrad", "recompute", OPTIMIZER)
"""Phases of kernels that jobs of inference do not have."""

STRAGGLING_FROM = 64
"""Nodes from which stragglers count: MLPerf's Llama-3.1-405B from 512 to 8,192 H100s."""


def class_of(op_class: str) -> str:
    if op_class in PRODUCTS:
        return "products"
    return "attention" if op_class in ATTENTION else "rest"


def is_inference(kernels: Kernels) -> bool:
    return not any(name in TRAINS for name in kernels.phases)


class Slowdown(NamedTuple):
    """Factors of products, attention, `rest` and communication; launch time.

    Stragglers are in all; `rest` is in the launch time. With `graphs` only training has launches,
    `older` attention and products longer by `training`: inference replays CUDA graphs. `taken` is
    collectives' share of units beside kernels.
    """

    products: float = 1.0
    attention: float = 1.0
    rest: float = 1.0
    communication: float = 1.0
    launch_ns: float = 0.0
    graphs: bool = False
    older: float = 1.0
    training: float = 1.0
    waits: str = ""
    """`always`, `experts`, or never."""
    taken: float = 0.0

    @property
    def changes_kernels(self) -> bool:
        return self._replace(communication=1.0, taken=0.0) != Slowdown()

    def launching(self, share: float) -> Slowdown:
        """The same where CUDA graphs launch all kernels but a share."""
        return self._replace(launch_ns=self.launch_ns * share)

    def host_waits(self, has_experts: bool) -> bool:
        return self.waits == "always" or (self.waits == "experts" and has_experts)

    def parts(self) -> tuple[Slowdown, Slowdown]:
        """What launches do, and what does not depend on them."""
        launched = Slowdown(launch_ns=self.launch_ns, graphs=self.graphs, waits=self.waits)
        return launched, self._replace(launch_ns=0.0)

    def factor(self, op_class: str) -> float:
        return float(getattr(self, class_of(op_class)))

    def of(self, kernels: Kernels, estimates: Estimates) -> Estimates:
        """Slower estimates of the kernels of a job."""
        import numpy as np

        if self.graphs and is_inference(kernels):
            current = self._replace(
                products=self.products / self.training,
                attention=self.attention / self.older,
                launch_ns=0.0,
            )
            return current._replace(graphs=False).of(kernels, estimates)
        of_class = np.array([self.factor(name) for name in kernels.op_classes])
        factor = of_class[kernels.op_class]
        longer = type(estimates)(*(ns * factor for ns in estimates))
        if not self.launch_ns:
            return longer
        own = np.array([name != OPTIMIZER for name in kernels.phases])[kernels.phase]
        own &= longer.middle > 0
        if not own.any():
            return longer
        (least,) = (
            [self.launch_ns]
            if self.host_waits(EXPERTS in kernels.op_classes)
            else least_times(longer.middle[own, None], kernels.count[own], self.launch_ns)
        )
        return type(estimates)(*(np.where(own, np.maximum(ns, least), ns) for ns in longer))


def least_times(ns: Any, count: Any, launch_ns: float) -> Any:
    """Return each job's least kernel time, for its launches,

    from times `ns` (kernels, jobs) and each kernel's `count`.
    """
    import numpy as np

    order = np.argsort(ns, axis=0)
    count = np.take_along_axis(count[:, None] * (ns > 0), order, axis=0)
    ns = np.take_along_axis(ns, order, axis=0)
    # Running sums add in one order for any number of jobs; `sum` does not, to the bit.
    summed, shorter = (ns * count).cumsum(axis=0), count.cumsum(axis=0)
    device, host = summed[-1], launch_ns * shorter[-1]
    wanted = (device**SHARP + host**SHARP) ** (1.0 / SHARP)
    wanted = np.minimum(wanted, (np.maximum(ns, launch_ns) * count).cumsum(axis=0)[-1])
    missing = wanted - device + summed  # needed by the shorter ones
    least = np.where(shorter > 0, missing / np.maximum(shorter, 1), np.inf)
    after = np.concatenate([ns[1:], np.full((1, ns.shape[1]), np.inf)])
    return least[np.argmax(least <= after, axis=0), np.arange(ns.shape[1])]


NONE = Slowdown()


def slowdown_of(scenario: Scenario) -> Slowdown:
    # The least kernel time would count a launching host twice.
    return slowdown_on(scenario.stack, scenario.topology, hosted=scenario.host is not None)


def _waits(stack: Stack) -> str:
    """Whose host waits in every layer; the default's only for sizes of experts."""
    if not stack.host_waits:
        return ""
    return "experts" if stack.is_unknown else "always"


def slowdown_on(stack: Stack | None, topology: Topology, *, hosted: bool = False) -> Slowdown:
    """What a stack does on a network; `hosted`: a host launches.

    Nothing gets faster than its link.
    """
    if stack is None:
        return NONE
    nodes = topology.ranks / topology.dimensions[0].size
    straggling = 1.0 + stack.straggling * max(0.0, log2(nodes / STRAGGLING_FROM))
    return Slowdown(
        products=stack.products * straggling,
        attention=stack.attention * straggling,
        rest=stack.rest * straggling,
        communication=max(stack.rest * stack.communication, 1.0) * straggling,
        launch_ns=0.0 if hosted else stack.launch_ns * stack.rest * straggling,
        graphs=stack.graphs == "inference",
        older=stack.older_attention,
        training=stack.training_products,
        waits=_waits(stack),
        taken=stack.taken,
    )
