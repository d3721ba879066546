"""How many tokens of KV a device has room for, and where the rest of its memory went.

An engine takes a share of the memory and gives the cache what is left of it by weights, the largest
forward pass, and what driver, communicators and allocator hold, as vLLM's profiling run finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from yantra.base.errors import CapacityError, UnsupportedError
from yantra.base.text import format_bytes
from yantra.serving.groups import Groups, groups_of
from yantra.workloads.serving.engine import Engine
from yantra.workloads.serving.iterations import Request
from yantra.workloads.serving.lanes import plays_of
from yantra.workloads.serving.memory import StageMemory, memory_of
from yantra.workloads.serving.stages import Stages

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.workloads.serving.plan import InferencePlan


class Room(NamedTuple):
    capacity: int
    share: float
    weights: int
    activations: int
    reserve: int
    per_token: int
    block_size: int
    blocks: int
    groups: Groups | None = None
    """Of layers that keep different things; None: each token is kept by all."""

    @property
    def tokens(self) -> int:
        """Tokens of KV that a replica's engine has room for, if each is kept by all layers."""
        return self.blocks * self.block_size

    def sequence_tokens(self, context: float) -> float:
        if self.groups is None:
            return context
        return float(self.groups.blocks(round(context)) * self.block_size)

    def words(self) -> str:
        """Say where the blocks come from."""
        parts = {"weights": self.weights, "activations": self.activations, "reserve": self.reserve}
        less = ", ".join(f"{name} {format_bytes(size)}" for name, size in parts.items() if size)
        of_what = f"{self.share:g} of {format_bytes(self.capacity)} less {less}"
        if self.groups is None:
            return (
                f"{self.blocks:,} blocks of {self.block_size} tokens: {of_what}, "
                f"at {format_bytes(self.per_token)} a token"
            )
        return (
            f"{self.blocks:,} blocks of {self.block_size} tokens of a group of layers: {of_what}, "
            f"at {format_bytes(self.groups.block_bytes)} a block; {self.groups.words()}"
        )


def room_of(
    model: Any,
    cluster: Cluster,
    plan: InferencePlan,
    tokens: int,
    *,
    grouped: bool = False,
    adapters: int = 1,
    elsewhere: int = 0,
) -> Room:
    """Return the room of a replica whose iterations have at most `tokens` tokens.

    There is room for so many `adapters` of the plan's rank; other devices hold `elsewhere` bytes of
    weights. `grouped`: the engine gives layers that keep different things blocks of their own.
    Raises CapacityError where not even one block is left, and UnsupportedError for a model that
    keeps nothing of a token, if the engine is not such a one.
    """
    stages = Stages(model, plan, "")
    plays = plays_of([Request(0, tokens)], 1, budget=None, count=None, generates=False)
    engine = Engine(stages, plays, 1)
    memory = tuple(
        one._replace(weights=one.weights - elsewhere + (adapters - 1) * stages.adapter_bytes(stage))
        for stage, one in enumerate(memory_of(engine, [0], 0))
    )
    usable = int(cluster.memory_bytes * plan.gpu_memory_utilization) - cluster.reserve_bytes
    groups = _groups(stages, plan) if grouped else None
    if groups is not None:
        fullest = max(memory, key=lambda one: one.weights + one.activations)
        blocks = (usable - fullest.weights - fullest.activations) // groups.block_bytes
        if blocks < groups.blocks(1):
            _refuse(fullest, usable, plan, cluster, model.name)
    else:
        fullest = min(memory, key=lambda one: one.blocks(usable, plan.block_size))
        _check(fullest, usable, plan, cluster, model.name)
        blocks = fullest.blocks(usable, plan.block_size)
    return Room(
        capacity=cluster.memory_bytes,
        share=plan.gpu_memory_utilization,
        weights=fullest.weights,
        activations=fullest.activations,
        reserve=cluster.reserve_bytes,
        per_token=fullest.cache_per_token,
        block_size=plan.block_size if groups is None else groups.block_size,
        blocks=blocks,
        groups=groups,
    )


def _groups(stages: Stages, plan: InferencePlan) -> Groups | None:
    found = {
        groups_of(stages.caches[first:end], plan.tp, plan.block_size)
        for first, end in stages.ranges
    }
    groups = found.pop()
    return None if found or groups is None or groups.is_plain else groups


def bytes_per_token(model: Any, plan: InferencePlan) -> int:
    layers = Stages(model, plan, "").caches
    return sum(cache.rank_bytes(1) for layer in layers for cache in layer if not cache.per_sequence)


def _check(
    memory: StageMemory, usable: int, plan: InferencePlan, cluster: Cluster, name: str
) -> None:
    if not memory.cache_per_token:
        raise UnsupportedError(
            f"model: {name} keeps no KV of a token; vllm counts states, other engines blocks of KV"
        )
    if memory.blocks(usable, plan.block_size) < 1:
        _refuse(memory, usable, plan, cluster, name)


def _refuse(
    memory: StageMemory, usable: int, plan: InferencePlan, cluster: Cluster, name: str
) -> NoReturn:
    need = memory.weights + memory.activations
    raise CapacityError(
        "memory",
        f"{name} needs {format_bytes(need)} a device (weights {format_bytes(memory.weights)}, "
        f"activations {format_bytes(memory.activations)}) of {format_bytes(max(usable, 0))} on "
        f"{cluster.name} with tp={plan.tp} pp={plan.pp}; no KV fits: "
        "use more ranks for a replica (tp, pp, ep), or a smaller weight_dtype",
    )
