"""What an event of a device trace is, by its phase and its category, and why some are left out.

Kineto's categories are the names of its activity types (libkineto/src/ActivityType.cpp). The phases
are those of Chrome's trace events. Each event that is not read is left out by a rule with a name,
or counted by its category; the reader of the report sees both.
"""

from __future__ import annotations

CPU_CATS = frozenset({"cpu_op", "user_annotation"})
DEVICE_CATS = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
SYNC_CATS = frozenset({"cuda_sync"})
CALL_ENDINGS = ("_runtime", "_driver")
"""How the categories of runtime and driver calls end, of whatever device: `cuda_runtime`."""

NAMES_OF_2021 = {  # what PyTorch 1.8 called them
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
"""The category here of a launch that only a flow tells; the flow is what is counted."""

CALLS, FLOWS, NAMES = "runtime calls", "ends of flows", "names of processes and threads"
# No work is in these: ranges copied to the device's rows, the profiler's own time, ...
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
"""Phases of spans in which work may be: they are not read, and a warning counts them."""
IMPOSSIBLE = "impossible"
UNENDED = "begun and never ended"
UNBEGUN = "ended and never begun"


def is_call(category: str) -> bool:
    """Whether events of a category are calls of a runtime or a driver."""
    return category.endswith(CALL_ENDINGS)
