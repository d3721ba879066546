"""The fitted collectives that ship (`measured.csv`) and their errors (`intervals.csv`)."""

from __future__ import annotations

from functools import cache
from os import path as paths

from yantra.base.documents import read_text
from yantra.collectives.selection.own import HEAD, Fit, fits_of

_FOLDER = paths.dirname(__file__)
FILE = paths.join(_FOLDER, "measured.csv")
INTERVALS = paths.join(_FOLDER, "intervals.csv")

Known = dict[tuple[str, str, str], Fit]
Bands = tuple[tuple[int, float], ...]
"""Halves of intervals as logarithms, each from so many bytes on."""


@cache
def fits() -> Known:
    """The fits by system, collective and `node` or `nodes`."""
    lines = [line for line in read_text(FILE).splitlines() if not line.startswith("#")]
    by_system: dict[str, list[str]] = {}
    for line in lines[1:]:
        system, _, rest = line.partition(",")
        by_system.setdefault(system, [",".join(HEAD)]).append(rest)
    return {
        (system, *key): fit
        for system, some in by_system.items()
        for key, fit in fits_of("\n".join(some), FILE).items()
    }


@cache
def intervals() -> dict[str, Bands]:
    """What is predicted from what: left-out `sizes`, more `ranks`, an unmeasured `site`."""
    lines = [line for line in read_text(INTERVALS).splitlines() if not line.startswith("#")]
    found: dict[str, list[tuple[int, float]]] = {}
    for line in lines[1:]:
        name, start, width, _ = line.split(",")
        found.setdefault(name, []).append((int(start), float(width)))
    return {name: tuple(bands) for name, bands in found.items()}


def widest(*several: Bands) -> Bands:
    """The wider of several at every size."""
    starts = sorted({start for bands in several for start, _ in bands})
    return tuple((start, max(_at(bands, start) for bands in several)) for start in starts)


def _at(bands: Bands, size: int) -> float:
    return [width for start, width in bands if start <= size][-1]


def systems(where: str) -> tuple[str, ...]:
    """The systems measured in a `node`, or over `nodes`."""
    return tuple(dict.fromkeys(system for system, _, at in fits() if at == where))
