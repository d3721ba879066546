"""ASTRA-sim's system file (JSON).

A GB/s of `local-mem-bw` is 10^9 bytes/s, a TFLOPS of `peak-perf` 10^12 per second; keys of
ASTRA-sim 1.0 are read on request (`honour`).
"""

from __future__ import annotations

from typing import Literal

from yantra.astra_sim.algorithms import read_algorithms
from yantra.astra_sim.keys import Keys
from yantra.astra_sim.numbers import LARGEST
from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.records import Record
from yantra.scenario.astra_sim_keys import INTER, INTRA, PRIORITIES, SHAPES, SYSTEM
from yantra.scenario.types import (
    AllReduceShape,
    Collectives,
    Device,
    InterDimension,
    IntraDimension,
    Priority,
    SharedBus,
)

SchedulingKeys = Literal["ignore", "honour"]

_LOG_GP = ("L", "o", "g", "G")
_INTRA_KEY = "intra-dimension-scheduling"
_INTER_KEY = "inter-dimension-scheduling"


class System(Record):
    collectives: Collectives
    device: Device
    replay_only: bool
    trace_nodes: bool
    track_local_memory: bool
    local_memory_trace: str


class SystemOptions(Record):
    """What the command line adds to a system file."""

    dimensions: int
    num_queues_per_dim: int = 1
    injection_scale: float = 1.0
    rendezvous: bool = False
    scheduling_keys: SchedulingKeys = "ignore"
    directory: str = ""


def read_system(path: Path, options: SystemOptions) -> tuple[System, list[str]]:
    try:
        keys = Keys(path, SYSTEM)
    except ConfigError:
        _refuse_version_one(path)
        raise
    if keys.tree.get("boost-mode", 0) not in (0, False):
        keys.warn("boost-mode", "has no effect in ASTRA-sim 2")
    system = System(
        collectives=_collectives(keys, options),
        device=_device(keys),
        replay_only=keys.not_zero("replay-only"),
        trace_nodes=keys.not_zero("trace-enabled"),
        track_local_memory=keys.not_zero("track-local-mem"),
        local_memory_trace=(
            keys.text("local-mem-trace-filename")
            if "local-mem-trace-filename" in keys
            else str(keys.known["local-mem-trace-filename"].default)
        ),
    )
    return system, keys.warnings


def _refuse_version_one(path: Path) -> None:
    from yantra.astra_sim import version_one

    problem = version_one.system(read_text(path))
    if problem is not None:
        raise ConfigError(str(path), problem)


def _device(keys: Keys) -> Device:
    roofline = keys.not_zero("roofline-enabled")
    peak_tflops = _peak_tflops(keys, roofline)
    memory_gb_per_s = keys.number("local-mem-bw")
    for key, value in (("peak-perf", peak_tflops), ("local-mem-bw", memory_gb_per_s)):
        if roofline and value == 0:
            keys.warn(key, "absent or 0 with the roofline on: kernels take 0 ns, as in ASTRA-sim")
    return Device(
        peak_flops=min(peak_tflops * 1000000000000, LARGEST),
        memory_bytes_per_s=min(memory_gb_per_s * 1000000000, LARGEST),
        compute="roofline" if roofline else "recorded",
    )


def _peak_tflops(keys: Keys, roofline: bool) -> float:
    key = "peak-perf"
    value = keys.tree.get(key, 0.0)
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value < 0
        and not roofline
    ):
        keys.warn(key, f"{value} does nothing without the roofline, as in ASTRA-sim")
        return 0.0
    return keys.number(key)


