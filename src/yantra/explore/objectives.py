"""What a study can ask of a trial: objectives, whether more of one is better, and bounds on them.

All are figures of the best plan of a trial (`trial.figures`), one row each in `KNOWN`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got


class Kind(NamedTuple):
    """Unit of an objective, whether more of it is better, and what it is."""

    unit: str
    more_is_better: bool
    about: str


KNOWN: Final[dict[str, Kind]] = {
    "step_time": Kind("s", False, "of one step"),
    "usd_per_million_tokens": Kind("USD", False, "of all devices, by price or ownership"),
    "joules_per_token": Kind("J", False, "of all devices, with the PUE of the building"),
    "ranks": Kind("", False, "devices of the job"),
    "memory": Kind("bytes", False, "of the worst device at its peak"),
    "time_to_train": Kind("s", False, "of all steps over the goodput under failures"),
    "tokens_per_s": Kind("1/s", True, "of the whole job"),
    "memory_headroom": Kind("bytes", True, "that the worst device has left"),
    "goodput": Kind("", True, "useful share of the time under failures, 0 to 1"),
    "usd_per_h": Kind("USD/h", False, "of all devices"),
    "watts": Kind("W", False, "of all devices on average over a step, with the PUE"),
}
OBJECTIVES: Final = tuple(KNOWN)


class Objective(NamedTuple):
    """A figure to optimise: the least of it, or the most where more is better."""

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
    """Return the name of an objective. Raises ConfigError at `where` for another."""
    if not isinstance(name, str) or name not in KNOWN:
        problem = expected_got(f"one of {', '.join(OBJECTIVES)}", name)
        raise ConfigError(where, problem + did_you_mean(str(name), OBJECTIVES))
    return name


def sign(name: str) -> float:
    """Return -1 where more is better, else 1: times it, less is better."""
    return -1.0 if KNOWN[name].more_is_better else 1.0
