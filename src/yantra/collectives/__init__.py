"""Collective algorithms: who sends which block to whom, in which order. No time in here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError
from yantra.base.plugin_files import Named
from yantra.collectives.algorithms import algorithms
from yantra.collectives.names import window_of

if TYPE_CHECKING:
    from yantra.collectives.algorithm import CollectiveAlgorithm


def find(name: Named, where: str | None = None) -> CollectiveAlgorithm:
    """The algorithm of a name (`ring`, `direct4` with a window of 4), a file (`./mine.py:4`) or a
    class.
    """
    if isinstance(name, type):
        return algorithms.get(name, where)()
    base, digits = algorithms.split(name)
    if not digits:
        return algorithms.get(base, where)()
    algorithm = algorithms.get(base, where)
    words = (algorithm.number_is, algorithm.without_number)
    window = window_of(name, base, digits, where or algorithms.kind, words)
    if not algorithm.windowed:
        raise ConfigError(
            where or algorithms.kind, f"'{base}' takes no window; expected '{base}', got '{name}'"
        )
    return algorithm(window=window)
