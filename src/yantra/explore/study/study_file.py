"""Reads a study's file (form: `study.py`); names every mistake at its key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import product
from math import isfinite
from os import path as paths
from typing import Any, NamedTuple

from yantra import __version__
from yantra.base import units
from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.trust import Reading
from yantra.explore.closed_form.on_stack import check_rates, check_stack
from yantra.explore.closed_form.space import FURTHER, NAMES, OFF_OR_ON, SWITCHES, PlanSpace
from yantra.explore.study.objectives import OBJECTIVES, known
from yantra.fabric import clusters
from yantra.fabric.clusters.types import Cluster
from yantra.fabric.failures import load as load_rates
from yantra.fabric.stacks.choice import DEFAULT, ROOFLINE
from yantra.scenario import cluster_parts
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import CHOICES, Dtype

_RATES = ("peak", "memory", "latency", "cap")
_REQUIRED = ("model", "global_batch", "clusters", "ranks")
_OPTIONAL = (
    "sequence",
    "dtype",
    "stack",
    "scale",
    "prices",
    "objectives",
    "at_most",
    "steps",
    "failures",
    "at_least",
    "plan",
    "between",
    "upgrades",
    "search",
)
_DTYPE: Dtype = "bf16"
_CHOSEN = (
    "tp", "cp", "ep", "pp", "vpp", "zero", "micro_batch", "recompute", *FURTHER, *SWITCHES,
)  # fmt: skip
DTYPES = CHOICES["dtype"]
SAMPLERS = ("tpe", "nsga2", "random")
Point = tuple[str, int, dict[str, float], str]
"""A cluster, a number of ranks, factors of rates, and a stack: what a trial is of."""


class Search(NamedTuple):
    """How many trials are drawn, by which sampler and seed."""

    trials: int
    """How many trials are drawn."""
    sampler: str = "tpe"
    """How trials are drawn: a sampler of Optuna by its name."""
    seed: int = 0
    """The seed of the draws; the same seed draws the same trials."""


class Study(NamedTuple):
    """A study as read; `prices` in USD/h a device, `failures` checkpoint and restart in s.

    `upgrades` in USD/h a device per 100 % more of a rate; `between` ends to draw rates from.
    `points` were drawn; None: all. `dtype` is the products' type. `stacks` as
    `yantra.fabric.stacks.choice`; several are an axis.
    """

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
    at_least: tuple[tuple[str, float], ...] = ()
    plan: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    between: tuple[tuple[str, tuple[float, float]], ...] = ()
    upgrades: tuple[tuple[str, float], ...] = ()
    search: tuple[int, str, int] | None = None
    points: tuple[Point, ...] | None = None
    dtype: Dtype = _DTYPE
    stacks: tuple[str, ...] = (DEFAULT,)
    rates: str | None = None
    """A file of rates, in place of clusters' MTBF."""

    @classmethod
    def of(cls, fields: Any) -> Study:
        return cls(*map(_as_tuples, fields))

    @property
    def digest(self) -> str:
        """What identifies the study and its version in a folder;

        defaults are left out, as older folders lack them.
        """
        told: list[Any] = [*self._replace(points=None)]
        for usual in (None, (ROOFLINE,), _DTYPE):
            if told[-1] != usual:
                break
            told.pop()
        return sha256(json.dumps([__version__, *told]).encode()).hexdigest()

    @property
    def trial_count(self) -> int:
        return self.search[0] if self.search else len(self.trials())

    def trials(self) -> list[Point]:
        """Return every cluster, size, scale and stack in the file's order, or those drawn."""
        if self.points is not None:
            return list(self.points)
        names = [name for name, _ in self.scale]
        factors = product(*[values for _, values in self.scale])
        scales = [dict(zip(names, one, strict=True)) for one in factors]
        return list(product(self.clusters, self.ranks, scales, self.stacks))


def scale_words(study: Study, trial: Mapping[str, Any]) -> str:
    words = [f"{name} x{factor:g}" for name, factor in trial["scale"].items()]
    return " ".join([trial["stack"], *words] if len(study.stacks) > 1 else words)


def point_words(study: Study, number: int) -> str:
    name, ranks, _, stack = study.trials()[number]
    return f"{name}, {ranks} ranks" + (f", {stack}" if len(study.stacks) > 1 else "")


def read_study(path: str) -> Study:
    tree = parse_yaml(read_text(path), path)
    with Reading(path):
        return study_of(tree, path)


