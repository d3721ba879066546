"""A cluster at a site (`yantra.collectives.sites`): the level between its nodes is the site's."""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError
from yantra.base.units import exact
from yantra.collectives import sites
from yantra.fabric.clusters.types import Cluster, Number

if TYPE_CHECKING:
    from yantra.base.documents import Path


def of_file(machine: Cluster, name: str, where: str, folder: str) -> Cluster:
    """The machine of a file that names its site; that of the site itself states its own level."""
    if sites.load(name, where=where, folder=folder).machine == machine.name:
        return machine.replace(site=name)
    return at_site(machine, name, where, folder)


def at_site(machine: Cluster, name: Path, where: str, folder: str = "") -> Cluster:
    """The machine with the adapters of a site between its nodes. Raises ConfigError at `where`."""
    site = sites.load(name, where=where, folder=folder)
    inner, outer = machine.network[0], machine.network[-1]
    if len(machine.network) != 2 or inner.members is None:
        raise ConfigError(where, f"{machine.name} has no nodes with one level between them")
    if inner.members.value != site.devices:
        problem = f"nodes of {site.title} have {site.devices} devices"
        raise ConfigError(where, f"{problem}, those of {machine.name} {inner.members.written}")
    rate = site.node_rate * 1e9 / site.devices
    bandwidth = Number(
        value=rate, unit="B/s", written=exact(rate, "B/s"), basis="derived", source=site.source
    )
    latency = Number(
        value=site.latency_ns, unit="ns", written=exact(site.latency_ns, "ns"), basis="estimate",
        source=site.source,
    )  # fmt: skip
    reached = rate * (site.reached or 1.0)
    achievable = bandwidth.replace(value=reached, written=exact(reached, "B/s"))
    one = outer.links.replace(value=1.0, written="1", basis="derived", source=site.source)
    level = outer.replace(
        name=site.fabric, links=one, bandwidth=bandwidth, achievable=achievable, latency=latency
    )
    named = str(name) if str(name) in sites.names() else paths.join(folder, str(name))
    return machine.replace(
        network=(inner, level), site=named, title=f"{machine.title}; {site.title}"
    )
