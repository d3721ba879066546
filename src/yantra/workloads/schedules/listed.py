"""A user's own schedule: a file that lists what every device does.

    micro_batches: 4
    chunks: 1                     # per device; 1 if left out
    placement: loop               # loop, v, mirror, or every route as a text of device.chunk
    devices:
      - F0 F1 B0 F2 B1 F3 B2 B3
      - F0 B0 F1 B1 F2 B2 F3 b3 W3

An operation is F, B, b or W, the micro-batch, and the chunk if not 0 (`F3.1`); `F3&B1` are
overlapping passes.
"""

from __future__ import annotations

import re
from typing import Any, Self

from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.workloads.schedules.check import find_violation
from yantra.workloads.schedules.limits import counted
from yantra.workloads.schedules.schedule import Action, Orders, Pair, Schedule, Step
from yantra.workloads.schedules.stages import Place, Stages, loop, mirror, v_shape

_OPERATION = re.compile(r"([FBbW])([0-9]{1,9})(?:\.([0-9]{1,9}))?")
_PLACE = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_KEYS = ("micro_batches", "chunks", "placement", "devices")
_MOST_MICROBATCHES = 1_000_000
_MOST_CHUNKS = 1000


class Listed(Schedule):
    def __init__(self, name: str, orders: Orders, stages: Stages, microbatches: int) -> None:
        super().__init__(name)
        self._orders = orders
        self._stages = stages
        self.microbatches = microbatches

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a YAML file (or JSON, which is YAML)."""
        return cls.of_tree(parse_yaml(read_text(path), path), path)

    @classmethod
    def of_tree(cls, tree: Any, name: str) -> Self:
        """Read a parsed document; `name` is its file's."""
        if not isinstance(tree, dict):
            raise ConfigError(name, expected_got(f"the keys {', '.join(_KEYS)}", tree))
        for key in tree:
            if key not in _KEYS:
                known = f"no such key; expected one of {', '.join(_KEYS)}"
                raise ConfigError(f"{name}: {key}", known + did_you_mean(key, _KEYS))
        m = _number(tree, "micro_batches", name, None, _MOST_MICROBATCHES)
        devices = tree.get("devices")
        if not isinstance(devices, list) or not devices:
            raise ConfigError(f"{name}: devices", expected_got("one list per device", devices))
        orders = tuple(
            _order(value, f"{name}: devices[{device}]") for device, value in enumerate(devices)
        )
        stages = _stages(tree, len(devices), name)
        if m % len(stages.routes):
            raise ConfigError(
                f"{name}: micro_batches",
                f"expected a number that {len(stages.routes)} routes divide, got {m}",
            )
        wrong = find_violation(orders, stages, m)
        if wrong:
            at = "" if wrong.position is None else f"[{wrong.position}]"
            raise ConfigError(f"{name}: devices[{wrong.device}]{at}", wrong.problem)
        return cls(name, orders, stages, m)

    @property
    def size(self) -> tuple[int, int, int]:
        return len(self._orders), self.microbatches, self._stages.chunks

    def requires(self, p: int, m: int, v: int = 1) -> str | None:
        chunks = self._stages.chunks
        for own, asked, what in (
            (len(self._orders), p, "device"),
            (self.microbatches, m, "micro-batch"),
            (chunks, chunks if v == 1 else v, "chunk"),
        ):
            if own != asked:
                needed = f"needs {counted(own, what)}, as its list has"
                return f"{needed}, got {asked}; the nearest is {own}"
        return None

    def stages(self, p: int, v: int = 1) -> Stages:
        return self._stages

    def order(self, device: int, p: int, m: int, v: int) -> tuple[Action, ...]:
        return self._orders[device]


def as_text(orders: Orders, stages: Stages, m: int) -> str:
    """Write orders as a file for `Listed.read`."""
    routes = [" ".join(f"{device}.{chunk}" for device, chunk in r) for r in stages.routes]
    lines = [f"micro_batches: {m}", f"chunks: {stages.chunks}"]
    for name, placed in _placements(stages.devices, stages.chunks).items():
        if placed.routes == stages.routes:
            lines.append(f"placement: {name}")
            break
    else:
        lines += ["placement:", *(f"- {route}" for route in routes)]
    lines += ["devices:", *("- " + " ".join(map(str, order)) for order in orders)]
    return "\n".join(lines) + "\n"


def parse_action(text: str, where: str = "operation") -> Action:
    """Parse an action such as `F3`, `b0.1` or `F3.1&B2`."""
    steps = []
    for part in text.split("&"):
        match = _OPERATION.fullmatch(part)
        if match is None:
            raise ConfigError(
                where,
                expected_got("F, B, b or W and a micro-batch, as in F3, W0.1 or F3&B1", text),
            )
        kind, microbatch, chunk = match.groups()
        steps.append(Step(kind, int(microbatch), int(chunk or 0)))  # type: ignore[arg-type]
    if len(steps) == 1:
        return steps[0]
    if [step.kind for step in steps] != ["F", "B"]:
        raise ConfigError(where, expected_got("a pair of F and B, as in F3&B1", text))
    return Pair(*steps)


def _number(tree: dict[str, Any], key: str, name: str, default: int | None, most: int) -> int:
    value = tree.get(key, default)
    if type(value) is not int or not 1 <= value <= most:
        raise ConfigError(f"{name}: {key}", expected_got(f"a whole number from 1 to {most}", value))
    return value


def _words(value: Any, where: str, what: str) -> list[str]:
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ConfigError(where, expected_got(what, value))
    return words


def _order(value: Any, where: str) -> tuple[Action, ...]:
    words = _words(value, where, "operations, as in F0 F1 B0 B1")
    return tuple(parse_action(word, f"{where}[{at}]") for at, word in enumerate(words))


def _placements(p: int, v: int) -> dict[str, Stages]:
    return {"loop": loop(p, v), "v": v_shape(p, v)} | ({"mirror": mirror(p)} if v == 2 else {})


def _stages(tree: dict[str, Any], p: int, name: str) -> Stages:
    chunks = _number(tree, "chunks", name, 1, _MOST_CHUNKS)
    placement = tree.get("placement", "loop")
    where = f"{name}: placement"
    known = _placements(p, chunks)
    if isinstance(placement, list):
        return _explicit(placement, p, chunks, where)
    if placement == "mirror" and chunks != 2:
        raise ConfigError(f"{name}: chunks", f"expected 2 for the placement mirror, got {chunks}")
    if placement not in known:
        expected = "loop, v, mirror, or a list of routes"
        raise ConfigError(
            where, expected_got(expected, placement) + did_you_mean(str(placement), known)
        )
    return known[placement]


def _explicit(routes: list[Any], p: int, chunks: int, where: str) -> Stages:
    places: list[list[Place]] = []
    for number, route in enumerate(routes):
        at = f"{where}[{number}]"
        places.append([])
        for word in _words(route, at, "places, as in 0.0 1.0 1.1 0.1"):
            match = _PLACE.fullmatch(word)
            if match is None:
                raise ConfigError(at, expected_got("device.chunk, as in 0.1", word))
            places[-1].append((int(match[1]), int(match[2])))
    found = sorted(place for route in places for place in route)
    wanted = [(device, chunk) for device in range(p) for chunk in range(chunks)]
    if found != wanted or len({len(route) for route in places}) != 1:
        raise ConfigError(
            where,
            f"expected every chunk ({chunks}) of every device ({p}) once, in routes of one "
            f"length; got {sum(map(len, places))} places in {len(places)} routes",
        )
    return Stages(places)