def study_of(tree: Any, path: str) -> Study:
    if not isinstance(tree, dict):
        raise ConfigError(path, expected_got("a mapping", tree))
    keys = (*_REQUIRED, *_OPTIONAL)
    for key in tree:
        if key not in keys:
            raise ConfigError(f"{path}: {key}", f"unknown key{did_you_mean(str(key), keys)}")
    for key in _REQUIRED:
        if key not in tree:
            raise ConfigError(f"{path}: {key}", "missing")
    failures = _mapping(tree, "failures", path, ("checkpoint", "restart", "rates"))
    study = Study(
        model=_text(tree["model"], f"{path}: model"),
        global_batch=_whole(tree["global_batch"], f"{path}: global_batch"),
        clusters=tuple(_list(tree, "clusters", path, str)),
        ranks=tuple(_list(tree, "ranks", path, int)),
        sequence=_whole(tree["sequence"], f"{path}: sequence") if "sequence" in tree else None,
        scale=tuple(
            (name, tuple(_factors(of, f"{path}: scale.{name}")))
            for name, of in _mapping(tree, "scale", path, None).items()
        ),
        prices=_prices(tree, "prices", path, least=0.0),
        objectives=tuple(
            known(name, f"{path}: objectives")
            for name in _list(tree, "objectives", path, str, ["step_time"])
        ),
        at_most=_bounds(tree, "at_most", path),
        steps=_whole(tree["steps"], f"{path}: steps") if "steps" in tree else None,
        failures=(
            _seconds(failures, "checkpoint", path, 60.0),
            _seconds(failures, "restart", path, 300.0),
        ),
        at_least=_bounds(tree, "at_least", path),
        plan=_plan(tree, path),
        between=tuple(
            (name, _ends(of, f"{path}: between.{name}"))
            for name, of in _mapping(tree, "between", path, None).items()
        ),
        upgrades=_prices(tree, "upgrades", path, least=None),
        search=_search(tree, path),
        dtype=_dtype(tree, path),
        stacks=_stacks(tree, path),
        rates=_rates(failures, path),
    )
    _check(study, path)
    return study


def _check(study: Study, path: str) -> None:
    asked = {*study.objectives, *(name for name, _ in (*study.at_most, *study.at_least))}
    if "time_to_train" in asked and study.steps is None:
        raise ConfigError(f"{path}: steps", "missing; time_to_train needs it")
    least = dict(study.at_least)
    for name, most in study.at_most:
        if least.get(name, most) > most:
            problem = f"at least {least[name]:g} and at most {most:g} contradict each other"
            raise ConfigError(f"{path}: at_least.{name}", problem)
    if study.between and study.search is None:
        raise ConfigError(f"{path}: search", "missing; between needs search: {trials: N}")
    for name, _ in study.between:
        if name in dict(study.scale):
            raise ConfigError(f"{path}: between.{name}", "is in scale, too; name it once")
    _named(path, "model", find, study.model)
    machines = [_named(path, "clusters", clusters.load, name) for name in study.clusters]
    for machine in machines:
        check_rates(machine, study.dtype, f"{path}: dtype")
    for name, _ in study.prices:
        if name not in study.clusters:
            problem = expected_got(f"one of the clusters {', '.join(study.clusters)}", name)
            raise ConfigError(f"{path}: prices", problem + did_you_mean(name, study.clusters))
    _check_rates(study, path, _dimensions(machines, study.ranks, path))


def _named(path: str, key: str, look_up: Any, name: str) -> Any:
    try:
        return look_up(name)
    except ConfigError as error:
        problem = error.problem if error.where in ("model", "cluster") else str(error)
        raise ConfigError(f"{path}: {key}", problem) from None


def _dimensions(machines: list[Cluster], ranks: tuple[int, ...], path: str) -> int:
    found, problem = [], ""
    for machine, count in product(machines, ranks):
        try:
            found.append(len(cluster_parts(machine, count)["topology"].dimensions))
        except ConfigError as error:
            problem = problem or str(error)
    if not found:
        raise ConfigError(f"{path}: ranks", f"no cluster has such a size; {problem}")
    return max(found)


def _check_rates(study: Study, path: str, dimensions: int) -> None:
    rates = (*_RATES, *(f"links {at}" for at in range(dimensions)))
    for key in ("scale", "between", "upgrades"):
        for name, _ in getattr(study, key):
            if name not in rates:
                problem = expected_got(f"one of {', '.join(rates)}", name)
                raise ConfigError(f"{path}: {key}", problem + did_you_mean(str(name), rates))
    changed = {name for name, _ in (*study.scale, *study.between)}
    for name, _ in study.upgrades:
        if name not in changed:
            problem = f"{name} is neither in scale nor in between, so nothing is bought"
            raise ConfigError(f"{path}: upgrades.{name}", problem)


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


_WORDS = {str: "names", int: "whole numbers of at least 1", bool: "true or false"}


def _list(
    tree: Mapping[str, Any], key: str, path: str, kind: type, default: Any = None
) -> list[Any]:
    given = tree.get(key, default)
    words = _WORDS[kind]
    is_list = isinstance(given, list) and all(type(one) is kind for one in given)
    if not is_list or not given or (kind is int and min(given) < 1):
        problem = expected_got(f"a list of {words}, with at least one", given)
        raise ConfigError(f"{path}: {key}", problem)
    if len(set(given)) < len(given):
        raise ConfigError(f"{path}: {key}", "names something twice")
    return list(given)


