"""Engines: which requests an iteration works on.

An engine of the core is a self-registering file of `native/serving/engines`; one in Python is a
file that ends with `PLUGIN = <an Engine class>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.plugin_files import Named, split_path
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.serving.batching.engine import Engine, Option

engines: Registry[type[Engine]] = Registry(
    "engine",
    "yantra.serving.batching",
    "yantra.engines",
    base="yantra.serving.batching.engine.Engine",
)

_MOST = 2**31 - 1


class EngineKind(NamedTuple):
    name: str
    help: str
    options: tuple[Option, ...]
    plugin: type[Engine] | None = None
    has_pipelines: bool = False


def built_in() -> dict[str, EngineKind]:
    """Return the engines of the core, by name."""
    from yantra import _core
    from yantra.serving.batching.engine import Option

    return {
        name: EngineKind(
            name,
            about,
            tuple(
                Option(option, default, least, meaning, tuple(choices))
                for option, default, least, meaning, choices in options
            ),
            has_pipelines=has_pipelines,
        )
        for name, about, options, has_pipelines in _core.serving_engines()
    }


def names() -> tuple[str, ...]:
    """Return every name, sorted."""
    return tuple(sorted({*built_in(), *engines.names()}))


def kind_of(name: Named, where: str = "engine") -> EngineKind:
    """Raises ConfigError at `where`."""
    from yantra.serving.batching.engine import COMMON

    core = built_in()
    if isinstance(name, str) and name in core:
        return core[name]
    if isinstance(name, str) and split_path(name) is None:
        known = names()
        if name not in known:
            problem = f"no engine is named '{name}'; expected one of {', '.join(known)}"
            raise ConfigError(where, problem + did_you_mean(name, known))
    plugin = engines.get(name, where)
    about = (plugin.__doc__ or "").partition("\n")[0]
    return EngineKind(engines.shown(name), about, (*COMMON, *plugin.options), plugin)


def options_of(
    kind: EngineKind, given: Mapping[str, Any], where: str = "engine"
) -> dict[str, float]:
    """Raises ConfigError for one that the engine does not have, and for values out of bounds."""
    known = {option.name: option for option in kind.options}
    for name in given:
        if name not in known:
            problem = f"{name}: the engine {kind.name} has no such option"
            guess = did_you_mean(name, known) or f"; expected one of {', '.join(known)}"
            raise ConfigError(where, problem + guess)
    return {
        name: _value(option, given[name], f"{where}: {name}") if name in given else option.default
        for name, option in known.items()
    }


def add(
    fleet: Any,
    kind: EngineKind,
    options: Mapping[str, float],
    cost: Any,
    *,
    role: str = "both",
    lanes: int = 1,
    stages: int = 1,
    from_ps: int = 0,
    until_ps: int = -1,
) -> None:
    """Raises ConfigError for what an engine in Python cannot do."""
    given = {option.name: option.default for option in kind.options} | dict(options)
    if kind.plugin is None:
        fleet.add(role, kind.name, given, cost, lanes, stages, from_ps, until_ps)
        return
    from yantra.serving.batching.outside import Outside

    for name, count in (("lanes", lanes), ("pp", stages)):
        if count != 1:
            raise ConfigError(name, expected_got("1 with an engine in Python", count))
    outside = Outside(kind.plugin, given, kind.name)
    fleet.add_outside(role, outside, *outside.limits, cost, from_ps, until_ps)


def _value(option: Option, value: Any, where: str) -> float:
    if option.choices:
        text = value if isinstance(value, str) else option.choices[bool(value)]
        if isinstance(value, str | bool) and text in option.choices:
            return float(option.choices.index(text))
        expected = f"one of {', '.join(option.choices)}"
        raise ConfigError(where, expected_got(expected, value) + did_you_mean(text, option.choices))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not option.least <= value <= _MOST:
        raise ConfigError(where, expected_got(f"a number of at least {option.least:g}", value))
    return float(value)
