"""Kinds of which each is one C++ file of the core: their contracts, checked by name after a build.

They have no skeleton in Python and no file to plug in; `yantra contract` takes the name under which
the file registers itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from yantra.base.contract import Contract
from yantra.base.errors import ConfigError, did_you_mean, expected_got

if TYPE_CHECKING:
    from yantra import _core


def _disciplines() -> list[_core.QueueDiscipline]:
    from yantra import _core

    return _core.queue_disciplines()


def _broken_by_discipline(discipline: _core.QueueDiscipline) -> str:
    from yantra import _core

    return _core.broken_queue_law(discipline)


def _schemes() -> list[_core.Scheme]:
    from yantra import _core

    return _core.schemes()


def _broken_by_scheme(scheme: _core.Scheme) -> str:
    from yantra import _core

    return _core.broken_congestion_law(scheme)


def _contract(
    kind: str,
    laws: str,
    on: str,
    built_in: Callable[[], Sequence[Any]],
    broken: Callable[[Any], str],
) -> Contract:
    """Return the contract of a kind whose registered ones the core lists and judges."""

    def find(name: str) -> Any:
        known = {one.name: one for one in built_in()}
        if name not in known:
            expected = (
                f"one of {', '.join(known)}, or one that you built into native/network/packet"
            )
            raise ConfigError(
                kind.replace(" ", "_"), expected_got(expected, name) + did_you_mean(name, known)
            )
        return known[name]

    def violations(one: Any) -> Iterator[str]:
        if law := broken(one):
            yield law

    return Contract(
        kind=kind,
        module="yantra.network.core_contracts",
        about=f"Checks a {kind} against the laws of network/packet/{laws}.",
        argument="the name of one that is built in",
        find=find,
        violations=violations,
        summary=lambda one: f"{one.name} keeps the contract of {kind}s on {on}",
    )


QUEUE_DISCIPLINE = _contract(
    "queue discipline",
    "queue_laws.hpp",
    "60 trials of random packets",
    _disciplines,
    _broken_by_discipline,
)
CONGESTION_CONTROL = _contract(
    "congestion control",
    "cc_laws.hpp",
    "flows alone, into one port and with losses",
    _schemes,
    _broken_by_scheme,
)

CONTRACTS = {
    "queue_discipline": QUEUE_DISCIPLINE,
    "congestion_control": CONGESTION_CONTROL,
}
"""The contract of each, by the name of its kind."""
