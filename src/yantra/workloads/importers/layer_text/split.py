"""Over which ranks a policy communicates: whole dimensions of the network, or groups of ranks.

A policy splits the dimensions into those that share a layer and those that replicate it (in
ASTRA-sim 1.0 ten booleans per collective, here one per dimension).

A transformer gives the ranks that share a layer. Where that is no product of leading dimensions,
which ASTRA-sim 1.0 breaks in two, consecutive ranks become communicator groups. Groups may also
replace whole dimensions, for simulators that then run both kinds of traffic at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.workloads.importers.layer_text.workload import DLRM, TRANSFORMERS, Workload

Side = Literal["model", "data"]
Groups = tuple[tuple[int, tuple[int, ...]], ...]


class Scope(NamedTuple):
    """Where a collective runs; `involved` is None for all dimensions and for groups.

    `stride` is the distance of a group's members, 0 without groups.
    """

    involved: tuple[bool, ...] | None = None
    first_group: int = 0
    size: int = 0
    stride: int = 0

    def group(self, rank: int) -> str | None:
        """The name of the rank's group, or None where the dimensions say it all."""
        if not self.stride:
            return None
        number = rank // self.size if self.stride == 1 else rank % self.stride
        return str(self.first_group + number)


class Split:
    """The scopes of a workload's collectives on some ranks.

    `dims` are the network's dimensions, innermost first, or None; `as_groups` replaces whole ones
    by groups. Raises ConfigError where ranks, dimensions and the workload's group size do not fit.
    """

    def __init__(
        self,
        workload: Workload,
        ranks: int,
        dims: Sequence[int] | None,
        *,
        as_groups: bool = False,
    ) -> None:
        self.workload = workload
        self.ranks = ranks
        self.dims = tuple(dims) if dims else None
        self.as_groups = as_groups
        if self.dims and prod(self.dims) != ranks:
            shape = "x".join(map(str, self.dims))
            problem = f"{shape} makes {prod(self.dims)} ranks, but the ranks are {ranks}"
            raise ConfigError("dims", f"{problem}; give sizes whose product is {ranks}")
        self.groups: Groups = ()
        self._whole = Scope((True,) * len(self.dims) if self.dims else None)
        self._inner, self._outer = self._halves()

    def scope(self, layer: int, side: Side) -> Scope | None:
        """Where a layer communicates: `model` for activations and their gradients, `data` for
        weight gradients; None for none.
        """
        if self.ranks == 1:
            return None
        policy = self.workload.policy_of(self.workload.layers[layer])
        if policy in ("MODEL", "DISTRIBUTED_INFERENCE"):
            return self._whole if side == "model" else None
        if policy == "HYBRID_MODEL_DATA":
            return self._outer if side == "model" else self._inner
        if policy == "HYBRID_DATA_MODEL" or policy in TRANSFORMERS:
            return self._inner if side == "model" else self._outer
        embedding = self.workload.policy in DLRM and layer == 0
        return self._whole if side == "data" or embedding else None

    def _halves(self) -> tuple[Scope | None, Scope | None]:
        if self.workload.policy in TRANSFORMERS:
            inner = self.workload.model_parallel_ranks or 1
            if self.ranks % inner:
                expected = f"model_parallel_NPU_group: a number that divides {self.ranks} ranks"
                raise ConfigError(self.workload.where, expected_got(expected, inner))
        elif self.dims:
            inner = self.dims[0]
        elif self._is_split():
            problem = f"{self.workload.policy} splits the network by its dimensions"
            raise ConfigError("dims", f"{problem}; give their sizes, such as 8x8x4")
        else:
            return None, None
        if inner == 1:
            return None, self._whole
        if inner == self.ranks:
            return self._whole, None
        for count in range(1, len(self.dims or ())):
            if self.dims and prod(self.dims[:count]) == inner and not self.as_groups:
                mask = tuple(at < count for at in range(len(self.dims)))
                return Scope(mask), Scope(tuple(not taken for taken in mask))
        return self._grouped(inner)

    def _grouped(self, size: int) -> tuple[Scope, Scope]:
        if not self._is_split():
            return self._whole, self._whole
        inner = [tuple(range(at, at + size)) for at in range(0, self.ranks, size)]
        outer = [tuple(range(at, self.ranks, size)) for at in range(size)]
        self.groups = tuple(enumerate([*inner, *outer], start=1))
        return Scope(None, 1, size, 1), Scope(None, 1 + len(inner), size, size)

    def _is_split(self) -> bool:
        policies = {self.workload.policy_of(layer) for layer in self.workload.layers}
        return not policies.isdisjoint(("HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", *TRANSFORMERS))
