"""What a scheduler answers, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.base.plugin_files import what_was_raised
from yantra.schedulers.scheduler import Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Wholes = NDArray[np.int64]


def ask(scheduler: Scheduler, nodes: Nodes, name: str) -> tuple[Wholes, Wholes | None]:
    """Priorities of nodes and, if the scheduler orders them, of collectives.

    Raises ConfigError with the scheduler's `name`.
    """
    of_nodes = _checked(scheduler.priorities, nodes, f"{name}: priorities")
    if not scheduler.orders_collectives:
        return of_nodes, None
    what = f"{name}: collective_priorities"
    return of_nodes, _checked(scheduler.collective_priorities, nodes, what)


def _checked(answer: Callable[[Nodes], Any], nodes: Nodes, what: str) -> Wholes:
    import numpy as np

    try:
        given = np.asarray(answer(nodes))
    except Exception as error:
        raise ConfigError("scheduler", f"{what} raises {what_was_raised(error)}") from error
    if given.shape != (len(nodes),):
        shape = " x ".join(map(str, given.shape)) or "one"
        problem = f"expected {len(nodes)} whole numbers, one for each node, got {shape}"
        raise ConfigError("scheduler", f"{what}: {problem}")
    if given.dtype.kind not in "iu":
        raise ConfigError("scheduler", f"{what}: expected whole numbers, got {given.dtype}")
    wrong = given > 2**63 - 1
    if wrong.any():
        row = int(wrong.argmax())
        problem = f"expected at most 2**63 - 1, got {given[row]} for {nodes.describe(row)}"
        raise ConfigError("scheduler", f"{what}: {problem}")
    return np.ascontiguousarray(given, np.int64)
