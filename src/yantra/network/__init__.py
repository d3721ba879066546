"""Networks: how messages interact. The levels of the core, and classes of Python.

A level is a self-registering file of `native/network`; a network in Python is a file that ends with
`PLUGIN = <a NetworkModel class>`. Both, and ASTRA-sim's names of two levels, are chosen by name.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from yantra.base.errors import ConfigError, YantraError, did_you_mean
from yantra.base.fields import (
    ByRate,
    Choice,
    Field,
    NameOrCount,
    Number,
    Plugin,
    PluginChoice,
    PluginField,
    Quantity,
    Section,
    kind_of,
    named,
    options_of,
)
from yantra.base.plugin_files import Named, what_was_raised
from yantra.base.records import Record
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra import _core
    from yantra.network.model import Fabric, NetworkModel

networks: Registry[type[NetworkModel]] = Registry(
    "network", "yantra.network", "yantra.networks", base="yantra.network.model.NetworkModel"
)

_PICOSECONDS = 1000  # to a ns

ALIASES = {"congestion_unaware": "analytical", "congestion_aware": "store_and_forward"}
"""ASTRA-sim's names -> ours."""


FlowLists = Literal["as_messages", "alone", "stored", "shared", "packets", "program"]
"""How a list of flows runs: as messages of a job, which every network can do; by latency and bytes;
whole over link after link; sharing links max-min fairly; as packets; by a program.
"""


Trait = Literal[
    "charges_latency",
    "has_links",
    "has_ports",
    "stores_messages",
    "has_headers",
    "on_fabric",
    "needs_fabric",
    "on_chip",
    "links_change",
    "takes_background",
    "takes_tiers",
    "lowest_dimension_only",
]
"""What a network says of itself; `_core.network_traits()` has a line on each."""


class Level(NamedTuple):
    """A network as a scenario chooses it.

    `model`: its class in Python, None for a level of the core. `detail`: a higher level of the core
    models more; 0 for a bound and for Python. `choices`: of options that are names. `flow_lists`:
    how a list of flows runs on it alone.
    """

    name: str
    help: str
    options: Section | None
    traits: frozenset[Trait]
    model: type[NetworkModel] | None
    detail: int = 0
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    flow_lists: FlowLists = "as_messages"

    def has(self, trait: Trait) -> bool:
        return trait in self.traits

    @property
    def sees_loads(self) -> bool:
        """Whether routings see loads: of flows at their start, of packets at each switch."""
        return self.flow_lists in ("shared", "packets")

    @property
    def runs_by_name(self) -> bool:
        section = self.options
        return section is None or all(
            hasattr(section.record, name) for name, _, _ in section.entries.values()
        )


def names() -> tuple[str, ...]:
    native = _core_levels()
    return (*native, *(name for name in networks.names() if name not in native))


def find(kind: Named, where: str = "network") -> Level:
    if isinstance(kind, type):
        return _in_python(networks.get(kind, where))
    known = _native(ALIASES.get(kind, kind))
    if known is not None:
        return known
    if not kind.endswith(".py") and kind not in networks.names():
        choices = names()
        raise ConfigError(
            where,
            f"no network is named '{kind}'; expected one of {', '.join(choices)}"
            + did_you_mean(kind, (*choices, *ALIASES)),
        )
    return _in_python(networks.get(kind, where))


def level_of(choice: PluginChoice) -> Level:
    return find(kind_of(choice))


def describe(choice: PluginChoice) -> str:
    name = networks.shown(kind_of(choice))
    given = choice.options if isinstance(choice, Plugin) else ()
    options = ", ".join(f"{option} {_shown(value)}" for option, value in given)
    return f"{name} ({options})" if options else name


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        if all(isinstance(word, str) for word in value):
            return " ".join(value)
        return "/".join(f"{of:g} at {rate:g}" if rate else f"{of:g}" for rate, of in value)
    return value if isinstance(value, str) else f"{value:g}"


