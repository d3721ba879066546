"""Fabrics: graphs of devices and links, by name or from files.

A builder is a file here that ends with `PLUGIN = <a Builder class>`, with options beside its kind:
`{kind: fat_tree, k: 8, bandwidth: 50 GB/s, latency: 500 ns}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, YantraError
from yantra.base.fields import PluginChoice, kind_of, named, options_of
from yantra.base.plugin_files import Named, what_was_raised
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from yantra.fabric.graphs.builder import Builder
    from yantra.fabric.graphs.graph import Graph

builders: Registry[type[Builder]] = Registry(
    "fabric",
    "yantra.fabric.graphs",
    "yantra.fabrics",
    base="yantra.fabric.graphs.builder.Builder",
)

MOST_LINKS = 20_000_000
"""The links of the largest graph that is built: about 1 GB while it is drawn up."""


def builder_of(choice: PluginChoice, where: str) -> Builder:
    """Return the chosen builder with its options.

    Raises ConfigError naming an impossible option, also if the builder raises.
    """
    kind = builders.get(kind_of(choice), where)
    return checked(kind, options_of(choice, kind.options, where), where, named(choice))


def read(kind: Named, tree: Mapping[str, Any], where: str, folder: str = "") -> Builder:
    builder = builders.get(kind, where)
    return checked(builder, builder.options.read(dict(tree), where, folder), where, str(kind))


def checked(kind: type[Builder], options: Any, where: str, name: str) -> Builder:
    try:
        builder = kind(options)
        wrong = builder.refuses()
        links = 0 if wrong else builder.size().links
    except ConfigError as error:
        raise ConfigError(f"{where}.{error.where}", error.problem) from None
    except YantraError:
        raise
    except Exception as error:
        raise ConfigError(where, f"{name} failed: {what_was_raised(error)}") from error
    if wrong is not None:
        raise ConfigError(f"{where}.{wrong[0]}", wrong[1])
    if links > MOST_LINKS:
        problem = f"{name} would have {links} links; expected at most {MOST_LINKS}"
        raise ConfigError(where, f"{problem}, so make it smaller")
    return builder


def graph_of(builder: Builder, where: str) -> Graph:
    from yantra.fabric.graphs.graph import GraphError

    try:
        return builder.graph()
    except GraphError as error:
        problem = f"the builder {type(builder).__name__} makes no graph: {error}"
        raise ConfigError(where, problem) from None
    except YantraError:
        raise
    except Exception as error:
        problem = f"{type(builder).__name__} failed: {what_was_raised(error)}"
        raise ConfigError(where, problem) from error
