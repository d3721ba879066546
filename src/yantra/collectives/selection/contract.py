"""The laws every selection keeps, and a command that checks one against them.

python -m yantra.collectives.selection.contract path/to/my_selection.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from yantra.base.contract import Contract, first_broken, main
from yantra.base.errors import ConfigError
from yantra.base.fields import made
from yantra.collectives import find as find_algorithm
from yantra.collectives.schedule import Kind
from yantra.collectives.selection import checked_choices, selections
from yantra.collectives.selection.selection import Group, Selection, Timed

KINDS = tuple(kind.value for kind in Kind)
_ROW = (("fully_connected", 8),)
_GRID = (("switch", 8), ("ring", 4))
GROUPS = (
    *(Group(n, (("switch", n),), (0,), 0) for n in (2, 3, 8, 64, 1024)),
    Group(8, _GRID, (0,), 0),
    Group(4, _GRID, (1,), 1),
    Group(32, _GRID, (0, 1), 0),
    Group(3, _ROW, None, 0),
    # Nodes: all members in one, some in each, and one in each.
    *(Group(n, (("switch", n),), (0,), 0, local=n) for n in (2, 6, 8)),
    Group(8, _GRID, (0,), 0, local=8),
    Group(32, _GRID, (0, 1), 0, local=8),
    Group(16, _GRID, None, 0, local=4),
    Group(8, _GRID, None, 0, local=2),
    Group(4, _GRID, (1,), 1, local=1),
)

Law = Callable[[Selection, str, Group], str | None]


def sizes_ascend_and_every_dimension_has_an_algorithm(
    selection: Selection, kind: str, group: Group
) -> str | None:
    try:
        checked_choices(selection, kind, group)
    except ConfigError as error:
        return error.problem
    return None


def every_algorithm_is_known(selection: Selection, kind: str, group: Group) -> str | None:
    for chosen in checked_choices(selection, kind, group).values():
        for name in () if isinstance(chosen, Timed) else chosen:
            try:
                find_algorithm(name)
            except ConfigError as error:
                return error.problem
    return None


def every_algorithm_performs_the_collective(
    selection: Selection, kind: str, group: Group
) -> str | None:
    of = Kind(kind)
    for size, chosen in checked_choices(selection, kind, group).items():
        if isinstance(chosen, Timed) or group.whole is None:
            continue
        for dimension in group.whole:
            ranks = group.dimensions[dimension][1]
            why = find_algorithm(chosen[dimension]).supports(of, ranks)
            if why is not None:
                return f"from {size} B on it chooses {chosen[dimension]}: {why}"
    return None


def the_same_is_said_twice(selection: Selection, kind: str, group: Group) -> str | None:
    first, second = (checked_choices(selection, kind, group) for _ in range(2))
    return None if first == second else f"first {first}, then {second}"


LAWS: tuple[Law, ...] = (
    sizes_ascend_and_every_dimension_has_an_algorithm,
    every_algorithm_is_known,
    every_algorithm_performs_the_collective,
    the_same_is_said_twice,
)


def violations(selection: Selection) -> Iterator[str]:
    for group in GROUPS:
        for kind in KINDS:
            label = f"{kind} over {group.ranks} ranks{_place(group)}"
            if wrong := first_broken(LAWS, label, selection, kind, group):
                yield wrong


def _place(group: Group) -> str:
    if group.local == 1:
        return ""
    return " of one node" if group.local == group.ranks else f", {group.local} in each node"


def find(name: str) -> Selection:
    return made(selections, name, name)


def summary(_: Selection) -> str:
    groups = ", ".join(dict.fromkeys(f"{group.ranks}{_place(group)}" for group in GROUPS))
    return f"every law holds for {', '.join(KINDS)} over groups of these ranks: {groups}"


CONTRACT = Contract(
    kind="selection",
    module="yantra.collectives.selection.contract",
    about="Check a selection: that it names an algorithm for every size.",
    argument="a name, or a file with a line PLUGIN =",
    find=find,
    violations=violations,
    summary=summary,
)

if __name__ == "__main__":
    sys.exit(main(CONTRACT))
