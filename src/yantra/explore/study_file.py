"""The file of a study: see `study.py` for its form. Every mistake is named at its key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import product
from math import isfinite
from typing import Any, NamedTuple

from yantra import __version__
from yantra.base import units
from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got

OBJECTIVES = (
    "step_time",
    "usd_per_million_tokens",
    "joules_per_token",
    "ranks",
    "memory",
    "time_to_train",
)
_RATES = ("peak", "memory", "latency")
_REQUIRED = ("model", "global_batch", "clusters", "ranks")
_OPTIONAL = ("sequence", "scale", "prices", "objectives", "at_most", "steps", "failures")


class Study(NamedTuple):
    """A study as read; `prices` in USD/h a device, `failures` checkpoint and restart in s."""

    model: str
    global_batch: int
    clusters: tuple[str, ...]
    ranks: tuple[int, ...]
    sequence: int | None
    scale: tuple[tuple[str, tuple[float, ...]], ...]
    prices: tuple[tuple[str, float], ...]
    objectives: tuple[str, ...]
    at_most: tuple[tuple[str, float], ...]
    steps: int | None
    failures: tuple[float, float]

    @classmethod
    def of(cls, fields: Any) -> Study:
        """Return the study that JSON has as a list of its fields."""
        return cls(*map(_as_tuples, fields))

    @property
    def digest(self) -> str:
        """What a folder remembers of the study and of the version that ran it."""
        return sha256(json.dumps([__version__, *self]).encode()).hexdigest()

    def trials(self) -> list[tuple[str, int, dict[str, float]]]:
        """Return every cluster, size and scale, in the order of the file."""
        names = [name for name, _ in self.scale]
        factors = product(*[values for _, values in self.scale])
        scales = [dict(zip(names, one, strict=True)) for one in factors]
        return list(product(self.clusters, self.ranks, scales))


def read_study(path: str) -> Study:
    """Read a study. Raises ConfigError at the key that is wrong."""
    tree = parse_yaml(read_text(path), path)
    if not isinstance(tree, dict):
        raise ConfigError(path, expected_got("a mapping", tree))
    known = (*_REQUIRED, *_OPTIONAL)
    for key in tree:
        if key not in known:
            raise ConfigError(f"{path}: {key}", f"unknown key{did_you_mean(str(key), known)}")
    for key in _REQUIRED:
        if key not in tree:
            raise ConfigError(f"{path}: {key}", "missing")
    scale = _mapping(tree, "scale", path, _RATES)
    failures = _mapping(tree, "failures", path, ("checkpoint", "restart"))
    objectives = _list(tree, "objectives", path, str, ["step_time"])
    at_most = _mapping(tree, "at_most", path, OBJECTIVES)
    for name in objectives:
        if name not in OBJECTIVES:
            one = f"one of {', '.join(OBJECTIVES)}"
            where = f"{path}: objectives"
            raise ConfigError(where, expected_got(one, name) + did_you_mean(name, OBJECTIVES))
    prices = _mapping(tree, "prices", path, None)
    if "time_to_train" in (*objectives, *at_most) and "steps" not in tree:
        raise ConfigError(f"{path}: steps", "missing; time_to_train needs it")
    return Study(
        model=_text(tree["model"], f"{path}: model"),
        global_batch=_whole(tree["global_batch"], f"{path}: global_batch"),
        clusters=tuple(_list(tree, "clusters", path, str)),
        ranks=tuple(_list(tree, "ranks", path, int)),
        sequence=_whole(tree["sequence"], f"{path}: sequence") if "sequence" in tree else None,
        scale=tuple((name, tuple(_factors(of, path, name))) for name, of in scale.items()),
        prices=tuple(
            (name, units.parse(text, "price", "USD/h", f"{path}: prices.{name}"))
            for name, text in prices.items()
        ),
        objectives=tuple(objectives),
        at_most=tuple(
            (name, _bound(of, f"{path}: at_most.{name}")) for name, of in at_most.items()
        ),
        steps=_whole(tree["steps"], f"{path}: steps") if "steps" in tree else None,
        failures=(
            _seconds(failures, "checkpoint", path, 60.0),
            _seconds(failures, "restart", path, 300.0),
        ),
    )


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _mapping(
    tree: Mapping[str, Any], key: str, path: str, known: tuple[str, ...] | None
) -> dict[str, Any]:
    given = tree.get(key, {})
    if not isinstance(given, dict):
        raise ConfigError(f"{path}: {key}", expected_got("a mapping", given))
    for name in given:
        if known is not None and name not in known:
            one = f"one of {', '.join(known)}"
            problem = expected_got(one, name) + did_you_mean(str(name), known)
            raise ConfigError(f"{path}: {key}", problem)
    return given


def _list(
    tree: Mapping[str, Any], key: str, path: str, kind: type, default: Any = None
) -> list[Any]:
    given = tree.get(key, default)
    words = "names" if kind is str else "whole numbers of at least 1"
    is_list = isinstance(given, list) and all(type(one) is kind for one in given)
    if not is_list or not given or (kind is int and min(given) < 1):
        problem = expected_got(f"a list of {words}, with at least one", given)
        raise ConfigError(f"{path}: {key}", problem)
    if len(set(given)) < len(given):
        raise ConfigError(f"{path}: {key}", "names something twice")
    return list(given)


def _factors(given: Any, path: str, name: str) -> list[float]:
    where = f"{path}: scale.{name}"
    if not isinstance(given, list) or not given:
        raise ConfigError(where, expected_got("a list of factors, with at least one", given))
    return [_bound(one, where) for one in given]


def _bound(given: Any, where: str) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not isfinite(given) or not given > 0:
        raise ConfigError(where, expected_got("a number above 0", given))
    return float(given)


def _whole(given: Any, where: str) -> int:
    if type(given) is not int or given < 1:
        raise ConfigError(where, expected_got("a whole number of at least 1", given))
    return given


def _seconds(given: Mapping[str, Any], name: str, path: str, default: float) -> float:
    if name not in given:
        return default
    value = units.parse(given[name], "time", "s", f"{path}: failures.{name}")
    if value < 0:
        raise ConfigError(f"{path}: failures.{name}", expected_got("at least 0 s", given[name]))
    return value


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str) or not given:
        raise ConfigError(where, expected_got("a name", given))
    return given
