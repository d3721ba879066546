"""Clusters for people and programs: a row of a list, and every number with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base import units

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster, Level

HEAD = ("name", "devices", "peak", "memory", "scale-up", "scale-out")


def row(cluster: Cluster) -> tuple[str, ...]:
    """Return a cluster in the columns of `HEAD`.

    `devices` are those of one domain of the innermost level, links those of one device together in
    one direction, at their nominal rate.
    """
    of = overview(cluster)
    memory = cluster.memory.written
    return (
        cluster.name,
        str(of["devices_per_domain"]),
        f"{units.format_flops(of['peak_flops'])} {cluster.dtype}",
        f"{memory}, {units.format_bandwidth(of['memory_bytes_per_s'])}",
        _link(cluster.network[0]),
        _link(cluster.network[-1]) if len(cluster.network) > 1 else "none",
    )


def _link(level: Level) -> str:
    return f"{level.name} {units.format_bandwidth(level.device_bytes_per_s('nominal'))}"


def overview(cluster: Cluster) -> dict[str, Any]:
    """Return what the list of clusters holds, in base units."""
    inner = cluster.network[0]
    most = inner.members if inner.shapes is None else inner.shapes.most
    return {
        "name": cluster.name,
        "title": cluster.title,
        "device": cluster.device,
        "devices_per_domain": None if most is None else int(most.value),
        "dtype": cluster.dtype,
        "peak_flops": cluster.peak_flops(),
        "memory_bytes": cluster.memory_bytes,
        "memory_bytes_per_s": cluster.memory_bandwidth.value,
        "network": [
            {
                "name": level.name,
                "kind": level.kind,
                "nominal_bytes_per_s": level.device_bytes_per_s("nominal"),
                "achievable_bytes_per_s": level.device_bytes_per_s("achievable"),
                "latency_ns": level.latency.value,
            }
            for level in cluster.network
        ],
    }


def rests_on(cluster: Cluster) -> str:
    """Return what was measured on it, or that nothing was but data sheets state."""
    kernels = ["kernels"] if cluster.tables else []
    measured = kernels + (["collectives"] if cluster.measured else [])
    if not measured:
        return "data sheets; no kernel and no collective was measured on it"
    return " and ".join(measured) + " measured on machines like it"


def as_dict(cluster: Cluster) -> dict[str, Any]:
    """Return all of a cluster for JSON: the overview, every number, and the table of sources."""
    return overview(cluster) | {
        "rests_on": rests_on(cluster),
        "numbers": [
            {"key": key} | {name: getattr(number, name) for name in number.field_names}
            for key, number in cluster.numbers()
        ],
        "sources": dict(cluster.sources),
    }


def report(cluster: Cluster) -> str:
    from yantra.base.text import table
    from yantra.fabric.clusters.fit import limits

    levels = [
        f"  network[{at}]: {level.name} ({level.kind})" for at, level in enumerate(cluster.network)
    ]
    rows = [
        (f"  {key}", number.written, number.basis, number.source)
        for key, number in cluster.numbers()
    ]
    lines = [
        cluster.title,
        f"  ranks: {limits(cluster)}",
        f"  rests on: {rests_on(cluster)}",
        *levels,
        "",
        *table(("  key", "value", "basis", "source"), rows, left=4),
        "",
        "sources",
        *(f"  [{key}] {title}" for key, title in cluster.sources),
    ]
    return "\n".join(lines) + "\n"
