"""The kinds of plug-ins that anyone can write, one file each: skeleton, contract, registry.

    yantra new topology my_torus
    yantra contract topology my_torus.py
    yantra run step.yaml --plugin my_torus.py

This folder is scanned, so no list names a kind: `topology.py` ends with `PLUGIN = <a Kind class>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from yantra.base import plugin_modules
from yantra.base.errors import ConfigError
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind

kinds: Registry[type[Kind]] = Registry("kind of plug-in", "yantra.kinds", "yantra.kinds", base=Kind)


def get(name: str, where: str | None = None) -> Kind:
    """The kind of a name. Raises ConfigError."""
    return kinds.get(name, where)()


def of_file(path: str) -> Kind:
    """The kind of a file's plug-in, by its class."""
    module = plugin_modules.load(path)
    known = {name: kind for name in kinds.names() if not (kind := get(name)).is_program}
    if hasattr(module, "PLUGIN"):
        for kind in known.values():
            if kind.registry().fits(module.PLUGIN):
                return kind
    expected = ", ".join(f"{kind.registry().expected} ({name})" for name, kind in known.items())
    raise ConfigError(
        path, f"gives no plug-in of a known kind; expected a line PLUGIN = <one of {expected}>"
    )


def _registry_of(path: str) -> Registry[Any]:
    plugin = getattr(plugin_modules.load(path), "PLUGIN", None)
    if plugin is not None:
        from yantra.network.traffic import generators

        if generators.fits(plugin):
            return generators
    return of_file(path).registry()


@contextmanager
def plugged_in(files: Sequence[str]) -> Iterator[None]:
    """Register the plug-ins of files while the block runs."""
    with ExitStack() as stack:
        for path in files:
            registry = _registry_of(path)
            if registry.plug_in(path):
                stack.callback(registry.unplug, path)
        yield
