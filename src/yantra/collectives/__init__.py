"""Collective algorithms: who sends which block to whom, in which order. No time in here."""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.names import split_window
from yantra.errors import ConfigError
from yantra.registry import Registry

algorithms: Registry[type[CollectiveAlgorithm]] = Registry(
    "collective algorithm", "yantra.collectives", "yantra.collectives"
)


def find(name: str, where: str | None = None) -> CollectiveAlgorithm:
    """Return the algorithm of a name such as `ring`, `direct` or `direct4` (a window of 4).

    `where` is the field that an unknown name or an impossible window is reported at.
    """
    where = where or algorithms.kind
    if name[-1:] not in set("0123456789") or name in algorithms.names():
        return algorithms.get(name, where)()
    base, window = split_window(name, where)
    algorithm = algorithms.get(base, where)
    if not algorithm.windowed:
        raise ConfigError(where, f"'{base}' takes no window; expected '{base}', got '{name}'")
    return algorithm(window=window)
