"""Kinds of which each is one C++ file of the core: their contracts, checked by name after a build.

They have no skeleton in Python and no file to plug in; `yantra contract` takes the name under which
the file registers itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yantra.base.contract import Contract
from yantra.base.errors import ConfigError, did_you_mean, expected_got

if TYPE_CHECKING:
    from yantra import _core


def _find(name: str) -> _core.QueueDiscipline:
    from yantra import _core

    known = {discipline.name: discipline for discipline in _core.queue_disciplines()}
    if name not in known:
        expected = f"one of {', '.join(known)}, or one that you built into native/network/packet"
        raise ConfigError(
            "queue_discipline", expected_got(expected, name) + did_you_mean(name, known)
        )
    return known[name]


def _violations(discipline: _core.QueueDiscipline) -> Iterator[str]:
    from yantra import _core

    if broken := _core.broken_queue_law(discipline):
        yield broken


def _summary(discipline: _core.QueueDiscipline) -> str:
    return (
        f"{discipline.name} keeps the contract of queue disciplines on 60 trials of random packets"
    )


QUEUE_DISCIPLINE = Contract(
    kind="queue discipline",
    module="yantra.network.core_contracts",
    about="Checks a queue discipline against the laws of network/packet/queue_laws.hpp.",
    argument="the name of one that is built in",
    find=_find,
    violations=_violations,
    summary=_summary,
)

CONTRACTS = {"queue_discipline": QUEUE_DISCIPLINE}
"""The contract of each, by the name of its kind."""
