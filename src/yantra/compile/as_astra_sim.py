"""How ASTRA-sim reads workloads that say too little, or say it differently.

Group names as C++'s `stoi`; a collective of all ranks without dimensions involves the first four.
Both warn.

Source: ASTRA-sim 2 (master of 2026-03), observed on its binaries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra import _core
from yantra.scenario.quirks import Quirk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yantra.compile.graphs import Graphs
    from yantra.scenario import Scenario

INVOLVED_BY_DEFAULT = 4
"""Dimensions of a collective whose node names none, with the quirk."""


def spelled(graphs: Iterable[_core.Graph], groups: Iterable[str]) -> dict[str, str]:
    """Names in graphs that mean a group but are not its id."""
    known = {"", *groups}
    others = {name for graph in graphs for name in graph.pg_names if name not in known}
    if not others:
        return {}
    from yantra.astra_sim.numbers import as_stoi

    read_as = {name: str(as_stoi(name)) for name in sorted(others - {"0"})}
    return {name: group for name, group in read_as.items() if group in known and group != "0"}


def told(scenario: Scenario, quirks: frozenset[Quirk], graphs: Graphs) -> list[str]:
    warnings = []
    if scenario.semantics != "yantra" and graphs.groups:
        names = [str(group) for group, _ in graphs.groups]
        warnings += [
            f"pg_name {name!r} is read as {group}, as in ASTRA-sim"
            for name, group in spelled(graphs.with_arriving(), names).items()
        ]
    if Quirk.FOUR_DIMENSIONS in quirks:
        warnings += _left_out(scenario, graphs)
    return warnings


def _left_out(scenario: Scenario, graphs: Graphs) -> list[str]:
    dimensions = list(enumerate(scenario.topology.dimensions))[INVOLVED_BY_DEFAULT:]
    if not dimensions or not any(map(_names_no_dimensions, graphs.with_arriving())):
        return []
    named = ", ".join(f"{at} ({one.kind} of {one.size})" for at, one in dimensions)
    which = "dimension" if len(dimensions) == 1 else "dimensions"
    return [
        f"collectives of all ranks without involved_dim leave out {which} {named}, as in "
        f"ASTRA-sim, which involves the first {INVOLVED_BY_DEFAULT}; give their nodes "
        f"involved_dim, or leave out the quirk {Quirk.FOUR_DIMENSIONS}"
    ]


def _names_no_dimensions(graph: _core.Graph) -> bool:
    from yantra.chakra.schema import NodeType

    world = {at for at, name in enumerate(graph.pg_names) if name in ("", "0")} | {-1}
    lengths = graph.involved_len
    return any(
        type == NodeType.COMM_COLL and group in world and not (len(lengths) and lengths[node])
        for node, (type, group) in enumerate(zip(graph.type, graph.pg_name, strict=True))
    )
