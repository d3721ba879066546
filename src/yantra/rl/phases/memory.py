"""Memory of a device by phase: the largest phase must fit, not their sum.

Colocated, the engine sleeps while there is training, and the trainer's weights, gradients and
optimizer state are on the host while there is generation. A critic has the state of the policy, a
reward model among the trainers its weights; micro-batches are of one model at a time.

Trade-off: what a framework leaves behind on the device is the reserve of the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import CapacityError
from yantra.base.text import format_bytes
from yantra.rl.phases.around import held_by, sizes_of

if TYPE_CHECKING:
    from yantra.rl.parts import Machines
    from yantra.rl.phases.passes import Passes
    from yantra.rl.question import Question


class Phase(NamedTuple):
    """Bytes that a phase takes of a device, beyond the reserve."""

    name: str
    used: float
    of_which: str


def training_bytes(question: Question, passes: Passes) -> float:
    """What training takes of a device, with a critic and a reward model."""
    algorithm, need = question.algorithm, passes.memory_bytes(question.micro_tokens)
    if algorithm.critic:
        need += passes.state_bytes
    if algorithm.reward_model:
        sizes = sizes_of(question.model)
        need += held_by(sizes, question.train, question.training, 0.0).weights
    return need


def phases_of(question: Question, machines: Machines) -> tuple[Phase, ...]:
    """Return what each phase takes."""
    room, passes = machines.generator.room, machines.passes
    cache = room.per_token * room.tokens
    generating = room.weights + room.activations + cache
    training = training_bytes(question, passes)
    return (
        Phase(
            "generation",
            generating,
            f"weights {format_bytes(room.weights)}, KV {format_bytes(cache)} for "
            f"{room.tokens:,} tokens",
        ),
        Phase(
            "training",
            training,
            f"micro-batches of {question.micro_tokens:,} tokens, optimizer over "
            f"{question.training} GPUs",
        ),
    )


def check(question: Question, passes: Passes) -> None:
    """Raise CapacityError if training does not fit."""
    usable = question.cluster.usable_bytes
    need = training_bytes(question, passes)
    if need > usable:
        plan = ", ".join(f"{name} {value}" for name, value in question.train.items())
        raise CapacityError(
            "--train",
            f"training needs {format_bytes(round(need))} a device of {format_bytes(usable)} on "
            f"{question.cluster.name} ({plan or 'tp 1, pp 1'}, {question.algorithm.title}, "
            f"micro-batches of {question.micro_tokens:,} tokens); use more tp, pp or ep, "
            "recompute=full, or a smaller micro_tokens",
        )
