"""A study's objectives, whether more is better, and bounds on them.

An objective is one row of `KNOWN`: what it is, needs, and how it is computed; nothing else names
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got


class Facts(NamedTuple):
    """What is known of a plan on a cluster; None if not stated.

    `seconds` of a step of `tokens`; `joules`, `usd_per_h` of all devices; `goodput` the useful
    share of time; `steps` of the whole training; `at_work` the share of time in which steps run,
    in the rest all devices draw `idle_w`; hosts and switches draw `around_w` at all times, as far
    as it is stated; a kWh emits `grid_g_per_kwh`.
    """

    seconds: float
    tokens: int
    ranks: int
    memory_bytes: int
    device_bytes: int
    usd_per_h: float | None
    joules: float | None
    goodput: float | None
    steps: int | None
    at_work: float | None = None
    idle_w: float | None = None
    around_w: float = 0.0
    grid_g_per_kwh: float | None = None


class Kind(NamedTuple):
    """An objective's unit, direction, and meaning.

    `of` computes it, None if a fact it `needs` is missing.
    """

    unit: str
    more_is_better: bool
    about: str
    of: Callable[[Facts], float | None]
    needs: tuple[str, ...] = ()


def _usd_per_million_tokens(facts: Facts) -> float | None:
    if facts.usd_per_h is None:
        return None
    return facts.usd_per_h * facts.seconds / 3600 / facts.tokens * 1e6


def _usd_per_million_useful_tokens(facts: Facts) -> float | None:
    usd = _usd_per_million_tokens(facts)
    return None if usd is None or not facts.goodput else usd / facts.goodput


def _joules_per_useful_token(facts: Facts) -> float | None:
    if facts.joules is None or facts.idle_w is None or facts.at_work is None or not facts.goodput:
        return None
    waiting = facts.idle_w * facts.seconds * (1.0 - facts.at_work)
    around = facts.around_w * facts.seconds
    return (facts.joules * facts.at_work + waiting + around) / facts.goodput / facts.tokens


def _co2_per_million_useful_tokens(facts: Facts) -> float | None:
    joules = _joules_per_useful_token(facts)
    if joules is None or facts.grid_g_per_kwh is None:
        return None
    return joules / 3.6 * facts.grid_g_per_kwh


def _time_to_train(facts: Facts) -> float | None:
    if facts.steps is None or not facts.goodput:
        return None
    return facts.steps * facts.seconds / facts.goodput


def _joules_per(facts: Facts, what: float) -> float | None:
    return None if facts.joules is None else facts.joules / what


_PRICE = "a price of a device (device.price, or the prices of the study)"
_POWER = "the power of a device (device.power)"
_MTBF = "how often a device fails (device.mtbf, or failures.rates of the study)"

KNOWN: Final[dict[str, Kind]] = {
    "step_time": Kind("s", False, "of one step", lambda facts: facts.seconds),
    "usd_per_million_tokens": Kind(
        "USD", False, "of all devices, by price or ownership", _usd_per_million_tokens, (_PRICE,)
    ),
    "joules_per_token": Kind(
        "J",
        False,
        "of all devices, with the PUE of the building",
        lambda facts: _joules_per(facts, facts.tokens),
        (_POWER,),
    ),
    "ranks": Kind("", False, "devices of the job", lambda facts: facts.ranks),
    "memory": Kind(
        "bytes", False, "of the worst device at its peak", lambda facts: facts.memory_bytes
    ),
    "time_to_train": Kind(
        "s",
        False,
        "of all steps over the goodput under failures",
        _time_to_train,
        (_MTBF, "the steps of the study"),
    ),
    "tokens_per_s": Kind(
        "1/s", True, "of the whole job", lambda facts: facts.tokens / facts.seconds
    ),
    "memory_headroom": Kind(
        "bytes",
        True,
        "that the worst device has left",
        lambda facts: facts.device_bytes - facts.memory_bytes,
    ),
    "goodput": Kind(
        "",
        True,
        "useful share of the time under failures, 0 to 1",
        lambda facts: facts.goodput,
        (_MTBF,),
    ),
    "usd_per_million_useful_tokens": Kind(
        "USD",
        False,
        "with the time that failures cost",
        _usd_per_million_useful_tokens,
        (_PRICE, _MTBF),
    ),
    "joules_per_useful_token": Kind(
        "J",
        False,
        "of the building, with stated hosts and switches, lost steps, and waits",
        _joules_per_useful_token,
        (_POWER, _MTBF),
    ),
    "g_co2_per_million_useful_tokens": Kind(
        "g",
        False,
        "of that energy, at the grid of the cluster",
        _co2_per_million_useful_tokens,
        (_POWER, _MTBF, "the carbon of its energy (ownership.grid)"),
    ),
    "usd_per_h": Kind("USD/h", False, "of all devices", lambda facts: facts.usd_per_h, (_PRICE,)),
    "watts": Kind(
        "W",
        False,
        "of all devices on average over a step, with the PUE",
        lambda facts: _joules_per(facts, facts.seconds),
        (_POWER,),
    ),
}
OBJECTIVES: Final = tuple(KNOWN)
_PER_MILLION: Final = (
    ("usd_per_million_tokens", "usd_per_million_tokens", 1.0),
    ("kwh_per_million_tokens", "joules_per_token", 1e6 / 3.6e6),
)
"""What a table has besides the objectives: its name, the figure that it is, times what."""


def shown(objectives: Sequence[str], trial: Mapping[str, Any]) -> dict[str, float | None]:
    found = {name: trial.get(name) for name in objectives}
    for name, of, factor in _PER_MILLION:
        value = trial.get(of)
        found.setdefault(name, None if value is None else value * factor)
    return found


class Objective(NamedTuple):
    """A figure to minimise, or to maximise if more is better."""

    name: str
    """The figure that is sought; see the list of objectives for units."""


class Constraint(NamedTuple):
    """A bound on a figure, in its unit: `Constraint("memory_headroom", at_least=2e9)`."""

    name: str
    """The figure that is bounded."""
    at_most: float | None = None
    """The most that it may be; None without such a bound."""
    at_least: float | None = None
    """The least that it may be; None without such a bound."""


def known(name: object, where: str) -> str:
    if not isinstance(name, str) or name not in KNOWN:
        problem = expected_got(f"one of {', '.join(OBJECTIVES)}", name)
        raise ConfigError(where, problem + did_you_mean(str(name), OBJECTIVES))
    return name


def sign(name: str) -> float:
    """Return -1 if more is better, else 1."""
    return -1.0 if KNOWN[name].more_is_better else 1.0


def computed(facts: Facts) -> dict[str, float | None]:
    """Return every objective of a plan, None if its needs are not stated.

    Raises ConfigError that names an objective that is not finite, or unknown though it needs
    nothing.
    """
    found: dict[str, float | None] = {}
    for name, kind in KNOWN.items():
        value = kind.of(facts)
        if value is None and not kind.needs:
            raise ConfigError(f"objective {name}", "is not computed, and needs nothing stated")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and isfinite(value)):
            raise ConfigError(f"objective {name}", expected_got("a finite number", value))
        found[name] = value
    return found


def unstated(name: str, cluster: str) -> str:
    needs = KNOWN[name].needs or ("what it takes",)
    word = "all of " if len(needs) > 1 else ""
    return f"{name}: {cluster} does not state {word}{', and '.join(needs)}"
