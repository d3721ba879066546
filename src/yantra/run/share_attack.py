"""What an attacker says of a shared job's parallelism and hardware, beside what the original says.

Parallelism is read from groups and messages. The hardware is the GPU of least rates that could have
run the fastest piece in time, by operations and by bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yantra.base.text import count
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.stats.parallelism import find_parallelism
from yantra.tracing.obfuscate.leaks import Leak
from yantra.tracing.share.calls import recorded_ns

PARALLELISM, HARDWARE = "parallel degrees", "hardware"
_LEAST_NS = 1000  # of a piece, as clocks round shorter ones
_ALIKE = 0.1


class Rates(NamedTuple):
    """The fastest piece's FLOP/s and B/s; 0 where unknown."""

    operations: float
    moved: float


def attacked(
    old: Mapping[int, Columns], old_groups: Groups, new: Mapping[int, Columns], groups: Groups
) -> list[Leak]:
    """The two leaks of a job drawn anew."""
    return [
        _parallelism(find_splits(old, old_groups), find_splits(new, groups), len(new)),
        _hardware(rates(old), rates(new)),
    ]


def find_splits(columns: Mapping[int, Columns], groups: Groups) -> list[str]:
    """The splits that a job's groups and messages tell, with their degrees."""
    found = find_parallelism(columns, groups).findings
    return sorted(f"{one.split} {'?' if one.degree is None else one.degree}" for one in found)


def _parallelism(truth: list[str], told: list[str], ranks: int) -> Leak:
    said, by_original = (", ".join(one) or "nothing" for one in (told, truth))
    evidence = [f"{said}; the original says {by_original}", count(ranks, "rank")]
    return Leak(PARALLELISM, "exactly" if told and told == truth else "roughly", evidence)


def rates(columns: Mapping[int, Columns]) -> Rates:
    """The rates of the fastest computations of all ranks."""
    operations, moved = 0.0, 0.0
    for one in columns.values():
        done, times = one.integers("num_ops"), recorded_ns(one, range(len(one.type)))
        for at, (type, took) in enumerate(zip(one.type, times, strict=True)):
            if type == NodeType.COMP and took >= _LEAST_NS:
                operations = max(operations, (done[at] or 0) / took * 1e9)
                moved = max(moved, (one.tensor_size[at] or 0) / took * 1e9)
    return Rates(operations, moved)


def device(of: Rates) -> str:
    """The GPU of least rates that is fast enough; empty if none is."""
    from yantra.compute.retarget.gpus import GPUS

    fits = [
        (gpu.peak("bf16") * gpu.memory_bytes_per_s, gpu.title)
        for gpu in GPUS.values()
        if gpu.peak("bf16") >= of.operations and gpu.memory_bytes_per_s >= of.moved
    ]
    return min(fits)[1] if fits else ""


def _hardware(truth: Rates, told: Rates) -> Leak:
    if not any(told):
        return Leak(HARDWARE, "no longer", ["no computation has a time, and work beside it"])
    names = [device(one) or "none that is known" for one in (told, truth)]
    evidence = [
        f"the fastest piece does {told.operations / 1e12:.3g} TFLOP/s, {told.moved / 1e12:.3g} "
        f"TB/s: at least {names[0]}",
        f"the original's {truth.operations / 1e12:.3g} TFLOP/s, {truth.moved / 1e12:.3g} TB/s: "
        f"at least {names[1]}",
    ]
    near = all(abs(a - b) <= _ALIKE * b for a, b in zip(told, truth, strict=True))
    return Leak(HARDWARE, "exactly" if near else "roughly", evidence)
