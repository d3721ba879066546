"""Over which ranks a policy communicates: whole dimensions of the network, or groups of ranks.

A policy splits the dimensions into those that share a layer of the model and those that replicate
it. ASTRA-sim 1.0 does so for each collective with a list of ten booleans, one per dimension; here
the list has one entry per dimension when these are known, and ten when they are not.

A transformer gives the number of ranks that share a layer. Where that is no product of leading
dimensions ASTRA-sim 1.0 breaks one in two; here the ranks get communicator groups: as many
consecutive ranks share a layer, and ranks in the same position of each such group replicate it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal, NamedTuple

from yantra.chakra.text.workload import DLRM, TRANSFORMERS, Layer, Workload
from yantra.errors import ConfigError, expected_got

Side = Literal["model", "data"]
Groups = tuple[tuple[int, tuple[int, ...]], ...]
_ANY_NETWORK = 10  # entries of ASTRA-sim 1.0's lists


class Scope(NamedTuple):
    """Where a collective runs: None for every dimension; groups are numbered by the rank.

    `stride` is 0 without groups, else the distance of a group's members.
    """

    involved: tuple[bool, ...] | None = None
    first_group: int = 0
    size: int = 0
    stride: int = 0

    def group(self, rank: int) -> str | None:
        """Return the name of the rank's group, or None where the dimensions say it all."""
        if not self.stride:
            return None
        number = rank // self.size if self.stride == 1 else rank % self.stride
        return str(self.first_group + number)


class Split:
    """The scopes of a workload's collectives on a number of ranks.

    `dims` are the sizes of the network's dimensions, innermost first, or None. Raises ConfigError
    where ranks, dimensions and the workload's group size do not fit.
    """

    def __init__(self, workload: Workload, ranks: int, dims: Sequence[int] | None) -> None:
        self.workload = workload
        self.ranks = ranks
        self.dims = tuple(dims) if dims else None
        if self.dims and prod(self.dims) != ranks:
            shape = "x".join(map(str, self.dims))
            problem = f"{shape} makes {prod(self.dims)} ranks, but the ranks are {ranks}"
            raise ConfigError("dims", f"{problem}; give sizes whose product is {ranks}")
        self.groups: Groups = ()
        self._transformer: dict[Side, Scope | None] = {}
        if workload.policy in TRANSFORMERS:
            self._transformer = self._split_groups(workload.model_parallel_ranks or 1)

    def scope(self, layer: int, side: Side) -> Scope | None:
        """Return where a layer communicates: `model` for activations and their gradients, `data`
        for gradients of weights; None when the policy has no such communication.
        """
        if self.ranks == 1:
            return None
        whole = self._first_dims(None)
        described: Layer = self.workload.layers[layer]
        policy = self.workload.policy_of(described)
        if policy in TRANSFORMERS:
            return self._transformer[side]
        if policy in ("MODEL", "DISTRIBUTED_INFERENCE"):
            return whole if side == "model" else None
        if policy == "HYBRID_DATA_MODEL":
            return self._first_dims(1, inner=side == "model")
        if policy == "HYBRID_MODEL_DATA":
            return self._first_dims(1, inner=side == "data")
        embedding = self.workload.policy in DLRM and layer == 0
        return whole if side == "data" or embedding else None

    def _first_dims(self, count: int | None, *, inner: bool = True) -> Scope | None:
        """Return the scope of the first `count` dimensions, or of the others; None if one rank."""
        if self.dims is None:
            if count is None:
                return Scope()
            return Scope(tuple((at < count) == inner for at in range(_ANY_NETWORK)))
        mask = tuple((count is None or at < count) == inner for at in range(len(self.dims)))
        members = prod(size for size, taken in zip(self.dims, mask, strict=True) if taken)
        return Scope(mask) if members > 1 else None

    def _split_groups(self, size: int) -> dict[Side, Scope | None]:
        if self.ranks % size:
            expected = f"model_parallel_NPU_group: a number that divides the {self.ranks} ranks"
            raise ConfigError(self.workload.where, expected_got(expected, size))
        whole = self._first_dims(None)
        if size == 1:
            return {"model": None, "data": whole}
        if size == self.ranks:
            return {"model": whole, "data": None}
        for count in range(1, len(self.dims or ())):
            if self.dims and prod(self.dims[:count]) == size:
                model, data = (self._first_dims(count, inner=side) for side in (True, False))
                return {"model": model, "data": data}
        return self._as_groups(size)

    def _as_groups(self, size: int) -> dict[Side, Scope | None]:
        sharing = [tuple(range(at, at + size)) for at in range(0, self.ranks, size)]
        replicas = [tuple(range(at, self.ranks, size)) for at in range(size)]
        self.groups = tuple(enumerate([*sharing, *replicas], start=1))
        return {
            "model": Scope(first_group=1, size=size, stride=1),
            "data": Scope(first_group=1 + len(sharing), size=size, stride=size),
        }
