"""What each rank of a plan does, step by step, and the proof that this performs the collective.

The core lists the steps and plays them on the sets of ranks whose data is summed in each block, so
every block at every rank is proven, also of half a million messages. The laws are those of
`collectives/msccl/proof.py`, which says in words what is wrong with a program that breaks one.
"""

from __future__ import annotations

import numpy as np

from yantra import _core
from yantra.base.errors import InternalError
from yantra.collectives.msccl.proof import Counts, proof_lines
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.transfers import Plan

NOTHING = (1 << 32) - 1
"""What a step needs that needs nothing."""
_PROMISES = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE)  # as the core numbers them


def steps_of(plan: Plan) -> _core.SynthesisedSteps:
    """Return the steps of every rank, thread block by thread block."""
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
    """Return what is not proven of the steps, in words; nothing if they perform the plan."""
    return _core.prove_steps(steps, _PROMISES.index(plan.kind)).wrong


def proven(plan: Plan) -> tuple[_core.SynthesisedSteps, tuple[str, ...]]:
    """Return the steps of a plan and what was proven of them, line by line.

    Raises InternalError if they do not perform its collective, for then the plan is wrong.
    """
    steps = steps_of(plan)
    found = _core.prove_steps(steps, _PROMISES.index(plan.kind))
    if found.wrong:
        raise InternalError(f"a synthesised {plan.kind} is not proven: {found.wrong}")
    counts = Counts(found.messages, found.connections, found.depth, len(steps.kind))
    return steps, proof_lines(counts, plan.kind.replace("_", ""), [True])
