"""Files of a folder by name, such as clusters and stacks, beside a user's by path."""

from __future__ import annotations

import os
from os import path as paths
from time import time_ns

from yantra.base.documents import Path
from yantra.base.errors import ConfigError, did_you_mean, show

ENDING = ".yaml"
_SETTLED_NS = 2_000_000_000
"""A folder that changed later may change again without its time telling."""


class NamedFiles:
    """The YAML files of a folder; `kind` is for messages ("cluster")."""

    def __init__(self, kind: str, folder: str) -> None:
        self._kind = kind
        self._folder = folder
        self._listed: tuple[int, tuple[str, ...]] = (-1, ())  # the folder's last change; names

    def names(self) -> tuple[str, ...]:
        changed_at = os.stat(self._folder).st_mtime_ns
        if changed_at == self._listed[0]:
            return self._listed[1]
        files = sorted(os.listdir(self._folder))
        names = tuple(file.removesuffix(ENDING) for file in files if file.endswith(ENDING))
        if time_ns() - changed_at > _SETTLED_NS:
            self._listed = changed_at, names
        return names

    def path(self, name: str) -> str:
        return paths.join(self._folder, name + ENDING)

    def path_of(self, name: Path, *, where: str, folder: Path = "") -> str:
        """Return the file of a name, or of a path (with a `/`, or ending in `.yaml`)."""
        text = os.fspath(name)
        known = self.names()
        if text in known:
            return self.path(text)
        if os.sep in text or text.endswith(ENDING):
            return paths.join(folder, text)
        alike = [one for one in known if _key(one) == _key(text)]
        if len(alike) == 1:
            return self.path(alike[0])
        named = f"'{text}'" if text.isprintable() else show(text)
        meant = did_you_mean(text, known)
        every = f"{', '.join(known)}, or the path of a YAML file"
        listed = f"{meant} Known: {every}" if meant else f"; expected one of {every}"
        raise ConfigError(where, f"no {self._kind} is named {named}{listed}")


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
