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

    The name of a site is its machine there, `NAME@SITE` another's. A path has a `/` in it or ends
    in `.yaml`; a relative one starts from `folder`. `where` is the field that an unknown name is
    reported at. Raises ConfigError.
    """
    site = _site_of(name)
    machine = _read(path_of(name, where=where, folder=folder))
    return machine if site is None else at_site(machine, site, where, str(folder))


def at_site(machine: Cluster, name: Path, where: str, folder: str = "") -> Cluster:
    """The machine with the fabric of a site between its nodes. Raises ConfigError at `where`."""
    from yantra.fabric.clusters import sites

    return sites.at_site(machine, name, where, folder)


def knows(name: str) -> bool:
    """Whether a name is that of a built-in cluster, at a site or not."""
    return name in names() or _site_of(name) is not None


def _site_of(name: Path) -> str | None:
    text = str(name)
    _, at, site = text.rpartition("@")
    if at and not _is_path(text):
        return site
    from yantra.collectives import sites

    return text if text in sites.names() else None


def _is_path(text: str) -> bool:
    return "/" in text or text.endswith(".yaml")


def path_of(name: Path, *, where: str = "cluster", folder: Path = "") -> str:
    """Return the file of a cluster, by name or path as `load` takes them."""
    site = _site_of(name)
    if site is not None:
        from yantra.collectives import sites

        name = str(name).rpartition("@")[0] or sites.load(site, where=where, folder=folder).machine
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
