"""The fitted numbers of `law`, with errors on unseen configurations (mean, 90 %)."""

from __future__ import annotations

from functools import cache
from math import log1p
from os import path as paths
from typing import NamedTuple

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean
from yantra.collectives.deepep.law import Constants, Direction, Kernels

_FILE = paths.join(paths.dirname(__file__), "constants.csv")
LINKS = {"h100_sxm": 450.0, "h200_sxm": 450.0, "b200_sxm": 900.0, "gb200": 900.0, "gb300": 900.0}
"""Bytes/ns of NVLink one way: fourth and fifth generation, 18 links."""


class Fit(NamedTuple):
    """Constants, rows they rest on, and errors as fractions."""

    constants: Constants
    points: int
    mean_error: float
    p90_error: float
    over_nodes: float = 0.0

    def interval(self, nodes: float) -> float:
        """Half of the 90 % interval, as a logarithm."""
        return log1p(max(self.p90_error, self.over_nodes if nodes > 1 else 0.0))


@cache
def fits() -> dict[tuple[str, str, str], Fit]:
    lines = [line for line in read_text(_FILE).splitlines() if not line.startswith("#")]
    head = lines[0].split(",")
    found = {}
    for line in lines[1:]:
        row = dict(zip(head, line.split(","), strict=True))
        constants = Constants(*(float(row[name]) for name in Constants._fields))
        errors = float(row["mean_error"]), float(row["p90_error"]), float(row["over_nodes"])
        key = (row["gpu"], row["kernels"], row["direction"])
        found[key] = Fit(constants, int(row["points"]), *errors)
    return found


def fit_of(gpu: str, kernels: Kernels, direction: Direction, where: str = "gpu") -> Fit:
    """The fit of a GPU. Raises ConfigError where it was not measured."""
    known = tuple(dict.fromkeys(name for name, *_ in fits()))
    if gpu not in known:
        raise ConfigError(
            where,
            f"no measured dispatch and combine of '{gpu}'; expected one of {', '.join(known)}"
            + did_you_mean(gpu, known),
        )
    if kernels != "elastic":
        return fits()[gpu, kernels, direction]
    normal = [fit for (_, of, _), fit in fits().items() if of == "normal"]
    return fits()[gpu, "normal", direction]._replace(
        mean_error=max(fit.mean_error for fit in normal),
        p90_error=max(fit.p90_error for fit in normal),
    )
