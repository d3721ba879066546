"""An engine: which requests the next iteration of a served model works on."""

from __future__ import annotations

from yantra.serving.batching.engine import Engine, Option, Plan, Rows, State

__all__ = ["Engine", "Option", "Plan", "Rows", "State"]
