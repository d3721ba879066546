"""Asking a compute model, in kernels a second on one core; and finding the kernels of a trace.

A million kernels that differ, of many classes. Goal: `fixed_efficiency`, `measured` with the tables
of an H100 and attention in 64 shapes of heads, `systolic` with eight arrays and `described` each
estimate 1 million a second of processor time, their answers checked. Finding equal kernels has no
goal and is counted in nodes of a trace.

    python -m benchmarks.bench_compute
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from yantra import _core
from yantra.base.fields import Plugin, PluginChoice, named
from yantra.chakra import Kind, NodeType
from yantra.compute import model_of
from yantra.compute.answers import ask
from yantra.compute.model import Device, Kernels, kernels

GOAL_ROWS_PER_S = 1e6
ROWS = 1_000_000
NODES = 300_000
REPEATS = 5
DEVICE = Device(peak_flops=1e15, memory_bytes_per_s=3e12)
MODELS: tuple[PluginChoice, ...] = (
    "fixed_efficiency",
    "measured",
    Plugin(kind="systolic", options=(("arrays", 8),)),
    Plugin(kind="described", options=(("device", "a100"),)),
)
CLASSES = ("", "gemm", "attention", "norm", "elementwise", "permute")


def rows(count: int) -> Kernels:
    """Return kernels that all differ; a fifth of them is attention."""
    number = np.arange(count, dtype=np.int64)
    codes = (number % len(CLASSES)).astype(np.uint32)
    made = kernels(
        number * 1_000_003, number * 4099 + 1, dtype="bf16", m=number, n=number, k=number
    )
    is_attention = codes == CLASSES.index("attention")
    heads = 1 << (number % 7)
    return made.replace(
        op_class=codes,
        op_classes=CLASSES,
        batch=is_attention * (1 + number % 64),
        heads=is_attention * heads,
        kv_heads=is_attention * np.maximum(heads >> (number % 3), 1),
        head_dim=is_attention * (64 << (number % 2)),
        queries=is_attention * (1 + number % 16384),
        keys=is_attention * (1 + number % 16384),
    )


def graph(nodes: int) -> _core.Graph:
    """Return the graph of a trace in which every tenth kernel is new."""
    recorder = _core.TraceRecorder()
    recorder.end_metadata("")
    for node in range(nodes):
        recorder.attribute("is_cpu_op", Kind.BOOL, False, "")
        recorder.attribute("num_ops", Kind.INT64, 10**9 + node // 10, "")
        recorder.attribute("tensor_size", Kind.UINT64, 10**6, "")
        recorder.attribute("op_class", Kind.STRING, CLASSES[1 + node % 5], "")
        recorder.node(node, "kernel", NodeType.COMP, 0, 0, [], [])
    return recorder.finish().graph(False, True)


def best_seconds(work: object) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()  # type: ignore[operator]
        seconds.append(time.process_time() - start)
    return min(seconds)


def estimated(choice: PluginChoice, kernels: Kernels) -> float:
    model = model_of(choice)
    return ROWS / best_seconds(lambda: ask(model, kernels, DEVICE, named(choice)))


def report(folder: Path | None = None) -> bool:
    del folder
    many = rows(ROWS)
    asked = {named(choice): estimated(choice, many) for choice in MODELS}
    trace = graph(NODES)

    def find() -> None:
        needs = {"flops": True, "bytes": True}
        _core.KernelTable(**needs, missing_is_cpu_op_means_cpu=False, whole_microseconds=False).add(
            trace, 1
        )

    found = NODES / best_seconds(find)
    rates = ", ".join(f"{name} {rate / 1e6:.1f} M" for name, rate in asked.items())
    print(
        f"compute models: {rates} kernels/s estimated "
        f"(goal {GOAL_ROWS_PER_S / 1e6:.0f} M each); {found / 1e6:.1f} M nodes/s looked through"
    )
    return min(asked.values()) >= GOAL_ROWS_PER_S


if __name__ == "__main__":
    raise SystemExit(not report())
