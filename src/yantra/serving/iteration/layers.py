"""Few layers that stand for all of a model: each kind once behind each kind that comes before it.

Trade-off: what a layer further back changes is lost; no block of the catalogue does that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from yantra.workloads.models.blocks import Block


class Few(NamedTuple):
    front: Any
    layers: tuple[Block, ...]
    tail: Any
    times: tuple[int, ...]


def few_of(model: Any, first: int, end: int, *, has_tail: bool) -> Few:
    layers = model.layers[first:end]
    numbers: dict[Any, int] = {}
    kinds: list[Hashable] = [numbers.setdefault(layer, len(numbers)) for layer in layers]
    if not has_tail and kinds:
        kinds[-1] = ("last", kinds[-1])
    kept = _kept(kinds)
    pairs = _pairs(kinds, range(len(kinds)))
    own = _pairs(kinds, kept)
    first_with = {pair: at for at, pair in reversed(list(enumerate(own)))}
    times = [0] * len(kept)
    for pair in pairs:
        times[first_with[pair]] += 1
    return Few(model.front, tuple(layers[at] for at in kept), model.tail, tuple(times))


def _pairs(kinds: Sequence[Hashable], places: Sequence[int]) -> list[tuple[Hashable, Hashable]]:
    chosen = [kinds[at] for at in places]
    return list(zip([None, *chosen[:-1]], chosen, strict=True))


def _kept(kinds: Sequence[Hashable]) -> list[int]:
    kept: list[int] = []
    for at in range(len(kinds)):
        kept.append(at)
        pairs = _pairs(kinds, kept)
        for cut in range(len(kept) - 1):
            alike = kinds[kept[cut]] == kinds[at]
            if alike and set(pairs[cut + 1 :]) <= set(pairs[: cut + 1]):
                del kept[cut + 1 :]
                break
    return kept
