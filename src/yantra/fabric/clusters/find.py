"""Finds clusters: the built-in files by name, a user's own by path."""

from __future__ import annotations

from functools import cache
from os import path as paths
from typing import TYPE_CHECKING

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.named_files import NamedFiles
from yantra.base.trust import Reading

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster

_FILES = NamedFiles("cluster", paths.join(paths.dirname(__file__), "machines"))


def names() -> tuple[str, ...]:
    """Return the names of the built-in clusters, sorted."""
    return _FILES.names()


def load(name: Path, *, where: str = "cluster", folder: Path = "") -> Cluster:
    """Return a built-in cluster by name, or read a file of the same form by path.

    A path has a `/` in it or ends in `.yaml`; a relative one starts from `folder`. `where` is the
    field that an unknown name is reported at. Raises ConfigError.
    """
    return _read(path_of(name, where=where, folder=folder))


def path_of(name: Path, *, where: str = "cluster", folder: Path = "") -> str:
    """Return the file of a cluster, by name or path as `load` takes them."""
    return _FILES.path_of(name, where=where, folder=folder)


@cache
def measured_on(system: str) -> Cluster | None:
    """Return the built-in machine in a node of which collectives were measured; None for others."""
    machines = (load(name) for name in names())
    return next((machine for machine in machines if machine.measured == system), None)


def like(machine: Cluster) -> str:
    """Return the name of a machine, or of the first built-in one with its GPU if it is a user's."""
    if machine.name in names() or machine.tables is None:
        return machine.name
    known = (name for name in names() if load(name).tables == machine.tables)
    return next(known, machine.name)


def _read(path: str) -> Cluster:
    return _parsed(read_text(path), path)


@cache
def _parsed(text: str, path: str) -> Cluster:
    from yantra.fabric.clusters.reader import cluster_of

    tree = parse_yaml(text, path)
    with Reading(path):
        return cluster_of(tree, path)
