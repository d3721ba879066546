"""Kinds that are C++ files of the core: their contracts, checked by registered name after a
build.
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


def _routings() -> list[_core.RoutingKind]:
    from yantra import _core

    return _core.routing_kinds()


def _broken_by_routing(kind: _core.RoutingKind) -> str:
    from yantra import _core

    return _core.broken_routing_law(kind)


def _contract(
    kind: str,
    folder: str,
    laws: str,
    on: str,
    built_in: Callable[[], Sequence[Any]],
    broken: Callable[[Any], str],
) -> Contract:
    def find(name: str) -> Any:
        known = {one.name: one for one in built_in()}
        where = kind.replace(" ", "_")
        if name.endswith((".cpp", ".cc", ".hpp", ".py")):
            raise ConfigError(name, _is_a_file(kind, folder, where))
        if name not in known:
            expected = f"one of {', '.join(known)}, or one that you built into {folder}"
            raise ConfigError(where, expected_got(expected, name) + did_you_mean(name, known))
        return known[name]

    def violations(one: Any) -> Iterator[str]:
        if law := broken(one):
            yield law

    return Contract(
        kind=kind,
        module="yantra.network.core_contracts",
        about=f"Checks a {kind} against the laws of {laws}.",
        argument="the name of one that is built in",
        find=find,
        violations=violations,
        summary=lambda one: f"{one.name} keeps the contract of {kind}s on {on}",
    )


def _is_a_file(kind: str, folder: str, where: str) -> str:
    return (
        f"a {kind} is compiled into the core, and no installed Yantra can do that. In a clone, "
        f"put the file into {folder}, build it (pip install .), and check it by the name that it "
        f"registers: yantra contract {where} NAME"
    )


QUEUE_DISCIPLINE = _contract(
    "queue discipline",
    "native/network/packet/queue",
    "native/network/packet/queue_laws.hpp",
    "60 trials of random packets",
    _disciplines,
    _broken_by_discipline,
)
CONGESTION_CONTROL = _contract(
    "congestion control",
    "native/network/packet/cc",
    "native/network/packet/cc_laws.hpp",
    "flows alone, into one port, with marks and with losses",
    _schemes,
    _broken_by_scheme,
)

ROUTING = _contract(
    "routing",
    "native/fabric/routing",
    "native/fabric/routing/routing_laws.hpp",
    "a star, leaves and spines, a torus and 30 random graphs",
    _routings,
    _broken_by_routing,
)

CONTRACTS = {
    "queue_discipline": QUEUE_DISCIPLINE,
    "congestion_control": CONGESTION_CONTROL,
    "routing": ROUTING,
}
