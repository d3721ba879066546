"""What each rank of a plan does, step by step, and the proof that this performs the collective."""

from __future__ import annotations

import numpy as np

from yantra import _core
from yantra.base.errors import InternalError
from yantra.collectives.msccl.proof import Counts, proof_lines
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.transfers import Plan

NOTHING = (1 << 32) - 1
"""The need of a step that needs nothing."""
_PROMISES = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE)  # as the core numbers them


def steps_of(plan: Plan) -> _core.SynthesisedSteps:
    of = plan.columns
    return _core.steps_of(
        ranks=plan.ranks,
        blocks=plan.blocks,
        start=of.src,
        end=of.dst,
        first=of.first,
        count=of.blocks,
        adds=of.reduce.astype(np.uint8),
    )


def wrong_with(plan: Plan, steps: _core.SynthesisedSteps) -> str:
    return _core.prove_steps(steps, _PROMISES.index(plan.kind)).wrong


def proven(plan: Plan) -> tuple[_core.SynthesisedSteps, tuple[str, ...]]:
    """The steps of a plan and what was proven, line by line.

    Raises InternalError if they do not perform its collective: then the plan is wrong.
    """
    steps = steps_of(plan)
    found = _core.prove_steps(steps, _PROMISES.index(plan.kind))
    if found.wrong:
        raise InternalError(f"a synthesised {plan.kind} is not proven: {found.wrong}")
    counts = Counts(found.messages, found.connections, found.depth, len(steps.kind))
    return steps, proof_lines(counts, plan.kind.replace("_", ""), [True])
