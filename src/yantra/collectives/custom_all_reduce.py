"""All-reduces of serving engines' own kernels: one pass for few bytes, two for more.

    one-shot   w + L + 2 l + (n - 1) S / B          every rank reads all of all others, and adds
    two-shot   w + L + 3 l + 2 (n - 1) / n S / B    every rank adds a share, and reads the others'

L is the launch of an LL kernel in the node, l a flag's way, B what links reach: those of NCCL's
measured terms; w what a rank waits for the last.

Trade-off: nobody's measurement of these kernels ships, and fusion with norms, multicast (NVLS) and
quantised exchanges (QuickReduce, off by default) are left out.

Sources: vLLM 0.11, csrc/custom_all_reduce.cuh and vllm/distributed/device_communicators
(all_reduce_utils.py, custom_all_reduce.py); SGLang 0.5, custom_all_reduce.py; TensorRT-LLM,
customAllReduceUtils.h (`getMaxRequiredWorkspaceSize`) and allreducePlugin.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.collectives.terms import Faster, Term

_WAIT_US = 6.0
"""With it 94 iterations of decode of vLLM on 2 to 8 GPUs are 2 % short in the mean, 5 % without
(ML.ENERGY leaderboard v3; its rows are not here).
"""
_KIB, _MIB = 1 << 10, 1 << 20
ENGINES = ("vllm", "sglang", "trtllm")
RANKS = (2, 4, 6, 8)
_VLLM = 8 * _MIB
_VLLM_ON = {
    "h100": {2: 64 * _MIB, 4: 32 * _MIB, 6: _MIB // 2, 8: _MIB // 4},
    "b200": {2: 2 * _MIB, 4: 2 * _MIB, 6: _MIB, 8: _MIB},
    "gb300": {2: 4 * _MIB, 4: 4 * _MIB, 6: 8 * _MIB, 8: 4 * _MIB},
}
_SAME = {"h200": "h100", "gb200": "b200"}


def limit(engine: str, system: str, ranks: int) -> int:
    """Bytes up to which an engine's kernels run on a node of a measured system; 0: never."""
    if ranks not in RANKS:
        return 0
    if engine == "trtllm":
        return 16_000_000 if ranks <= 2 else 8_000_000
    largest = 16 * _MIB if engine == "sglang" and system.startswith("mi") else _VLLM
    by_ranks = _VLLM_ON.get(_SAME.get(system, system), {}) if engine == "vllm" else {}
    return min(largest, by_ranks.get(ranks, largest))


def one_shot_below(engine: str, ranks: int) -> float:
    """Bytes below which one pass is taken."""
    if ranks == 2:
        return float("inf")
    if engine == "trtllm":
        return 1e6 if ranks <= 4 else 5e5
    return 512.0 * _KIB if ranks <= 4 else 256.0 * _KIB


def timed(
    engine: str, terms: Sequence[Term], ranks: int, sizes: Sequence[int], faster: Faster
) -> list[tuple[float, str]]:
    flags = next(one for one in terms if one.protocol == "LL")
    reached = max(one.bytes_per_us for one in terms if one.algorithm != "NVLS")
    reached *= faster.bandwidth
    found = []
    for size in sizes:
        is_one = size < one_shot_below(engine, ranks)
        passes = 2 if is_one else 3
        sent = (ranks - 1) * size * (1.0 if is_one else 2.0 / ranks)
        us = _WAIT_US + flags.latency_us + passes * flags.step_us * faster.latency + sent / reached
        found.append((us, "OneShot" if is_one else "TwoShot"))
    return found
