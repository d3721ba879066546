"""Algorithms of post-training, a file each: what is scored, trained and thrown away."""

from __future__ import annotations

from math import isfinite

from yantra.base.errors import ConfigError, expected_got
from yantra.base.plugin_files import what_was_raised
from yantra.base.registry import Registry
from yantra.rl.algorithms.algorithm import Algorithm, Alone, Work

__all__ = ["Algorithm", "Alone", "Work", "algorithms", "thrown_by", "work_of"]

algorithms: Registry[type[Algorithm]] = Registry(
    "algorithm of post-training", "yantra.rl.algorithms", "yantra.rl_algorithms", base=Algorithm
)


def work_of(algorithm: Algorithm, alone: Alone) -> Work:
    """Return what an algorithm asks of the trainer, checked. Raises ConfigError."""
    where = f"{type(algorithm).__name__}: work"
    try:
        given = algorithm.work(alone)
    except Exception as error:
        raise ConfigError("algorithm", f"{where} raises {what_was_raised(error)}") from error
    if not isinstance(given, Work):
        raise ConfigError("algorithm", f"{where}: {expected_got('a Work', given)}")
    for name, seconds in given._asdict().items():
        if not (isinstance(seconds, int | float) and isfinite(seconds) and seconds >= 0):
            problem = expected_got("finite seconds from 0", seconds)
            raise ConfigError("algorithm", f"{where}: {name}: {problem}")
    return given


def thrown_by(algorithm: Algorithm, filtered: float) -> float:
    """Return the share of groups that an algorithm throws away, checked. Raises ConfigError."""
    where = f"{type(algorithm).__name__}: thrown"
    try:
        given = algorithm.thrown(filtered)
    except Exception as error:
        raise ConfigError("algorithm", f"{where} raises {what_was_raised(error)}") from error
    if not (isinstance(given, int | float) and 0 <= given < 1):
        problem = expected_got("a share from 0 to less than 1", given)
        raise ConfigError("algorithm", f"{where}: {problem}")
    return float(given)
