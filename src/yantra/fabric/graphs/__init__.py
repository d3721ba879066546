"""Fabrics: physical graphs of devices and links, built by name or read from files.

A builder is a file of this folder that ends with `PLUGIN = <a Builder class>`. Its options stand
beside its kind: `{kind: fat_tree, k: 8, bandwidth: 50 GB/s, latency: 500 ns}`.
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
    """Return the builder that a scenario chooses, with its options, which it accepts.

    Raises ConfigError naming the option that cannot be, also for a builder that raises.
    """
    kind = builders.get(kind_of(choice), where)
    return checked(kind, options_of(choice, kind.options, where), where, named(choice))


def read(kind: Named, tree: Mapping[str, Any], where: str, folder: str = "") -> Builder:
    """Return the builder of a name and its options as a file states them. Raises ConfigError."""
    builder = builders.get(kind, where)
    return checked(builder, builder.options.read(dict(tree), where, folder), where, str(kind))


def checked(kind: type[Builder], options: Any, where: str, name: str) -> Builder:
    """Return a builder with a record of its options, if it accepts them and is not too large."""
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
    """Return the graph of a builder. Raises ConfigError if what it makes is none."""
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
