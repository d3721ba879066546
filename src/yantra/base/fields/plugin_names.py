"""Names of plug-ins in scenario files; paths are relative to the file's folder.

A class is written as its file's path, or as a mark that no reader takes.
"""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.base import trust
from yantra.base.errors import ConfigError
from yantra.base.plugin_files import Named, split_path
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

IN_MEMORY = "in_memory"
"""The key of a mark: what stands in the tree of a result for what is in no file."""


def read_name(name: str, folder: str, where: str | None) -> str:
    """Return a plug-in's name; paths are relative to `folder`."""
    path = split_path(name)
    if path is None:
        return name
    if folder:
        name = paths.normpath(paths.join(folder, path[0])) + name[len(path[0]) :]
    trust.require(name, where)
    return name


def write_name(registry: Registry[Any], name: Named, folder: str) -> Any:
    """Return a plug-in's text, paths relative to `folder`, or a mark."""
    written = registry.written(name)
    if written is None:
        described = f"the class {registry.shown(name)}, made in Python and in no file"
        return {IN_MEMORY: described}
    path = split_path(written)
    if path is None or not folder or paths.isabs(path[0]):
        return written
    return paths.relpath(path[0], folder) + written[len(path[0]) :]


def marks(tree: Any, where: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict) and isinstance(tree.get(IN_MEMORY), str):
        yield where, tree[IN_MEMORY]
    elif isinstance(tree, dict):
        for key, part in tree.items():
            yield from marks(part, f"{where}.{key}" if where else str(key))
    elif isinstance(tree, list):
        for at, part in enumerate(tree):
            yield from marks(part, f"{where}[{at}]")


def refuse_marks(tree: Any) -> None:
    for where, text in marks(tree):
        raise ConfigError(
            where, f"cannot be written: {text}; put it in a file that ends with a line PLUGIN ="
        )
