"""Stages of a pipeline: which device holds which chunk of the model's layers.

Sources: `loop`, Narayanan et al., SC 2021, section 2.2; `v_shape`, Qi et al., NeurIPS 2024;
`mirror`, DeepSeek-V3 technical report (2024), section 3.2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Place = tuple[int, int]
"""A device, and one of its chunks."""


class Stages:
    """The places of every stage, by route.

    `devices` and `chunks` (per device) count from 0; `count` is the stages of a route.
    """

    def __init__(self, routes: Sequence[Sequence[Place]]) -> None:
        self.routes = tuple(tuple(route) for route in routes)
        places = [place for route in self.routes for place in route]
        self.devices = 1 + max(device for device, _ in places)
        self.chunks = 1 + max(chunk for _, chunk in places)
        self.count = len(self.routes[0])
        self._stage = {place: number for route in self.routes for number, place in enumerate(route)}
        self._route = {place: number for number, route in enumerate(self.routes) for place in route}
        steps = [step for route in self.routes for step in pairwise(route)]
        self._after = dict(steps)
        self._before = {after: before for before, after in steps}

    def stage(self, device: int, chunk: int) -> int:
        return self._stage[device, chunk]

    def place(self, stage: int, route: int = 0) -> Place:
        """The place of a stage: the inverse of `stage`."""
        return self.routes[route][stage]

    def route(self, device: int, chunk: int) -> int:
        return self._route[device, chunk]

    def after(self, device: int, chunk: int) -> Place | None:
        return self._after.get((device, chunk))

    def before(self, device: int, chunk: int) -> Place | None:
        return self._before.get((device, chunk))

    def microbatches(self, route: int, m: int) -> range:
        routes = len(self.routes)
        return range(route * m // routes, (route + 1) * m // routes)


def loop(p: int, v: int = 1) -> Stages:
    """v rounds over p devices: chunk c of device i is stage c * p + i."""
    return Stages([[(device, chunk) for chunk in range(v) for device in range(p)]])


def v_shape(p: int, v: int = 2) -> Stages:
    """v passes over p devices that turn at the ends: there and back for v = 2."""
    return Stages(
        [
            [
                (device if chunk % 2 == 0 else p - 1 - device, chunk)
                for chunk in range(v)
                for device in range(p)
            ]
        ]
    )


def mirror(p: int) -> Stages:
    """Two routes of p stages: chunk 0 goes up the devices, chunk 1 (a copy) down."""
    return Stages([[(i, 0) for i in range(p)], [(p - 1 - i, 1) for i in range(p)]])
