"""Kinds of device-trace events, by phase and category.

Categories: Kineto's activity types (libkineto/src/ActivityType.cpp); phases: Chrome's trace events.
"""

from __future__ import annotations

CPU_CATS = frozenset({"cpu_op", "user_annotation"})
DEVICE_CATS = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
SYNC_CATS = frozenset({"cuda_sync"})
CALL_ENDINGS = ("_runtime", "_driver")
"""Ends of runtime and driver call categories, of any device: `cuda_runtime`."""

NAMES_OF_2021 = {  # of PyTorch 1.8
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
}
READ_AS = {
    "cpu_op": "operators",
    "user_annotation": "ranges",
    "kernel": "kernels",
    "gpu_memcpy": "copies",
    "gpu_memset": "fills",
    "cuda_sync": "synchronisations",
}
FLOW = "flow"
"""Category here of a launch known only by a flow; the flow is counted."""

CALLS, FLOWS, NAMES = "runtime calls", "ends of flows", "names of processes and threads"
# No work: ranges copied to device rows, the profiler's own time, ...
ASIDE = {
    "python_function": "frames of Python",
    "gpu_user_annotation": "ranges repeated on the device",
    "overhead": "the profiler's own time",
    "Trace": "the span of the recording",
    "external_correlation": "numbers of operators",
    "cpu_instant_event": "instants",
    "gpu_pm_counter": "counters",
    "mtia_counters": "counters",
    "cuda_profiler_range": "ranges of the profiler",
}
DRAWN = "fwdbwd"
"""Category of flows from forward to backward."""
FLOW_PHASES = frozenset({"s", "t", "f"})
FLOW_RULE = "ends of flows that correlation numbers repeat"
PHASES = {
    "M": NAMES,
    "i": "instants",
    "I": "instants",
    "R": "instants",
    "C": "counters",
    "P": "samples",
    "N": "objects",
    "O": "objects",
    "D": "objects",
    "b": "asynchronous spans",
    "n": "asynchronous spans",
    "e": "asynchronous spans",
    "S": "asynchronous spans",
    "T": "asynchronous spans",
    "p": "asynchronous spans",
    "F": "asynchronous spans",
    "c": "clocks",
    "v": "memory dumps",
    "V": "memory dumps",
    "(": "contexts",
    ")": "contexts",
}
SPANS = frozenset({"b", "e", "S", "F"})
"""Spans that may hold work: not read, a warning counts them."""
IMPOSSIBLE = "impossible"
UNENDED = "begun and never ended"
UNBEGUN = "ended and never begun"


def is_call(category: str) -> bool:
    return category.endswith(CALL_ENDINGS)
