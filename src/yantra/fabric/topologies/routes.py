"""A topology's links, and the one a message takes where. Time and memory are devices x ranks."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

from yantra.fabric.topologies.topology import Block, Link

NONE = 0xFFFFFFFF

Step = Callable[[int, int], int | None]
"""Where a message at a device goes next to reach a rank; None if it cannot."""


class TopologyError(Exception): ...


class Table(NamedTuple):
    """`next_link[device * ranks + to]` indexes `links`, or is NONE."""

    ranks: int
    devices: int
    links: tuple[Link, ...]
    next_link: array[int]

    def route(self, start: int, to: int) -> list[int]:
        devices = [start]
        while devices[-1] != to:
            devices.append(self.links[self.next_link[devices[-1] * self.ranks + to]][1])
        return devices

    def hops(self, start: int, to: int) -> int:
        return len(self.route(start, to)) - 1


def table_of(block: Block, n: int) -> Table:
    devices, links = _links_of(block, n)
    number = {link: index for index, link in enumerate(links)}
    table = Table(n, devices, links, array("I", [NONE]) * (devices * n))
    step = _steps_of(block, n, devices, links)
    for to in range(n):
        for start in range(n):
            _lay(table, number, step, start, to)
    return table


def _links_of(block: Block, n: int) -> tuple[int, tuple[Link, ...]]:
    switches = block.switches(n)
    if not isinstance(switches, int) or switches < 0:
        raise TopologyError(f"it has {switches!r} switches; expected a whole number from 0")
    devices = n + switches
    links = tuple(block.links(n))
    for index, link in enumerate(links):
        if not isinstance(link, tuple) or len(link) != 2:
            raise TopologyError(f"link {index} is {link!r}; expected two devices (from, to)")
        for device in link:
            if not isinstance(device, int) or not 0 <= device < devices:
                raise TopologyError(
                    f"link {index} {link} joins {device!r}; devices are 0 to {devices - 1}"
                )
        if link[0] == link[1]:
            raise TopologyError(f"link {index} leads from device {link[0]} to itself")
    if len(set(links)) < len(links):
        twice = next(link for index, link in enumerate(links) if link in links[:index])
        raise TopologyError(
            f"the link from device {twice[0]} to {twice[1]} is named more than once"
        )
    return devices, links


def _steps_of(block: Block, n: int, devices: int, links: Sequence[Link]) -> Step:
    shortest: Step | None = None

    def step(at: int, to: int) -> int | None:
        nonlocal shortest
        chosen = block.next_device(n, at, to)
        if chosen is not None:
            return chosen
        if shortest is None:
            shortest = shortest_ways(n, devices, links)
        return shortest(at, to)

    return step


def _lay(table: Table, number: dict[Link, int], step: Step, start: int, to: int) -> None:
    at = start
    passed = {start}
    while at != to and table.next_link[at * table.ranks + to] == NONE:
        ahead = step(at, to)
        where = f"the route from rank {start} to {to}"
        if ahead is None:
            raise TopologyError(f"{where} ends at device {at}: no links lead on to it")
        if not isinstance(ahead, int) or (at, ahead) not in number:
            raise TopologyError(f"{where} goes from device {at} to {ahead!r}, but no link does")
        if ahead in passed:
            raise TopologyError(f"{where} comes back to device {ahead}")
        table.next_link[at * table.ranks + to] = number[at, ahead]
        passed.add(ahead)
        at = ahead


def shortest_ways(n: int, devices: int, links: Sequence[Link]) -> Step:
    """Return steps of shortest ways by hops; ties go to the lowest device."""
    neighbours: list[list[int]] = [[] for _ in range(devices)]
    for source, target in sorted(links):
        neighbours[source].append(target)
    ahead = array("I", [NONE]) * (devices * n)
    known = [1 << device if device < n else 0 for device in range(devices)]
    newest = known
    while any(newest):
        reached = [0] * devices
        for at in range(devices):
            for neighbour in neighbours[at]:
                gained = newest[neighbour] & ~(known[at] | reached[at])
                reached[at] |= gained
                while gained:
                    ahead[at * n + gained.bit_length() - 1] = neighbour
                    gained ^= 1 << gained.bit_length() - 1
        known = [old | new for old, new in zip(known, reached, strict=True)]
        newest = reached

    def step(at: int, to: int) -> int | None:
        device = ahead[at * n + to]
        return None if device == NONE else device

    return step
