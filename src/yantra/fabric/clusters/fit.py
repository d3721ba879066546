"""How a number of ranks fits a machine: ranks that exceed one domain of a level fill several
evenly. A slice of a torus has the shape whose longest side is shortest.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError
from yantra.base.text import count

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster, Level, Shapes

_FARTHEST = 1 << 14  # how far from the asked number a fitting one is looked for


def sizes_of(cluster: Cluster, ranks: int, where: str) -> tuple[tuple[int, ...], ...]:
    """Return, for each level, the sizes of its dimensions; of levels not needed, an empty tuple.

    Raises ConfigError at `where` with the nearest numbers that fit.
    """
    if ranks == 1:
        return ((1,), *((),) * (len(cluster.network) - 1))
    found = _fit(cluster.network, ranks) if ranks > 1 else None
    if found is not None:
        return found
    nearest = " and ".join(map(str, _nearest(cluster.network, ranks)))
    raise ConfigError(
        where,
        f"{count(ranks, 'rank')} cannot be had on {cluster.name} ({limits(cluster)}); nearest "
        f"possible: {nearest}",
    )


def _nearest(levels: tuple[Level, ...], ranks: int) -> list[int]:
    capacity = prod(_most(level) or ranks + _FARTHEST for level in levels)
    low = min(ranks - 1, capacity)
    below = (n for n in range(low, max(0, low - _FARTHEST), -1) if _fit(levels, n))
    high = max(ranks + 1, 1)
    above = (n for n in range(high, min(high + _FARTHEST, capacity + 1)) if _fit(levels, n))
    found = [next(below, None), next(above, None)]
    return [n for n in found if n is not None]


def limits(cluster: Cluster) -> str:
    last = len(cluster.network) - 1
    said = (_limits(level, at, at == last) for at, level in enumerate(cluster.network))
    return "; ".join(filter(None, said))


def _limits(level: Level, at: int, is_last: bool) -> str:
    most = _most(level)
    if most is None:
        return ""
    what = "domain" if level.shapes is None else "slice"
    if level.shapes is None:
        held = f"2 to {most} in one domain" if at == 0 else f"up to {most} of these"
        one = f"{level.name}: {held}"
    else:
        small = ", ".join("x".join(map(str, shape)) for shape in level.shapes.small)
        block = "x".join(map(str, level.shapes.block))
        one = f"{level.name}: a slice of {small} or whole {block} blocks up to {most}"
    if is_last:
        return one
    parts = _parts(level, most)
    sizes = f"{parts[-1]} to {parts[0]} in steps of {-parts.step}" if len(parts) > 1 else parts[0]
    return f"{one}, or equal {what}s of {sizes}"


def _fit(levels: tuple[Level, ...], ranks: int) -> tuple[tuple[int, ...], ...] | None:
    if ranks == 1:
        return ((),) * len(levels)
    if not levels:
        return None
    level, rest = levels[0], levels[1:]
    most = _most(level)
    if most is None or ranks <= most:
        shape = _shape(level, ranks)
        return None if shape is None else (shape, *((),) * len(rest))
    for part in _parts(level, most):
        shape = None if ranks % part else _shape(level, part)
        outer = _fit(rest, ranks // part) if shape else None
        if shape and outer:
            return (shape, *outer)
    return None


def _most(level: Level) -> int | None:
    number = level.members if level.shapes is None else level.shapes.most
    return None if number is None else int(number.value)


def _granule(level: Level) -> int:
    number = level.granule or level.members
    return 1 if number is None else int(number.value)


def _parts(level: Level, most: int) -> range:
    step = _granule(level) if level.shapes is None else prod(level.shapes.block)
    return range(most - most % step, (most - 1) // 2, -step)


def _shape(level: Level, ranks: int) -> tuple[int, ...] | None:
    if level.shapes is None:
        return (ranks,)
    return slice_shape(level.shapes, ranks)


def slice_shape(shapes: Shapes, ranks: int) -> tuple[int, ...] | None:
    """Return the shape of a slice, sides ascending, or None if no slice has this many devices."""
    for shape in shapes.small:
        if prod(shape) == ranks:
            return shape
    blocks, rest = divmod(ranks, prod(shapes.block))
    if rest or not blocks or ranks > shapes.most.value:
        return None
    return min(
        (
            tuple(sorted(count * side for count, side in zip(counts, shapes.block, strict=True)))
            for counts in _products(blocks, len(shapes.block))
        ),
        key=lambda shape: tuple(reversed(shape)),
    )


def _products(n: int, factors: int) -> list[tuple[int, ...]]:
    if factors == 1:
        return [(n,)]
    return [
        (first, *rest)
        for first in range(1, n + 1)
        if n % first == 0
        for rest in _products(n // first, factors - 1)
    ]
