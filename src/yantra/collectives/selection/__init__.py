"""Selections: which algorithm runs a collective, by its kind, its size and its group."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.base.fields import PluginChoice, PluginField, made
from yantra.base.plugin_files import what_was_raised
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from yantra.collectives.selection.selection import Group, Selection, Timed

selections: Registry[type[Selection]] = Registry(
    "selection",
    "yantra.collectives.selection",
    "yantra.selections",
    base="yantra.collectives.selection.selection.Selection",
)

FIELD = PluginField(selections)
"""The field `collectives.selection` of a scenario."""


def selection_of(choice: PluginChoice) -> Selection:
    return made(selections, choice, "collectives.selection")


def checked_choices(
    selection: Selection, kind: str, group: Group
) -> dict[int, tuple[Any, ...] | Timed]:
    """Raises ConfigError for an invalid answer or a selection that raises."""
    where = "collectives.selection"
    name = type(selection).__name__
    found: dict[int, tuple[Any, ...] | Timed] = {}
    for size, algorithms in _answer(selection, kind, group):
        if not isinstance(size, int) or size < 0 or size <= max(found, default=-1):
            raise ConfigError(where, f"{name} gives sizes that do not ascend: {size} B for {kind}")
        if is_timed(algorithms):
            found[size] = _checked_times(algorithms, name, kind)
            continue
        several = algorithms * len(group.dimensions) if len(algorithms) == 1 else algorithms
        if len(several) != len(group.dimensions):
            raise ConfigError(
                where,
                f"{name} gives {len(algorithms)} algorithms for {kind}; expected one, or one for "
                f"each of the {len(group.dimensions)} dimensions",
            )
        found[size] = several
    return found


def is_timed(chosen: object) -> TypeIs[Timed]:
    return hasattr(chosen, "points")


def _checked_times(timed: Timed, name: str, kind: str) -> Timed:
    points = timed.points
    ascends = all(a[0] < b[0] for a, b in pairwise(points))
    if not points or not ascends or not all(0 < ns < inf and size >= 0 for size, ns in points):
        expected = "one or more points (bytes, ns), ascending in bytes, of times above 0"
        raise ConfigError(
            "collectives.selection", f"{name} gives no usable times for {kind}; expected {expected}"
        )
    return timed


def _answer(selection: Selection, kind: str, group: Group) -> list[tuple[Any, Any]]:
    try:
        return [
            (size, chosen if is_timed(chosen) else tuple(chosen))
            for size, chosen in selection.choices(kind, group)
        ]
    except Exception as error:
        name = type(selection).__name__
        problem = f"{name} failed for {kind}: {what_was_raised(error)}"
        raise ConfigError("collectives.selection", problem) from error
