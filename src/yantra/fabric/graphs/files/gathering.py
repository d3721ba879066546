"""Devices and links gathered one by one from a file."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got, show
from yantra.fabric.graphs import MOST_LINKS
from yantra.fabric.graphs.beside import BUFFER, WEIGHT
from yantra.fabric.graphs.files import housing
from yantra.fabric.graphs.graph import NO_BOX, DeviceKind, Graph, GraphError, Links, Tier

_ORDER = (DeviceKind.RANK, DeviceKind.SWITCH, DeviceKind.NIC)
_MOST_LABELS = 2**16


class Traits(NamedTuple):
    """A link's bytes/ns, ns, label or "", and weight."""

    bytes_per_ns: float
    latency_ns: float
    label: str = ""
    weight: float = 1.0


class Gathering:
    """What a file has named; `name` is for errors."""

    def __init__(self, name: str, *, finds_boxes: bool = False) -> None:
        """`finds_boxes`: ranks with their own switches are boxes."""
        self.name = name
        self._finds_boxes = finds_boxes
        self._devices: dict[str, int] = {}
        self._kinds: list[DeviceKind] = []
        self._ranks: dict[int, int] = {}
        self._rank_of: dict[int, int] = {}
        self._boxes: dict[int, int] = {}
        self._box_names: dict[str, int] = {}
        self._buffers: dict[int, int] = {}
        self._buffer_said: dict[int, str] = {}
        self._labels: dict[str, int] = {}
        self._starts, self._stops = array("I"), array("I")
        self._rates, self._latencies, self._weights = array("d"), array("d"), array("d")
        self._label_of = array("i")

    def device(self, name: str, kind: DeviceKind = DeviceKind.SWITCH) -> int:
        known = self._devices.setdefault(name, len(self._devices))
        if known == len(self._kinds):
            self._kinds.append(kind)
        return known

    def known(self, name: str) -> int | None:
        return self._devices.get(name)

    def rank(self, device: int, rank: int, where: str) -> None:
        if self._ranks.setdefault(rank, device) != device:
            raise ConfigError(where, f"rank {rank} is given to two devices")
        if self._rank_of.setdefault(device, rank) != rank:
            raise ConfigError(where, f"the device is rank {self._rank_of[device]} and rank {rank}")
        self._kinds[device] = DeviceKind.RANK

    def box(self, device: int, box: str, where: str = "") -> None:
        number = self._box_names.setdefault(box, len(self._box_names))
        if self._boxes.setdefault(device, number) != number:
            other = list(self._box_names)[self._boxes[device]]
            problem = f"{show(list(self._devices)[device])} is in box {show(other)}"
            raise ConfigError(where or self.name, f"{problem}, so it cannot be in {show(box)} too")

    def buffer(self, device: int, text: str, where: str) -> None:
        size = int(BUFFER.read(text, where, ""))
        if self._buffers.setdefault(device, size) != size:
            problem = f"the device was given a buffer of {self._buffers[device]} B before"
            raise ConfigError(where, f"{problem}, and now of {size} B")
        self._buffer_said.setdefault(device, where)

    def link(
        self, start: int, end: int, traits: Traits, where: str, *, both_ways: bool = False
    ) -> None:
        """Add a link, or both ways; default labels name what they join."""
        if start == end:
            raise ConfigError(where, "leads from a device to itself")
        if len(self._label_of) >= MOST_LINKS:
            raise ConfigError(where, f"expected at most {MOST_LINKS} links")
        label = traits.label
        number = self._labels.setdefault(label, len(self._labels)) if label else -1
        if number >= _MOST_LABELS // 2:
            raise ConfigError(where, f"expected at most {_MOST_LABELS // 2} labels")
        for one, other in ((start, end), (end, start))[: 1 + both_ways]:
            self._starts.append(one)
            self._stops.append(other)
            self._rates.append(traits.bytes_per_ns)
            self._latencies.append(traits.latency_ns)
            self._weights.append(traits.weight)
            self._label_of.append(number)

    def graph(self) -> Graph:
        names = list(self._devices)
        if not self._ranks:
            self._number_the_ranks(names)
        count = len(self._ranks)
        if sorted(self._ranks) != list(range(count)):
            missing = next(rank for rank in range(count) if rank not in self._ranks)
            problem = f"there is no rank {missing} among {count} ranks; expected 0 to {count - 1}"
            raise ConfigError(self.name, problem)
        if not self._label_of:
            raise ConfigError(self.name, "has no links")
        order = [self._ranks[rank] for rank in range(count)]
        for kind in _ORDER[1:]:
            order += [at for at, own in enumerate(self._kinds) if own is kind]
        tiers = (Tier(kind.name.lower(), kind, self._kinds.count(kind)) for kind in _ORDER)
        place = np.empty(len(order), np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        start, end = (
            place[np.frombuffer(column, np.uint32)] for column in (self._starts, self._stops)
        )
        labels, label = self._all_labels(start, end, place)
        boxes = self._all_boxes(start, end, [names[device] for device in order], order)
        for device, where in self._buffer_said.items():
            if self._kinds[device] is not DeviceKind.SWITCH:
                problem = f"{show(names[device])} is no switch; only switches have a buffer"
                raise ConfigError(where, problem)
        buffers = np.array([self._buffers.get(device, 0) for device in order], np.int64)
        rates, latencies, weights = (
            np.frombuffer(column, np.float64)
            for column in (self._rates, self._latencies, self._weights)
        )
        links = Links(start, end, rates, latencies, label)
        shown = tuple(names[device] for device in order)
        try:
            graph = Graph(
                tuple(tier for tier in tiers if tier.size),
                links,
                labels,
                names=shown,
                boxes=boxes,
                weights=weights if (weights != 1).any() else None,
                buffers=buffers if buffers.any() else None,
            )
        except GraphError as error:
            raise ConfigError(self.name, str(error)) from None
        rank = graph.unreached()
        if rank is not None:
            problem = f"no links lead from {shown[0]} to {shown[rank]}, or none back"
            raise ConfigError(self.name, f"{problem}; expected that all ranks reach each other")
        return graph

    def _all_boxes(
        self, start: np.ndarray, end: np.ndarray, shown: list[str], order: list[int]
    ) -> np.ndarray:
        boxes = np.array([self._boxes.get(device, NO_BOX) for device in order], np.int32)
        if not self._finds_boxes:
            return boxes
        count = len(self._ranks)
        boxes = housing.with_own_switches(count, start, end, boxes)
        parted = housing.parted(count, start, end, boxes)
        if parted is not None:
            box, one, other = parted
            problem = f"no links inside join {shown[one]} and {shown[other]}, so it would hold no"
            todo = "name the switches that are in it, too, or leave it out"
            where = f"{self.name}: box {show(list(self._box_names)[box])}"
            raise ConfigError(where, f"{problem} traffic; {todo}")
        return boxes

    def _number_the_ranks(self, names: list[str]) -> None:
        for device, name in enumerate(names):
            if name.isascii() and name.isdigit() and len(name) <= 9:
                self.rank(device, int(name), f"{self.name}: {show(name)}")
        if not self._ranks:
            problem = "names no ranks; expected devices called 0, 1, 2 and so on"
            raise ConfigError(self.name, problem)

    def _all_labels(
        self, start: np.ndarray, end: np.ndarray, place: np.ndarray
    ) -> tuple[tuple[str, ...], np.ndarray]:
        label = np.frombuffer(self._label_of, np.int32).copy()
        labels = dict(self._labels)
        kinds = np.empty(len(place), np.uint8)
        kinds[place] = self._kinds
        for one in _ORDER:
            for other in _ORDER:
                own = (label < 0) & (kinds[start] == one) & (kinds[end] == other)
                if own.any():
                    name = f"{one.name.lower()} to {other.name.lower()}"
                    label[own] = labels.setdefault(name, len(labels))
        return tuple(labels), label.astype(np.uint16)


def weight_of(text: str, where: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        raise ConfigError(where, expected_got("a number", text)) from None
    WEIGHT.check(weight, where)
    return weight
