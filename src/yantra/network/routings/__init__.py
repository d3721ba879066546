"""Routings over a fabric: which way messages go.

A path is a function of seed and flow, so equal scenarios take equal paths.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import (
    Number,
    PluginChoice,
    PluginField,
    Schema,
    Section,
    Whole,
    kind_of,
    options_of,
)
from yantra.base.plugin_files import Named
from yantra.base.records import Record
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from yantra import _core

routings: Registry[Any] = Registry("routing", "yantra.network.routings", "yantra.routings")

DEFAULT = "ecmp"
"""The routing of a fabric for which a scenario names none."""

_LARGEST_SEED = 2**63 - 1


class Routing(NamedTuple):
    """A routing as a scenario chooses it.

    `by_packet`: packets of a flow may part. `by_load`: a way depends on what is under way.
    """

    name: str
    help: str
    options: Section | None
    by_packet: bool
    by_load: bool


def names() -> tuple[str, ...]:
    return tuple(_native())


def find(kind: Named, where: str = "routing") -> Routing:
    known = _native().get(kind) if isinstance(kind, str) else None
    if known is None:
        choices = names()
        said = kind if isinstance(kind, str) else kind.__name__
        problem = expected_got(f"one of {', '.join(choices)}", said)
        raise ConfigError(where, problem + did_you_mean(said, choices))
    return known


def chosen(choice: PluginChoice, where: str) -> tuple[str, dict[str, float], int]:
    routing = find(kind_of(choice), where)
    given = options_of(choice, routing.options, where)
    options = {name: getattr(given, name) for name in given.field_names if name != "seed"}
    return routing.name, options, given.seed


FIELD = PluginField(routings, names, find, takes_files=False)
"""The field `cluster.routing` of a scenario."""


@cache
def _native() -> dict[str, Routing]:
    from yantra import _core

    return {
        kind.name: Routing(kind.name, kind.help, _section(kind), kind.by_packet, kind.by_load)
        for kind in _core.routing_kinds()
    }


def _section(kind: _core.RoutingKind) -> Section:
    defaults: dict[str, Any] = {option.name: option.fallback for option in kind.options}
    annotations = dict.fromkeys(defaults, float) | {"seed": int}
    members = {"__annotations__": annotations, **defaults, "seed": 0}
    record: type[Record] = type(f"{kind.name}_options", (Record,), members)
    entries = {option.name: (option.name, _field(option), option.help) for option in kind.options}
    seed = ("seed", Whole(at_least=0, at_most=_LARGEST_SEED), "of the hash that chooses paths")
    return Section(record, {**entries, "seed": seed})


def _field(option: _core.RoutingOption) -> Number:
    return _Either() if option.is_flag else Number(at_least=option.least)


class _Either(Number):
    expected = "true or false"

    def read(self, tree: Any, where: str, folder: str) -> float:
        if isinstance(tree, bool) or tree in (0, 1):
            return float(tree)
        raise ConfigError(where, expected_got(self.expected, tree))

    def schema(self) -> Schema:
        return {"enum": [True, False, 0, 1]}
