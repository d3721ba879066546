"""The laws of topologies, and their contract.

    yantra contract topology hypercube
    yantra contract topology path/to/my_topology.py

Laws take a topology and a number of ranks and return what is wrong, or None.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from yantra.base import contract
from yantra.base.contract import Contract, asked
from yantra.base.text import count
from yantra.fabric.topologies import find
from yantra.fabric.topologies.routes import Table, TopologyError, table_of
from yantra.fabric.topologies.topology import Block

SIZES = (*range(2, 18), 24, 32, 36, 64)

Law = Callable[[Block, int], str | None]


def every_route_arrives(block: Block, n: int) -> str | None:
    """Links join devices and occur once; routes follow them without circles."""
    try:
        table_of(block, n)
    except TopologyError as error:
        return str(error)
    return None


def no_device_is_a_dead_end(block: Block, n: int) -> str | None:
    """Every device is on a way to and from every rank."""
    table = _table(block, n)
    if table is None:
        return None
    back: dict[int, list[int]] = {}
    there: dict[int, list[int]] = {}
    for start, end in table.links:
        there.setdefault(start, []).append(end)
        back.setdefault(end, []).append(start)
    for device in range(table.devices):
        what = f"rank {device}" if device < n else f"switch {device - n}"
        if device not in back and device not in there:
            return f"{what} has no links"
        if device not in there:
            return f"{what} has links to it and none from it: nothing that comes there can leave"
        if device not in back:
            return f"{what} has links from it and none to it: nothing ever comes there"
    for reached, how in (
        (_reached(there), "cannot be reached from"),
        (_reached(back), "cannot reach"),
    ):
        for device in sorted(set(range(table.devices)) - reached):
            what = f"rank {device}" if device < n else f"switch {device - n}"
            return f"{what} {how} rank 0"
    return None


def _reached(ways: dict[int, list[int]]) -> set[int]:
    found, left = {0}, [0]
    while left:
        new = set(ways.get(left.pop(), ())) - found
        found |= new
        left.extend(new)
    return found


def the_same_is_said_twice(block: Block, n: int) -> str | None:
    """Links and routes depend on the number of ranks alone."""
    first, second = _table(block, n), _table(block, n)
    if first is None or second is None or first == second:
        return None
    return "asked twice, it gives two networks"


def there_and_back_are_as_far_if_it_says_so(block: Block, n: int) -> str | None:
    """A symmetric topology has as many hops from a to b as from b to a."""
    table = _table(block, n)
    if table is None or not block.symmetric:
        return None
    for one, other in permutations(range(n), 2):
        there, back = table.hops(one, other), table.hops(other, one)
        if there != back:
            return f"{there} hops from {one} to {other}, but {back} back"
    return None


def the_native_form_is_the_same_network(block: Block, n: int) -> str | None:
    """The core's form that it names has the same links and routes."""
    table = _table(block, n)
    if table is None or block.native is None:
        return None
    native = table_of(find(block.native), n)
    if (table.devices, set(table.links)) != (native.devices, set(native.links)):
        return f"it has other links than {block.native}, which it names as its native form"
    for start, to in permutations(range(n), 2):
        ours, theirs = table.route(start, to), native.route(start, to)
        if ours != theirs:
            return f"it goes from {start} to {to} by {ours}, its native form by {theirs}"
    return None


LAWS: tuple[Law, ...] = (
    every_route_arrives,
    no_device_is_a_dead_end,
    the_same_is_said_twice,
    there_and_back_are_as_far_if_it_says_so,
    the_native_form_is_the_same_network,
)


def supported_sizes(block: Block) -> list[int]:
    """Return those of SIZES that a topology supports."""
    return [n for n in SIZES if block.supports(n) is None]


def violations(block: Block) -> Iterator[str]:
    """Yield what is wrong with a topology, for every size and law."""
    sizes = supported_sizes(block)
    if not sizes:
        yield f"it supports none of {', '.join(map(str, SIZES))} ranks: {block.supports(SIZES[0])}"
    for n in sizes:
        for law in LAWS:
            wrong = asked(law, block, n)
            if wrong:
                yield f"{n} ranks: {law.__name__}: {wrong}"


def summary(block: Block) -> str:
    """Return the sizes checked, and figures of the largest."""
    sizes = supported_sizes(block)
    return (
        f"every law holds over {', '.join(map(str, sizes))} ranks\n"
        f"{sizes[-1]} ranks: {_figures(table_of(block, sizes[-1]))}"
    )


CONTRACT = Contract(
    kind="topology",
    module="yantra.fabric.topologies.contract",
    about="Check a topology: its links, its routes and what it claims of them.",
    argument="a name (mesh, dragonfly2), or a file with a line PLUGIN =",
    find=find,
    violations=violations,
    summary=summary,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the topology named on the command line; return the exit status."""
    return contract.main(CONTRACT, arguments)


def _table(block: Block, n: int) -> Table | None:
    try:
        return table_of(block, n)
    except TopologyError:
        return None


def _figures(table: Table) -> str:
    hops = [table.hops(*pair) for pair in permutations(range(table.ranks), 2)]
    switches = table.devices - table.ranks
    return (
        f"{count(switches, 'switch', 'switches')}, {len(table.links)} links, "
        f"{count(max(hops), 'hop')} at most, {sum(hops) / len(hops):.2f} on average"
    )


if __name__ == "__main__":
    sys.exit(main())
