"""Adds the offload of saved activations to memory outside the device, unit by unit.

The forward pass is at most `ahead` + 1 units ahead of the stores, loads at most `ahead` units ahead
of the backward pass.

Source: Rajbhandari et al., "ZeRO-Infinity", SC 2021, section 5.1.2 (activation checkpoints in CPU
memory, moved while the device computes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from yantra.workloads.operators.operations import Operation
from yantra.workloads.training.step.draft import LOAD, STORE, Draft, Wait


class Stored(NamedTuple):
    """What a forward pass stores of a unit: the store's key, and bytes."""

    key: int
    size_bytes: int


def stores_of(
    operations: Sequence[Operation],
    layers: int | None = None,
    chosen: Mapping[str, int] | None = None,
) -> dict[str, Stored]:
    """What a forward pass stores, by unit: all that it saves, or the `chosen` bytes.

    If given, only of its first `layers`.
    """
    sizes: dict[str, int] = {}
    for operation in operations:
        sizes[operation.unit] = sizes.get(operation.unit, 0) + operation.saves - operation.frees
    if chosen is not None:
        sizes = {unit: chosen.get(unit, 0) for unit in sizes}
    units = [unit for unit in Draft(operations).spans() if sizes[unit] > 0]
    if layers is not None:
        units = [unit for unit in units if unit.startswith("layers.")][:layers]
    return {unit: Stored(len(operations) + n, sizes[unit]) for n, unit in enumerate(units)}


def add_stores(
    draft: Draft, ahead: int, layers: int | None = None, chosen: Mapping[str, int] | None = None
) -> None:
    """Store what each unit saves; call before other additions, see `stores_of`."""
    spans = draft.spans()
    order: list[int] = []
    for unit, (_, size) in stores_of(draft.operations, layers, chosen).items():
        keys = [key for key in draft.keys if draft.operations[key].unit == unit]
        saving = [Wait(key) for key in keys if _saves_a_message(draft.operations[key])]
        operation = Operation(
            f"store activations of {unit}", STORE, "forward", unit, size_bytes=size, frees=size
        )
        key = draft.put_after(keys[-1], operation, Wait(spans[unit].last), *saving)
        if len(order) > ahead:
            draft.wait(spans[unit].opening[-1], Wait(order[-1 - ahead], is_control=True))
        order.append(key)


def add_loads(draft: Draft, stored: Mapping[str, Stored], ahead: int) -> None:
    """Load what each unit stored before the pass works on it."""
    spans = [(unit, span) for unit, span in draft.spans().items() if unit in stored]
    for number, (unit, span) in enumerate(spans):
        key, size = stored[unit]
        operation = Operation(
            f"load activations of {unit}", LOAD, "dgrad", unit, size_bytes=size, saves=size
        )
        waits = [Wait(key, source="forward")]
        at = spans[number - ahead][1] if number >= ahead else None
        if at is None:
            load = draft.put_first(operation, *waits, starts=True)
        elif at.previous is None:
            load = draft.put_before(at.first, operation, *waits, starts=True)
        else:
            waits.append(Wait(at.previous, is_control=True))
            load = draft.put_before(at.first, operation, *waits)
        draft.wait(span.opening[-1], Wait(load))


def _saves_a_message(operation: Operation) -> bool:
    return operation.communicates and operation.saves > 0
