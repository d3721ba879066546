"""Iterations of a serving engine as workloads: prefill, decode, mixed and disaggregated."""

from yantra.workloads.serving.infer import infer
from yantra.workloads.serving.plan import InferencePlan

__all__ = ["InferencePlan", "infer"]
