"""How many tokens of KV a device has room for, and where the rest of its memory went.

An engine takes a share of the memory and gives the cache what is left of it by weights, the largest
forward pass, and what driver, communicators and allocator hold, as vLLM's profiling run finds it.
A model of which layers keep a window, or a state, is counted with the KV of all its tokens, so its
room is a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import CapacityError, UnsupportedError
from yantra.base.text import format_bytes
from yantra.workloads.serving.engine import Engine
from yantra.workloads.serving.iterations import Request
from yantra.workloads.serving.lanes import plays_of
from yantra.workloads.serving.memory import StageMemory, memory_of
from yantra.workloads.serving.stages import Stages

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.workloads.serving.plan import InferencePlan


class Room(NamedTuple):
    """Bytes of the fullest device of a replica; `blocks` of `block_size` tokens fit."""

    capacity: int
    share: float
    weights: int
    activations: int
    reserve: int
    per_token: int
    block_size: int
    blocks: int

    @property
    def tokens(self) -> int:
        """Tokens of KV that a replica's engine has room for."""
        return self.blocks * self.block_size

    def words(self) -> str:
        """Say where the blocks come from."""
        parts = {"weights": self.weights, "activations": self.activations, "reserve": self.reserve}
        less = ", ".join(f"{name} {format_bytes(size)}" for name, size in parts.items() if size)
        return (
            f"{self.blocks:,} blocks of {self.block_size} tokens: {self.share:g} of "
            f"{format_bytes(self.capacity)} less {less}, at {format_bytes(self.per_token)} a token"
        )


def room_of(model: Any, cluster: Cluster, plan: InferencePlan, tokens: int) -> Room:
    """Return the room of a replica whose iterations have at most `tokens` tokens.

    Raises CapacityError where not even one block is left, and UnsupportedError for a model that
    keeps nothing of a token.
    """
    stages = Stages(model, plan, "")
    plays = plays_of([Request(0, tokens)], 1, budget=None, count=None, generates=False)
    engine = Engine(stages, plays, 1)
    memory = memory_of(engine, [0], 0)
    usable = int(cluster.memory_bytes * plan.gpu_memory_utilization) - cluster.reserve_bytes
    fullest = min(memory, key=lambda one: one.blocks(usable, plan.block_size))
    _check(fullest, usable, plan, cluster, model.name)
    return Room(
        capacity=cluster.memory_bytes,
        share=plan.gpu_memory_utilization,
        weights=fullest.weights,
        activations=fullest.activations,
        reserve=cluster.reserve_bytes,
        per_token=fullest.cache_per_token,
        block_size=plan.block_size,
        blocks=fullest.blocks(usable, plan.block_size),
    )


def bytes_per_token(model: Any, plan: InferencePlan) -> int:
    """Return the KV of one token over all ranks of a replica without copies, in bytes."""
    layers = Stages(model, plan, "").caches
    return sum(cache.rank_bytes(1) for layer in layers for cache in layer if not cache.per_sequence)


def _check(
    memory: StageMemory, usable: int, plan: InferencePlan, cluster: Cluster, name: str
) -> None:
    if not memory.cache_per_token:
        raise UnsupportedError(
            f"model: {name} keeps no KV of a token; serving counts its memory in blocks of KV"
        )
    if memory.blocks(usable, plan.block_size) < 1:
        need = memory.weights + memory.activations
        raise CapacityError(
            "memory",
            f"{name} needs {format_bytes(need)} a device (weights {format_bytes(memory.weights)}, "
            f"activations {format_bytes(memory.activations)}) of {format_bytes(max(usable, 0))} on "
            f"{cluster.name} with tp={plan.tp} pp={plan.pp}; no KV fits: "
            "use more ranks for a replica (tp, pp, ep), or a smaller weight_dtype",
        )
