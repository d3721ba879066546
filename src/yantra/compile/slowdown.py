"""A stack's effect on times: factors, a least time, stragglers.

Sources: docs/reference/accuracy.md. Without a stack every factor is 1, at no cost.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from yantra.compute.model import Estimates, Kernels
    from yantra.scenario import Scenario, Stack, Topology

PRODUCTS = ("gemm", "grouped_gemm", "conv")
ATTENTION = ("attention",)
"""Operator classes of a factor; `rest` covers others."""

STRAGGLING_FROM = 64
"""Nodes from which stragglers count: MLPerf's Llama-3.1-405B from 512 to 8,192 H100s."""


def class_of(op_class: str) -> str:
    """The factor of a class of operators."""
    if op_class in PRODUCTS:
        return "products"
    return "attention" if op_class in ATTENTION else "rest"


class Slowdown(NamedTuple):
    """Factors of products, attention, other kernels (`rest`), communication; a kernel's least time.

    All include stragglers, the least time includes `rest`: equal factors scale the whole run.
    """

    products: float = 1.0
    attention: float = 1.0
    rest: float = 1.0
    communication: float = 1.0
    launch_ns: float = 0.0

    @property
    def changes_kernels(self) -> bool:
        """Whether kernel times change."""
        return self._replace(communication=1.0) != Slowdown()

    def factor(self, op_class: str) -> float:
        """The factor of a class's kernels."""
        return float(getattr(self, class_of(op_class)))

    def of(self, kernels: Kernels, estimates: Estimates) -> Estimates:
        """Slower estimates."""
        import numpy as np

        of_class = np.array([self.factor(name) for name in kernels.op_classes])
        factor = of_class[kernels.op_class]
        return type(estimates)(
            *(np.where(ns > 0, np.maximum(ns * factor, self.launch_ns), ns) for ns in estimates)
        )


NONE = Slowdown()


def slowdown_of(scenario: Scenario) -> Slowdown:
    """What the scenario's stack does; nothing without one."""
    # The least time of a kernel would count a launching host twice.
    return slowdown_on(scenario.stack, scenario.topology, hosted=scenario.host is not None)


def slowdown_on(stack: Stack | None, topology: Topology, *, hosted: bool = False) -> Slowdown:
    """What a stack does on a network; `hosted`: a host launches.

    No framework speeds a link up, so messages and collectives take no less.
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
