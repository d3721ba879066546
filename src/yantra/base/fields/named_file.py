"""A field that names a file of some kind: a built-in by name, a user's by path."""

from __future__ import annotations

from importlib import import_module
from os import path as paths
from typing import Any

from yantra.base.fields.scalars import Text

PROFILE = "the name of a profile, or the path of a .yaml file"
COLLECTIVES_FILE = "the path of a .yaml file of yantra calibrate --cluster"


class NamedFile(Text):
    """What `package` loads; `expected` describes it. Relative paths start from the folder."""

    def __init__(self, package: str, expected: str) -> None:
        self._package = package
        self.expected = expected

    def read(self, tree: Any, where: str, folder: str) -> str:
        text = super().read(tree, where, folder)
        if self._is_path(text):
            text = paths.normpath(paths.join(folder, text)) if folder else text
        self._load(text, where)
        return text

    def files(self, value: str) -> tuple[str, ...]:
        return (value,) if self._is_path(value) else ()

    def write(self, value: str, folder: str) -> str:
        is_relative = self._is_path(value) and folder and not paths.isabs(value)
        return paths.relpath(value, folder) if is_relative else value

    def _is_path(self, text: str) -> bool:
        if text in self._names():
            return False
        return not self._names() or "/" in text or text.endswith(".yaml")

    def _names(self) -> tuple[str, ...]:
        names = getattr(import_module(self._package), "names", None)
        return names() if names else ()

    def _load(self, text: str, where: str) -> None:
        load = import_module(self._package).load
        if not self._names():
            load(text)
            return
        # A path without a folder would look like a name.
        bare = self._is_path(text) and not paths.dirname(text)
        load(f"./{text}" if bare else text, where=where)
