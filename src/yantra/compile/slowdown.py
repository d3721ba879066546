"""What a stack does to the times of a scenario: factors, a least time, and how nodes straggle.

Sources of the form: docs/reference/accuracy.md. Under no stack every factor is 1 and nothing is
touched, so runs without one cost what they cost before.
"""

from __future__ import annotations

from math import log2

from yantra.base.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yantra.compute.model import Estimates, Kernels
    from yantra.scenario import Scenario, Stack, Topology

PRODUCTS = ("gemm", "grouped_gemm", "conv")
ATTENTION = ("attention",)
"""Classes of operators whose times two of the factors multiply; `rest` multiplies all others."""

STRAGGLING_FROM = 64
"""Nodes from which on stragglers count: MLPerf's Llama-3.1-405B from 512 to 8,192 H100s."""


def class_of(op_class: str) -> str:
    """Return the factor that multiplies the times of a class of operators, by its name."""
    if op_class in PRODUCTS:
        return "products"
    return "attention" if op_class in ATTENTION else "rest"


class Slowdown(NamedTuple):
    """Factors of products, attention, other kernels (`rest`) and communication; least of a kernel.

    Stragglers are in all of them, and `rest` is in the least time of a kernel: equal factors make
    all of a run as much longer.
    """

    products: float = 1.0
    attention: float = 1.0
    rest: float = 1.0
    communication: float = 1.0
    launch_ns: float = 0.0

    @property
    def changes_kernels(self) -> bool:
        """Return whether kernels take other times than without."""
        return self._replace(communication=1.0) != Slowdown()

    def factor(self, op_class: str) -> float:
        """Return what multiplies the time of the kernels of a class."""
        return float(getattr(self, class_of(op_class)))

    def of(self, kernels: Kernels, estimates: Estimates) -> Estimates:
        """Return the estimates of kernels made slower."""
        import numpy as np

        of_class = np.array([self.factor(name) for name in kernels.op_classes])
        factor = of_class[kernels.op_class]
        return type(estimates)(
            *(np.where(ns > 0, np.maximum(ns * factor, self.launch_ns), ns) for ns in estimates)
        )


NONE = Slowdown()


def slowdown_of(scenario: Scenario) -> Slowdown:
    """Return what the stack of a scenario does; nothing where it has none."""
    # A host that launches is not counted twice, as the least time of a kernel, too.
    return slowdown_on(scenario.stack, scenario.topology, hosted=scenario.host is not None)


def slowdown_on(stack: Stack | None, topology: Topology, *, hosted: bool = False) -> Slowdown:
    """Return what a stack does to jobs on a network; `hosted`: a host launches by itself.

    No framework makes a link faster, so messages and collectives take no less than without one.
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
    )
