"""Text workloads of ASTRA-sim 1.0 as templates: one trace for all ranks.

Trade-off: whole dimensions are groups too, as a template's groups are relative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from yantra.chakra import Node, Trace
from yantra.workloads.importers.imported import VIEW, make_grid, make_workload
from yantra.workloads.importers.layer_text import parse_dims, read
from yantra.workloads.importers.layer_text.loops import Settings, not_issued, trace
from yantra.workloads.importers.layer_text.split import Scope, Side, Split
from yantra.workloads.importers.layer_text.workload import Workload as Layers
from yantra.workloads.templates import Workload
from yantra.workloads.templates.grid import Group

__all__ = ["Settings", "from_text", "parse_dims"]

ALL = "world"


def from_text(
    path: str, ranks: int, dims: Sequence[int] | None = None, settings: Settings | None = None
) -> Workload:
    """Read a text workload for `ranks` ranks; `dims` are the network's, innermost first.

    Raises ConfigError where file, ranks, dimensions and policy do not fit.
    """
    return from_layers(read(path), ranks, dims, settings)


def from_layers(
    layers: Layers,
    ranks: int,
    dims: Sequence[int] | None = None,
    settings: Settings | None = None,
    source: str = "ASTRA-sim 1.0",
) -> Workload:
    """Make a workload of layers from `source`; see `from_text`."""
    split = _Named(layers, ranks, dims)
    made = trace(layers, split, 0, settings or Settings())
    nodes = list(made)
    named = _chain(nodes)
    axes = split.axes()
    members = {ALL: tuple(name for name, _ in axes), **{name: (name,) for name, _ in axes}}
    groups = {name: Group(VIEW, of) for name, of in members.items() if name in named}
    return make_workload(
        make_grid(*axes),
        groups,
        (Trace(nodes, made.metadata),),
        None,
        {"source": source, "policy": layers.policy},
        not_issued(layers, split),
    )


def _chain(nodes: Iterable[Node]) -> frozenset[str]:
    last: dict[str, Node] = {}
    for node in nodes:
        name = node.get("pg_name")
        if isinstance(name, str):
            if name in last:
                node.depends_on(last[name], control=True)
            last[name] = node
    return frozenset(last)


class _Name(Scope):
    name: str

    def group(self, rank: int) -> str:
        return self.name


class _Named(Split):
    def __init__(self, layers: Layers, ranks: int, dims: Sequence[int] | None) -> None:
        super().__init__(layers, ranks, dims, as_groups=True)
        self.inner = len(self.groups[0][1]) if self.groups else ranks

    def axes(self) -> tuple[tuple[str, int], ...]:
        if self.inner == self.ranks:
            return (("rank", self.ranks),)
        return tuple(zip(self._names(), (self.inner, self.ranks // self.inner), strict=True))

    def scope(self, layer: int, side: Side) -> Scope | None:
        found = super().scope(layer, side)
        if found is None:
            return None
        named = _Name()
        named.name = ALL if not found.stride else self._names()[found.stride != 1]
        return named

    def _names(self) -> tuple[str, str]:
        policy = self.workload.policy
        if policy == "HYBRID_CUSTOMIZED":
            return "inner", "outer"
        return ("data", "model") if policy == "HYBRID_MODEL_DATA" else ("model", "data")
