"""A rank's memory, and whether the sequences fit, as vLLM shares it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from yantra.base.errors import CapacityError
from yantra.base.text import format_bytes, room_text
from yantra.workloads.serving.engine import Engine
from yantra.workloads.serving.kv_cache import sequences_bytes, token_bytes


class StageMemory(NamedTuple):
    weights: int
    activations: int
    cache: int
    cache_per_token: int
    sequence: int

    @property
    def peak(self) -> int:
        return self.weights + self.activations + self.cache

    def blocks(self, usable_bytes: int, block_size: int) -> int:
        """How many blocks of `block_size` tokens the rest of the memory holds."""
        free = usable_bytes - self.weights - self.activations
        if not self.cache_per_token:
            return 0
        return max(free // (block_size * self.cache_per_token), 0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a manifest; bytes."""
        return {**self._asdict(), "peak": self.peak}


class Room(NamedTuple):
    """A device's memory in bytes, and the reserve that no job gets."""

    capacity: int
    reserve: int = 0

    def usable(self, share: float) -> int:
        return min(int(self.capacity * share), self.capacity - self.reserve)

    def words(self, share: float) -> str:
        if self.usable(share) < int(self.capacity * share):
            return room_text(self.capacity, self.reserve)
        return f"{share:g} of {format_bytes(self.capacity)}"


def memory_of(engine: Engine, lengths: Sequence[int], usual: int) -> tuple[StageMemory, ...]:
    """`lengths` are those of a replica's sequences at the end, `usual` that of those the user
    counts; in tokens.
    """
    plan, stages = engine.stages.plan, engine.stages
    found = []
    for stage in range(plan.pp):
        caches = stages.caches_of(stage)
        found.append(
            StageMemory(
                stages.weight_bytes(stage),
                engine.peak_bytes(stage),
                sequences_bytes(caches, lengths, plan.tp, plan.block_size),
                token_bytes(caches, plan.tp),
                sequences_bytes(caches, [usual], plan.tp, plan.block_size),
            )
        )
    return tuple(found)


def check_fit(
    memory: Sequence[StageMemory], engine: Engine, batch: int, room: Room, name: str = ""
) -> None:
    """Raise CapacityError if a stage needs more than its share of a device's memory."""
    plan = engine.stages.plan
    usable = room.usable(plan.gpu_memory_utilization)
    worst = max(range(len(memory)), key=lambda stage: memory[stage].peak)
    need = memory[worst]
    if need.peak <= usable:
        return
    fits = min(_fitting(one, batch // plan.dp, usable) for one in memory) * plan.dp
    share = room.words(plan.gpu_memory_utilization)
    held = f"{need.cache_per_token} bytes per token"
    if not need.cache_per_token:
        held = f"{need.sequence} bytes per sequence"
    lines = [
        f"stage {worst} of {len(memory)}{name} needs {format_bytes(need.peak)} of "
        f"{format_bytes(usable)} per device ({share}):",
        f"  weights      {format_bytes(need.weights)}",
        f"  activations  {format_bytes(need.activations)}",
        f"  cache        {format_bytes(need.cache)}, {held}",
    ]
    if fits > 0:
        lines.append(f"  nearest that fits: batch {fits} instead of {batch}")
    else:
        lines.append("  no batch fits; use more ranks for one copy of the model (tp, pp, ep)")
    raise CapacityError("memory", "\n".join(lines))


def room_of(
    memory: Sequence[StageMemory], engine: Engine, batch: int, room: Room
) -> dict[str, int]:
    plan = engine.stages.plan
    usable = room.usable(plan.gpu_memory_utilization)
    rows = [one for one in memory if one.cache_per_token]
    return {
        "cache_blocks": min((one.blocks(usable, plan.block_size) for one in rows), default=0),
        "fitting_batch": plan.dp * min(_fitting(one, batch // plan.dp, usable) for one in memory),
    }


def _fitting(memory: StageMemory, sequences: int, usable: int) -> int:
    others = memory.peak - sequences * memory.sequence
    return max((usable - others) // max(memory.sequence, 1), 0)