def native_options(choice: PluginChoice) -> dict[str, float]:
    level = level_of(choice)
    given = options_of(choice, level.options, "network")
    if given is None:
        return {}
    values: dict[str, Any] = {}
    for name in given.field_names:
        value = getattr(given, name)
        if isinstance(value, tuple):
            values |= {f"{name}@{rate:g}" if rate else name: of for rate, of in value}
        elif value is not None:
            values[name] = value
    for name, choices in level.choices:
        values[name] = float(choices.index(values[name]))
    try:
        _core_levels()[level.name].check(values)
    except ValueError as error:
        raise ConfigError("network.options", str(error)) from None
    return values


def maker(
    choice: PluginChoice, fabric: Fabric, ticks_per_ns: int
) -> Callable[[_core.NetworkPort], Any]:
    from yantra.network.model import Bridge

    level = level_of(choice)
    given = options_of(choice, level.options, "network")
    assert level.model is not None
    level.model.check_options(given)
    if level.has("needs_fabric") and ticks_per_ns != _PICOSECONDS:
        problem = f"{level.name} counts picoseconds; take semantics: yantra"
        raise ConfigError("network", f"{problem} without the quirk whole-nanoseconds")

    def make(port: _core.NetworkPort) -> Bridge:
        assert level.model is not None
        try:
            network = level.model(fabric, given)
        except YantraError:
            raise
        except Exception as error:
            problem = f"{named(choice)} failed: {what_was_raised(error)}"
            raise ConfigError("network", problem) from error
        return Bridge(port, network, ticks_per_ns)

    return make


def wants_routes(choice: PluginChoice) -> bool:
    level = level_of(choice)
    assert level.model is not None
    return level.model.wants_routes(options_of(choice, level.options, "network"))


FIELD = PluginField(networks, names, find, also=ALIASES)
"""The field `network` of a scenario."""


@cache
def _core_levels() -> dict[str, _core.NetworkLevel]:
    from yantra import _core

    return {level.name: level for level in _core.network_levels()}


@cache  # describing one's options takes longer than a small run's network
def _native(name: str) -> Level | None:
    level = _core_levels().get(name)
    if level is None:
        return None
    return Level(
        level.name,
        level.help,
        _section(level),
        frozenset(cast("list[Trait]", level.traits)),
        None,
        level.detail,
        tuple((option.name, tuple(option.choices)) for option in level.options if option.choices),
        cast("FlowLists", level.flow_lists.name.lower()),
    )


def _section(level: _core.NetworkLevel) -> Section | None:
    if not level.options:
        return None
    defaults = {option.name: _default(option) for option in level.options}
    annotations = {name: type(value) for name, value in defaults.items()}
    record: type[Record] = type(
        f"{level.name}_options", (Record,), {"__annotations__": annotations, **defaults}
    )
    return Section(
        record,
        {option.name: (option.name, _field(option), option.help) for option in level.options},
    )


def _default(option: _core.NetworkOption) -> float | str | None:
    if option.choices:
        return option.choices[int(option.fallback)]
    return None if option.fallback != option.fallback else option.fallback  # NaN is none


def _field(option: _core.NetworkOption) -> Field:
    if option.choices:
        names = tuple(option.choices)
        return NameOrCount(names) if names[-1].isdigit() else Choice(names)
    if option.by_rate:
        return ByRate(_scalar(option))
    return _scalar(option)


def _scalar(option: _core.NetworkOption) -> Number | Quantity:
    if option.unit == "ns":
        return Quantity("time", "ns", at_least=option.least)
    if option.unit == "GB/s":
        return Quantity("bandwidth", "GB/s", at_least=option.least)
    if option.unit == "bit/s":
        return Quantity("bandwidth", "b/s", at_least=option.least)
    if option.unit == "B":
        return Quantity("size", "B", at_least=option.least)
    return Number(at_least=option.least)


def _in_python(kind: type[NetworkModel]) -> Level:
    help_line = (kind.__doc__ or "").strip().partition("\n")[0]
    traits: set[Trait] = {"charges_latency"} if kind.charges_latency else set()
    if kind.needs_fabric:
        traits |= {"has_links", "on_fabric", "needs_fabric"}
    shown = networks.shown(kind)
    return Level(
        shown, help_line, kind.options, frozenset(traits), kind, flow_lists=kind.flow_lists
    )
