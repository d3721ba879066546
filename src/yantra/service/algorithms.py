"""ASTRA-sim's names of collective algorithms to ours, for runs over a graph, where a `one...`
algorithm covers just one dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from yantra.base.errors import UnsupportedError
from yantra.collectives.names import parse_implementation
from yantra.scenario.types import Collectives, Custom


def ours(collectives: Collectives, sizes: Sequence[int]) -> tuple[Collectives, list[int]]:
    """One with fewer algorithms than dimensions gets none: ASTRA-sim would use only the first
    dimensions, and its clients name one by default.
    """
    changes: dict[str, tuple[str, ...] | None] = {}
    flat: list[str] = []
    by_dimension: list[str] = []
    for name, algorithms in collectives.by_type().items():
        if algorithms is None or isinstance(algorithms, Custom):
            continue
        parsed = [parse_implementation(str(one), name) for one in algorithms]
        over_all = next((at for at, one in enumerate(parsed) if one.one), None)
        if over_all is not None:
            if over_all:
                problem = f"{name}: {algorithms[over_all]} behind other algorithms is not possible"
                raise UnsupportedError(f"{problem} over a graph; name it alone")
            parsed = parsed[:1]
        elif len(parsed) < len(sizes):
            changes[name] = None
            continue
        (by_dimension if over_all is None else flat).append(name)
        changes[name] = tuple(f"{one.algorithm}{one.window or ''}" for one in parsed)
    if not flat or len(sizes) == 1:
        return collectives.replace(**changes), list(sizes)
    if by_dimension:
        problem = f"{flat[0]} covers all ranks at once and {by_dimension[0]} goes by dimensions"
        raise UnsupportedError(f"{problem}; over a graph all collectives do the one or the other")
    return collectives.replace(**changes), [prod(sizes)]