def _bounds(tree: Mapping[str, Any], key: str, path: str) -> tuple[tuple[str, float], ...]:
    given = _mapping(tree, key, path, OBJECTIVES)
    return tuple((name, _bound(of, f"{path}: {key}.{name}")) for name, of in given.items())


def _prices(
    tree: Mapping[str, Any], key: str, path: str, least: float | None
) -> tuple[tuple[str, float], ...]:
    found = []
    for name, text in _mapping(tree, key, path, None).items():
        value = units.parse(text, "price", "USD/h", f"{path}: {key}.{name}")
        if least is not None and not value > least:
            raise ConfigError(f"{path}: {key}.{name}", expected_got("a price above 0", text))
        found.append((name, value))
    return tuple(found)


def _plan(tree: Mapping[str, Any], path: str) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    given = _mapping(tree, "plan", path, _CHOSEN)
    kinds: dict[str, type] = dict.fromkeys(NAMES, str) | dict.fromkeys(OFF_OR_ON, bool)
    if "zero" in given and isinstance(given["zero"], list):
        values = [level for level in given["zero"] if type(level) is not int or level < 0]
        if values or not given["zero"]:
            problem = expected_got("a list of 0, 1, 2, 3", given["zero"])
            raise ConfigError(f"{path}: plan.zero", problem)
        found = {"zero": tuple(given["zero"])}
    else:
        found = {}
    for name in given:
        if name not in found:
            kind = kinds.get(name, int)
            found[name] = tuple(_list(given, name, f"{path}: plan", kind))
    try:
        PlanSpace(ranks=1, global_batch=1, **found)  # type: ignore[arg-type]
    except ConfigError as error:
        raise ConfigError(f"{path}: plan.{error.where}", error.problem) from None
    return tuple(found.items())


def _dtype(tree: Mapping[str, Any], path: str) -> Any:
    given = tree.get("dtype", _DTYPE)
    if given not in DTYPES:
        problem = expected_got(f"one of {', '.join(DTYPES)}", given)
        raise ConfigError(f"{path}: dtype", problem + did_you_mean(str(given), DTYPES))
    return given


def _stacks(tree: Mapping[str, Any], path: str) -> tuple[str, ...]:
    given = tree.get("stack", DEFAULT)
    if isinstance(given, str):
        given = [given]
    elif not isinstance(given, list):
        raise ConfigError(f"{path}: stack", expected_got("a name, or a list of names", given))
    found = []
    for name in _list({"stack": given}, "stack", path, str):
        name = _beside(path, name)
        check_stack(name, f"{path}: stack")
        found.append(name)
    return tuple(found)


def _rates(given: Mapping[str, Any], path: str) -> str | None:
    if "rates" not in given:
        return None
    where = f"{path}: failures.rates"
    name = _beside(path, _text(given["rates"], where))
    load_rates(name, where=where)
    return name


def _beside(path: str, name: str) -> str:
    """A name, or a file's path from the study's."""
    is_file = "/" in name or name.endswith(".yaml")
    return paths.join(paths.dirname(path), name) if is_file else name


def _search(tree: Mapping[str, Any], path: str) -> tuple[int, str, int] | None:
    if "search" not in tree:
        return None
    given = _mapping(tree, "search", path, ("trials", "sampler", "seed"))
    if "trials" not in given:
        raise ConfigError(f"{path}: search.trials", "missing")
    sampler = given.get("sampler", SAMPLERS[0])
    if sampler not in SAMPLERS:
        problem = expected_got(f"one of {', '.join(SAMPLERS)}", sampler)
        raise ConfigError(f"{path}: search.sampler", problem + did_you_mean(str(sampler), SAMPLERS))
    seed = given.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < 1 << 32:
        where = f"{path}: search.seed"
        raise ConfigError(where, expected_got("a whole number from 0 to 2^32 - 1", seed))
    return _whole(given["trials"], f"{path}: search.trials"), sampler, seed


def _ends(given: Any, where: str) -> tuple[float, float]:
    if not isinstance(given, list) or len(given) != 2:
        raise ConfigError(where, expected_got("two factors, such as [0.5, 2]", given))
    low, high = (_bound(one, where) for one in given)
    if not low < high:
        raise ConfigError(where, expected_got("a lower and a higher factor", given))
    return low, high


def _factors(given: Any, where: str) -> list[float]:
    if not isinstance(given, list) or not given:
        raise ConfigError(where, expected_got("a list of factors, with at least one", given))
    found = [_bound(one, where) for one in given]
    if len(set(found)) < len(found):
        raise ConfigError(where, "names something twice")
    return found


def _bound(given: Any, where: str) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not isfinite(given) or not given > 0:
        raise ConfigError(where, expected_got("a number above 0", given))
    return float(given)


def _whole(given: Any, where: str) -> int:
    if type(given) is not int or not 1 <= given < 2**31:
        raise ConfigError(where, expected_got(f"a whole number of 1 to {2**31 - 1}", given))
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
