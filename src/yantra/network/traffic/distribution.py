"""Distributions of the sizes of flows: by name, or from a file of bytes and percentages.

Between two points sizes are uniform, as in HPCC's traffic_gen/custom_rand.py.
"""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = ("alistorage", "hadoop", "websearch")
"""Built-in distributions, one file each in `sizes/`."""

_FOLDER = paths.join(paths.dirname(__file__), "sizes")
_HEADER = "bytes,percent"


class Sizes(NamedTuple):
    """Points of a cumulative distribution: bytes, and the percentage that is no larger."""

    bytes: NDArray[np.float64]
    percent: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean size in bytes: each piece counts with its middle."""
        middles = (self.bytes[1:] + self.bytes[:-1]) / 2
        return float((middles * np.diff(self.percent)).sum() / 100)

    def draw(self, generator: np.random.Generator, number: int) -> NDArray[np.int64]:
        drawn = np.interp(generator.uniform(0, 100, number), self.percent, self.bytes)
        return np.maximum(drawn.astype(np.int64), 1)


def sizes_of(name: str, where: str) -> Sizes:
    if name in NAMES:
        return _parse(paths.join(_FOLDER, f"{name}.csv"))
    if not name.endswith(".csv"):
        expected = f"one of {', '.join(NAMES)}, or a file that ends in .csv"
        raise ConfigError(where, expected_got(expected, name) + did_you_mean(name, NAMES))
    return _parse(name)


def _parse(path: str) -> Sizes:
    points: list[tuple[float, float]] = []
    has_header = False
    for number, line in enumerate(read_text(path).splitlines(), 1):
        where, text = f"{path}, line {number}", line.strip()
        if not text or text.startswith("#"):
            continue
        if not has_header:
            if text.replace(" ", "") != _HEADER:
                raise ConfigError(where, expected_got(f"the header {_HEADER}", text))
            has_header = True
            continue
        points.append(_point(text, where, points[-1] if points else None))
    if len(points) < 2 or points[0][1] != 0 or points[-1][1] != 100:
        raise ConfigError(path, "expected at least two points, from 0 to 100 percent")
    size, percent = zip(*points, strict=True)
    return Sizes(np.array(size), np.array(percent))


def _point(text: str, where: str, before: tuple[float, float] | None) -> tuple[float, float]:
    try:
        size, percent = (float(word) for word in text.split(","))
    except ValueError:
        raise ConfigError(where, expected_got("two numbers, bytes and percent", text)) from None
    if not (0 <= size < 2**62 and 0 <= percent <= 100):
        raise ConfigError(where, expected_got("bytes from 0 and percent from 0 to 100", text))
    if before is not None and (size <= before[0] or percent <= before[1]):
        raise ConfigError(where, "expected more bytes and a higher percentage than the line before")
    return size, percent
