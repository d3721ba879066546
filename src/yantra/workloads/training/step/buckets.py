"""Weights -> buckets, which are reduced, updated and gathered together.

As in Megatron-LM's distributed data parallel: weights in reverse order of use, a bucket ends with
the weight that fills it; experts have their own. With the default size, max(40e6, 1e6 x replicas),
only the first pipeline stage's first chunk is cut, as other reductions are not on the critical
path. Without overlap nothing is cut. ZeRO-3 has a bucket per unit of the model.

Source: Megatron-LM, `core/distributed/distributed_data_parallel.py` and `param_and_grad_buffer.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.chakra.playing import Moved
from yantra.workloads.operators.operations import Domain, Weight
from yantra.workloads.plan.plan import Plan

DOMAINS: tuple[Domain, ...] = ("dense", "expert")


HEAD = "head"
"""The unit after the last layer."""


class Bucket(NamedTuple):
    """Weights of one domain: their units, in reverse order of use, and elements.

    `elements` are trained; `frozen` ones are gathered with them where weights are sharded. Of all,
    `narrow` are of products in few bits.
    """

    domain: Domain
    units: tuple[str, ...]
    elements: int
    frozen: int = 0
    narrow: int = 0

    @property
    def gathered(self) -> int:
        return self.elements + self.frozen

    @property
    def name(self) -> str:
        """Its name in nodes: the units, the first used first."""
        first, last = self.units[-1], self.units[0]
        what = " experts" if self.domain == "expert" else ""
        return f"{first}{what}" if first == last else f"{first} to {last}{what}"


def with_layers(buckets: Sequence[Bucket], further: int) -> tuple[Bucket, ...]:
    """Buckets with layer numbers raised by `further`."""
    if not further:
        return tuple(buckets)
    text = Moved(layers=further).text
    return tuple(bucket._replace(units=tuple(map(text, bucket.units))) for bucket in buckets)


def buckets_of(weights: Sequence[Weight], plan: Plan, *, is_first: bool) -> tuple[Bucket, ...]:
    """The buckets of one chunk in the order in which gradients become ready.

    `is_first` for the pipeline's first stage.
    """
    made: list[Bucket] = []
    for domain in DOMAINS:
        ordered = [weight for weight in reversed(weights) if weight.domain == domain]
        if plan.zero == 3:
            made += _by_unit(domain, ordered)
        else:
            ordered = [weight for weight in ordered if not weight.is_frozen]
            made += _by_size(domain, ordered, _limit(plan, is_first))
    return tuple(made)


def _limit(plan: Plan, is_first: bool) -> int | None:
    if not plan.overlap_gradients:
        return None
    is_default = plan.bucket_elements is None
    return plan.bucket_size if is_first or not is_default else None


def _by_unit(domain: Domain, ordered: Sequence[Weight]) -> list[Bucket]:
    has_head = any(weight.unit == HEAD for weight in ordered)
    elements: dict[tuple[str, ...], int] = {}
    frozen: dict[tuple[str, ...], int] = {}
    narrow: dict[tuple[str, ...], int] = {}
    for weight in ordered:
        # An embedding that this chunk's head uses too must be there for both.
        is_shared = weight.is_tied and has_head and weight.unit != HEAD
        units = (HEAD, weight.unit) if is_shared else (weight.unit,)
        trained = 0 if weight.is_frozen else weight.elements
        elements[units] = elements.get(units, 0) + trained
        frozen[units] = frozen.get(units, 0) + weight.elements - trained
        narrow[units] = narrow.get(units, 0) + weight.packs * weight.elements
    return [
        Bucket(domain, units, count, frozen[units], narrow[units])
        for units, count in elements.items()
    ]


def _by_size(domain: Domain, ordered: Sequence[Weight], limit: int | None) -> list[Bucket]:
    made = []
    units: dict[str, None] = {}
    elements = narrow = 0
    for weight in ordered:
        units[weight.unit] = None
        elements += weight.elements
        narrow += weight.packs * weight.elements
        if limit is not None and elements >= limit:
            made.append(Bucket(domain, tuple(units), elements, narrow=narrow))
            units, elements, narrow = {}, 0, 0
    if units:
        made.append(Bucket(domain, tuple(units), elements, narrow=narrow))
    return made
