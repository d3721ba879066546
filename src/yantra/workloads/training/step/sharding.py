"""How weights, gradients and optimizer state are spread over replicas, in elements and bytes.

ZeRO-1 shards optimizer state over the ranks with the same weights, ZeRO-2 also gradients, ZeRO-3
also weights. With `shard` (HSDP; Megatron's distributed-optimizer instances) shards repeat and are
summed over their copies. Shards of a bucket are equal, padded as in Megatron and PyTorch.

Sources: Rajbhandari et al., "ZeRO", SC 2020, section 5; Zhao et al., "PyTorch FSDP", VLDB 2023,
section 3.2.2; Liu et al., "MoE Parallel Folding", arXiv 2504.14960 (experts over edp).
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.workloads.operators.operations import Domain
from yantra.workloads.plan.plan import Plan
from yantra.workloads.plan.precision import Narrow, narrow_of, state_bytes


class Sync(NamedTuple):
    """Who sums the gradients of one domain.

    `group` of `size` ranks reduces the gradients (and has the shards); if `repeats`, `replica` then
    sums the shards over further copies.
    """

    group: str
    size: int
    repeats: bool = False


class Sharding(NamedTuple):
    """The state of one training job: `zero`, the domains' groups, and bytes per element.

    `narrow` weights, those of products in few bits, have bytes of their own; `mirrored`: the
    pipeline holds two copies of every stage.
    """

    zero: int
    dense: Sync
    expert: Sync
    weight_bytes: int
    gradient_bytes: int
    state_bytes: int
    mirrored: bool
    narrow: Narrow | None = None

    def sync(self, domain: Domain) -> Sync:
        return self.dense if domain == "dense" else self.expert

    def shard(self, elements: int, domain: Domain) -> int:
        return -(-elements // self.sync(domain).size)

    def padded(self, elements: int, domain: Domain) -> int:
        return self.shard(elements, domain) * self.sync(domain).size

    def updated(self, elements: int, domain: Domain) -> int:
        return self.shard(elements, domain) if self.zero >= 1 else elements

    def gradients(self, elements: int, domain: Domain) -> int:
        return self.shard(elements, domain) if self.zero >= 2 else elements

    def weights(self, elements: int, domain: Domain) -> int:
        return self.shard(elements, domain) if self.zero == 3 else elements

    def kept_bytes(self, elements: int, narrow: int, domain: Domain) -> int:
        """Persistent bytes of weights, of which some are `narrow`."""
        size = self.weights(elements, domain) * self.weight_bytes
        if self.narrow is None:
            return size
        each = self.narrow.sharded if self.zero == 3 else self.narrow.kept
        return size + ceil(self.weights(narrow, domain) * (each - self.weight_bytes))

    def sent_bytes(self, elements: int, narrow: int, domain: Domain) -> int:
        """Bytes of one rank's shard of weights in an all-gather."""
        size = self.shard(elements, domain) * self.weight_bytes
        if self.narrow is None:
            return size
        return size + ceil(self.shard(narrow, domain) * (self.narrow.sent - self.weight_bytes))

    def gathered_bytes(self, elements: int, narrow: int, domain: Domain) -> int:
        """Bytes of sharded weights while they are whole."""
        size = self.padded(elements, domain) * self.weight_bytes
        if self.narrow is None:
            return size
        more = self.narrow.gathered - self.weight_bytes
        return size + ceil(self.padded(narrow, domain) * more)


def sharding_of(plan: Plan, *, has_experts: bool = False, mirrored: bool = False) -> Sharding:
    """How a plan shards; `mirrored` where a pipeline holds two copies of every stage."""
    replicas = plan.dp * plan.cp
    dense = Sync("dp_cp", replicas)
    if plan.zero and plan.shard is not None and plan.shard < replicas:
        if has_experts:
            raise UnsupportedError(
                "shard: experts have no shard groups of their own here; leave shard out, so that "
                f"dense weights are sharded over dp x cp = {replicas} and experts over edp"
            )
        dense = Sync("fsdp", plan.shard, repeats=True)
    return Sharding(
        zero=plan.zero,
        dense=dense,
        expert=Sync("edp", plan.edp),
        weight_bytes=4 if plan.dtype == "fp32" else 2,
        gradient_bytes=4 if plan.gradient_dtype == "fp32" else 2,
        state_bytes=state_bytes(plan),
        mirrored=mirrored,
        narrow=narrow_of(plan),
    )