def _collectives(keys: Keys, options: SystemOptions) -> Collectives:
    algorithms = read_algorithms(keys, options.dimensions, options.directory)
    used = algorithms.any()
    native = algorithms.by_type.get("all_reduce")
    dimensions = len(native) if isinstance(native, tuple) else 0
    intra, inter = _scheduling(keys, options.scheduling_keys)
    simple = options.num_queues_per_dim == 1 and inter in ("ascending", "round_robin")
    shape_matters = dimensions > 1 or (dimensions == 1 and not simple)
    return Collectives(
        **algorithms.by_type,  # type: ignore[arg-type]
        custom_per_node=algorithms.per_node,
        all_reduce_shape=_shape(keys, shape_matters),
        priority=_priority(keys, used),
        chunks=_chunks(keys, used, algorithms.any_custom()),
        active_chunks=keys.whole("active-chunks-per-dimension"),
        queues_per_dimension=options.num_queues_per_dim,
        inter_dimension=inter,
        intra_dimension=intra,
        endpoint_delay_ns=_endpoint_delay_ns(keys, options.injection_scale),
        local_reduction_delay_ns=keys.whole("local-reduction-delay"),
        reductions="serial",
        shared_bus=_shared_bus(keys),
        rendezvous=options.rendezvous,
    )


def _priority(keys: Keys, used: bool) -> Priority:
    if not used and "scheduling-policy" not in keys:
        return "lifo"
    return PRIORITIES[keys.choice("scheduling-policy")]


def _shape(keys: Keys, matters: bool) -> AllReduceShape:
    if not matters and "collective-optimization" not in keys:
        return "baseline"
    return SHAPES[keys.choice("collective-optimization")]


def _chunks(keys: Keys, used: bool, custom: bool) -> int:
    key = "preferred-dataset-splits"
    if used and key not in keys:
        raise keys.error(key, "missing; expected the number of chunks of a collective, such as 4")
    chunks = keys.whole(key, at_least=None if used else 0)
    if custom and chunks > 1:
        keys.warn(key, f"a collective from traces completes in ASTRA-sim only with 1; got {chunks}")
    return max(chunks, 1)


def _endpoint_delay_ns(keys: Keys, injection_scale: float) -> int:
    key = "endpoint-delay"
    if key not in keys:
        if injection_scale != 1:
            keys.warn(key, "absent, so the injection scale has no effect, as in ASTRA-sim")
        return keys.whole(key)
    delay = int(keys.whole(key) * injection_scale)
    if delay >= 2**31:
        raise keys.error(key, f"times the injection scale is beyond 2^31 - 1 ns; got {delay}")
    return delay


def _shared_bus(keys: Keys) -> SharedBus | None:
    key = "model-shared-bus"
    model = keys.whole(key)
    if model not in (0, 1):
        keys.warn(key, f"{model} counts as off, as in ASTRA-sim; write 0 or 1")
    latency, overhead, gap, gap_per_byte = (keys.number(name) for name in _LOG_GP)
    if model != 1:
        return None
    return SharedBus(
        l_ns=int(latency), o_ns=int(overhead), g_ns=int(gap), big_g_ns_per_byte=gap_per_byte
    )


def _scheduling(keys: Keys, mode: SchedulingKeys) -> tuple[IntraDimension, InterDimension]:
    if mode == "ignore":
        for key in (_INTRA_KEY, _INTER_KEY):
            names = keys.known[key].names
            built_in = next(iter(names))
            value = keys.tree.get(key, built_in)
            if not isinstance(value, str) or names.get(value) != names[built_in]:
                keys.warn(
                    key,
                    f"has no effect in ASTRA-sim 2; {built_in} is used (honour it with "
                    "--scheduling-keys=honour)",
                )
        return "fifo", "ascending"
    if keys.tree.get(_INTER_KEY) == "onlineGreedy":
        raise UnsupportedError(
            f'{keys.name}: "{_INTER_KEY}": onlineGreedy is not modelled; use offlineGreedy'
        )
    intra = INTRA[keys.choice(_INTRA_KEY)] if _INTRA_KEY in keys else "fifo"
    inter = INTER[keys.choice(_INTER_KEY)] if _INTER_KEY in keys else "ascending"
    return intra, inter
