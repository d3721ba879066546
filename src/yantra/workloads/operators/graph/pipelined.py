"""Products that work on the first part of a gather while the rest arrives, and scatter likewise.

In `ways` parts a gather before a product takes a first part and then the longer of product and
rest; a scatter behind one the longer of product and all parts but the last, and then that.

Source: Transformer Engine's user buffers (Megatron-LM: `tp_comm_overlap`); Wang et al., "Overlap
communication with dependent computation via decomposition", ASPLOS 2023.
"""

from __future__ import annotations

from typing import Any

from yantra.chakra import CollectiveType
from yantra.workloads.operators.operations import Operation, Pass

_PRODUCT = "gemm"


def pipelined(one: Pass, ways: Any) -> Pass:
    operations = one.operations
    cut = _cut(operations)
    if not cut:
        return one
    made: list[Operation] = []
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    late: dict[int, tuple[int, ...]] = {}
    entries: list[int] = []
    for at, operation in enumerate(operations):
        is_product = operation.kind == _PRODUCT
        after: set[int] = set()
        for needed in operation.after:
            begins = is_product and needed in cut and needed in first
            after |= {first[needed]} if begins else {last[needed], *late.get(needed, ())}
        if is_product:
            late[at] = tuple(last[n] for n in operation.after if n in cut and n in first)
        if at in cut:
            product = cut[at]
            share = operation.size_bytes // ways
            begin = len(made)
            if product is None:
                first[at] = begin
                made += _parts(operation, share, after, {begin})
                entries += [begin] if at in one.entries else []
            else:
                before = made[last[product]].after
                made += _parts(
                    operation, operation.size_bytes - share, set(before), {begin, *after}
                )
                entries += [begin] if product in one.entries else []
        else:
            entries += [len(made)] if at in one.entries else []
            made.append(operation._replace(after=tuple(sorted(after))))
        last[at] = len(made) - 1
    exit = None if one.exit is None else last[one.exit]
    return Pass(tuple(made), tuple(entries), exit)


def _cut(operations: tuple[Operation, ...]) -> dict[int, int | None]:
    found: dict[int, int | None] = {}
    for at, one in enumerate(operations):
        for needed in one.after if one.kind == _PRODUCT else ():
            if _moves(operations[needed], CollectiveType.ALL_GATHER):
                found[needed] = None
        if _moves(one, CollectiveType.REDUCE_SCATTER) and len(one.after) == 1:
            (maker,) = one.after
            if operations[maker].kind == _PRODUCT:
                found[at] = maker
    return found


def _moves(one: Operation, kind: CollectiveType) -> bool:
    return one.collective == kind and one.group == "tp"


def _parts(one: Operation, size: Any, before: set[int], behind: set[int]) -> list[Operation]:
    begin = one._replace(
        name=f"{one.name}.first", size_bytes=size, after=tuple(sorted(before)), saves=0, frees=0
    )
    return [begin, one._replace(size_bytes=one.size_bytes - size, after=tuple(sorted(behind)))]
