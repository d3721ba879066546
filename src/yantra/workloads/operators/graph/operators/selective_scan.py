"""The selective scan of Mamba-1: a state of n numbers per channel; 9 operations per token, channel
and state.

Source: Gu and Dao, 2023 (arXiv 2312.00752), section 3.3; state-spaces/mamba's reference scan.
"""

from __future__ import annotations

from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.recurrence import Cost, recurrence
from yantra.workloads.operators.graph.tensor import Tensor

_OPERATIONS = 9
_WHOLE = 1 << 40  # a sequence is one chunk


def selective_scan(g: Graph, inputs: tuple[Tensor, ...], channels: int, state: int) -> Tensor:
    """Add the scan of `channels` with `state` numbers each."""
    return recurrence(
        g, "scan", inputs,
        width=channels, state=channels * state, chunk=_WHOLE,
        cost=lambda tokens: Cost(0, vector=_OPERATIONS * tokens * channels * state),
    )  # fmt: skip
