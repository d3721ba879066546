"""Collective algorithms: who sends which block to whom, in which order. No time in here."""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.base.plugin_files import Named
from yantra.collectives.algorithms import algorithms
from yantra.collectives.names import window_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yantra.collectives.algorithm import CollectiveAlgorithm


def find(name: Named, where: str | None = None) -> CollectiveAlgorithm:
    """Return the algorithm of a name such as `ring`, `direct` or `direct4` (a window of 4).

    It may also be a file (`./mine.py`, or `./mine.py:4` with a window) or a class. `where` is the
    field that an unknown name or an impossible window is reported at.
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
