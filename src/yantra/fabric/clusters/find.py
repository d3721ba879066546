"""Finds clusters: the built-in files by name, a user's own by path."""

from __future__ import annotations

import os
from functools import cache
from os import path as paths
from typing import TYPE_CHECKING

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, show

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster

_FOLDER = paths.join(paths.dirname(__file__), "machines")
_ENDING = ".yaml"


def names() -> tuple[str, ...]:
    """Return the names of the built-in clusters, sorted."""
    files = sorted(os.listdir(_FOLDER))
    return tuple(file.removesuffix(_ENDING) for file in files if file.endswith(_ENDING))


def load(name: Path, *, where: str = "cluster", folder: Path = "") -> Cluster:
    """Return a built-in cluster by name, or read a file of the same form by path.

    A path has a `/` in it or ends in `.yaml`; a relative one starts from `folder`. `where` is the
    field that an unknown name is reported at. Raises ConfigError.
    """
    return _read(path_of(name, where=where, folder=folder))


def path_of(name: Path, *, where: str = "cluster", folder: Path = "") -> str:
    """Return the file of a cluster, by name or path as `load` takes them."""
    text = os.fspath(name)
    if text in names():
        return paths.join(_FOLDER, text + _ENDING)
    if os.sep in text or text.endswith(_ENDING):
        return paths.join(folder, text)
    known = names()
    named = f"'{text}'" if text.isprintable() else show(text)
    raise ConfigError(
        where,
        f"no cluster is named {named}; expected one of {', '.join(known)}, or the path of a "
        f"YAML file{did_you_mean(text, known)}",
    )


def _read(path: str) -> Cluster:
    return _parsed(read_text(path), path)


@cache
def _parsed(text: str, path: str) -> Cluster:
    from yantra.fabric.clusters.reader import cluster_of

    return cluster_of(parse_yaml(text, path), path)
