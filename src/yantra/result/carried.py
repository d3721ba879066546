"""Recorded kernels on another GPU, by class: both times, the interval, libraries that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from yantra.base.fields import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.compile import Model
    from yantra.compile.kernels import TimedKernels

KIND = "retargeted"


def is_carried(model: Model) -> bool:
    """Whether kernels are carried from another GPU."""
    return any(kind_of(device.compute) == KIND for device in model.scenario.all_devices())


def carried_of(model: Model) -> dict[str, Any]:
    """The fields of `Figures` on carried kernels; none of other runs."""
    if not is_carried(model) or not model.kernels:
        return {}
    timed = next(one for one in model.kernels if kind_of(one.device.compute) == KIND)
    found: dict[str, Any] = {"carried": list(_rows(timed))}
    lacks = _lacking(model, timed)
    return found | ({"not_there": lacks} if lacks else {})


def _rows(timed: TimedKernels) -> Iterator[dict[str, Any]]:
    import numpy as np

    from yantra.compute.retarget.carry import summed

    kernels, estimates = timed.kernels, timed.answered
    whole = [("all", np.ones(len(kernels), bool))]
    classes = [
        (name, kernels.op_class == code)
        for code, name in enumerate(kernels.op_classes)
        if name != "delay"
    ]
    found = []
    for name, rows in whole + classes:
        if not rows.any():
            continue
        part = kernels.take(rows)
        made = type(estimates)(*(column[rows] for column in estimates))
        there, here, low, high = summed(part, made)
        is_delay = np.array([one == "delay" for one in part.op_classes])[part.op_class]
        found.append(
            {
                "op_class": name,
                "kernels": int(part.count[~is_delay].sum()),
                "recorded_ns": there,
                "ns": here,
                "low_ns": low,
                "high_ns": high,
            }
        )
    yield from sorted(found, key=lambda row: (row["op_class"] != "all", -cast(float, row["ns"])))


def _lacking(model: Model, timed: TimedKernels) -> list[str]:
    from yantra.chakra.schema import NodeType
    from yantra.compute import model_of
    from yantra.compute.retarget.libraries import not_on
    from yantra.compute.retargeted import Retargeted

    model_here = cast(Retargeted, model_of(timed.device.compute, "cluster.device.compute"))
    _, target = model_here.gpus()
    names: set[str] = set()
    for graph in model.graphs.distinct:
        pairs = zip(graph.type.tolist(), graph.is_cpu_op.value.tolist(), strict=False)
        names.update(
            graph.name(node)
            for node, (kind, on_cpu) in enumerate(pairs)
            if kind == NodeType.COMP and not on_cpu
        )
    return not_on(target, names)
