"""Stage works made by hand: one kernel per layer and pass, with what a test is about."""

from __future__ import annotations

from yantra.chakra import CollectiveType
from yantra.workloads.operators.operations import Operation, Pass, Phase, StageWork, Weight


def kernel(phase: Phase, unit: str, *after: int, saves: int = 0, frees: int = 0) -> Operation:
    return Operation(
        f"{unit}.{phase}",
        "gemm",
        phase,
        unit,
        after,
        tensor_flops=1000,
        bytes_read=8,
        bytes_written=8,
        saves=saves,
        frees=frees,
    )


def gather(phase: Phase, unit: str, *after: int, group: str = "tp") -> Operation:
    return Operation(
        f"{unit}.gather",
        "all_gather",
        phase,
        unit,
        after,
        collective=CollectiveType.ALL_GATHER,
        group=group,
        size_bytes=64,
    )


def stage(
    number: int,
    stages: int,
    *,
    layers: int = 2,
    elements: int = 96,
    saves: int = 100,
    talks: bool = False,
) -> StageWork:
    """A stage of equal layers; `talks` puts an all-gather over tp before every kernel."""
    units = [f"layers.{number * layers + layer}" for layer in range(layers)]
    forward: list[Operation] = []
    for unit in units:
        before = (len(forward) - 1,) if forward else ()
        if talks:
            forward.append(gather("forward", unit, *before))
            before = (len(forward) - 1,)
        forward.append(kernel("forward", unit, *before, saves=saves))
    backward: list[Operation] = []
    given: tuple[int, ...] = ()
    for unit in reversed(units):
        if talks:
            backward.append(gather("dgrad", unit, *given))
            given = (len(backward) - 1,)
        backward.append(kernel("dgrad", unit, *given))
        backward.append(kernel("wgrad", unit, *given, frees=saves))
        given = (len(backward) - 2,)
    first, last = number == 0, number == stages - 1
    return StageWork(
        Pass(tuple(forward), () if first else (0,), None if last else len(forward) - 1),
        Pass(tuple(backward), () if last else (0,), None if first else len(backward) - 2),
        tuple(Weight(f"{unit}.weight", unit, elements) for unit in units),
        0 if first else 10,
        0 if last else 10,
    )


def stages(count: int, **parts: int | bool) -> list[StageWork]:
    return [stage(number, count, **parts) for number in range(count)]  # type: ignore[arg-type]
