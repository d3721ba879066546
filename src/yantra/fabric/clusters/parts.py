"""Cluster -> parts of a scenario of a number of ranks, in the form of scenario files.

Each level becomes one dimension (a torus: one per side of the slice). What the network of a
scenario cannot say is decided here:

* The links of a device to a switch are one link of their bandwidth together.
* The two links of a torus along a dimension are one link of twice the bandwidth where the ends are
  joined: collectives on rings send half of the data each way (Chan et al., "Collective
  communication: theory, practice, and experience", CCPE 19 (2007), section 7), and Yantra's ring
  sends all of it one way. A message to a neighbour then takes half of the time it should. On a
  mesh, where the ends are not joined, the way back takes the other link of each pair, so it is one
  link.
* Reductions are fused with the receipt of the data, as in NCCL, RCCL and XLA, and overlap it; the
  memory of these devices is fast enough for that.
* Of the algorithms a level prefers, it gets the first that runs over its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from yantra.base import units
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.collectives import find
from yantra.collectives.names import astra_sim_has, spelled_for_astra_sim
from yantra.collectives.schedule import Kind
from yantra.compute.products import NARROW
from yantra.fabric.clusters.find import measured_on
from yantra.fabric.clusters.fit import sizes_of
from yantra.fabric.clusters.ownership import usd_per_h
from yantra.fabric.clusters.types import Speeds

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster, Level, Number


def parts_of(
    cluster: Cluster, ranks: int, dtype: str, speeds: Speeds, semantics: str, where: str
) -> dict[str, Any]:
    """Return the parts of a scenario; see `Cluster.scenario_parts`."""
    device = device_parts(cluster, dtype, speeds, where, by_type=semantics != "astra-sim")
    sizes = sizes_of(cluster, ranks, f"{where}ranks")
    used = [(level, shape) for level, shape in zip(cluster.network, sizes, strict=True) if shape]
    collectives = _collectives(cluster, used, semantics)
    topology = [
        dimension for level, shape in used for dimension in _dimensions(level, shape, speeds)
    ]
    if (switches := _switches_w(level for level, _ in used)) is not None:
        device["machine"]["switch_power"] = units.exact(switches, "W")
    is_measured = speeds == "measured" and ranks > 1 and not _own_algorithms(collectives)
    if is_measured and (selection := _selection(cluster)) is not None:
        network = _as_measured(cluster, used, topology, speeds)
        selection["options"] |= {  # the network that was measured, whatever is changed later
            "bandwidths": [dimension["bandwidth"] for dimension in network],
            "latencies": [dimension["latency"] for dimension in network],
        }
        collectives["selection"] = selection
    return {
        "topology": topology,
        **device,
        "collectives": collectives,
    }


def _switches_w(levels: Iterable[Level]) -> float | None:
    stated = [level.power.value for level in levels if level.power is not None]
    return sum(stated) if stated else None


def around_of(cluster: Cluster, ranks: int | None = None) -> dict[str, float | None]:
    """A device's shares of W of its host and of the switches, those that a job of so many uses.

    None: not stated.
    """
    used = list(cluster.network)
    if ranks is not None:
        sizes = sizes_of(cluster, ranks, "ranks")
        used = [level for level, shape in zip(used, sizes, strict=True) if shape]
    host = None if cluster.host_power is None else cluster.host_power.value
    return {"host power": host, "switch power": _switches_w(used)}


def levels_of(cluster: Cluster, ranks: int) -> tuple[str, ...]:
    """Return the name of the level of each dimension; a torus has several."""
    sizes = sizes_of(cluster, ranks, "ranks")
    return tuple(
        level.name
        for level, shape in zip(cluster.network, sizes, strict=True)
        for size in shape
        if size > 1 or level.shapes is None
    )


def device_parts(
    cluster: Cluster, dtype: str, speeds: Speeds, where: str, by_type: bool = True
) -> dict[str, Any]:
    """Return the parts of any number of ranks: `device`, `memory` and `machine`.

    `by_type`: where `dtype` has fewer than 16 bits, kernels of other types run at their own rates.
    """
    if speeds not in get_args(Speeds):
        problem = expected_got(f"one of {', '.join(get_args(Speeds))}", speeds)
        raise ConfigError(f"{where}speeds", problem)
    peak = rate = peak_of(cluster, dtype, f"{where}dtype")
    if speeds == "achievable":
        rate = dict(cluster.achievable).get(dtype, rate)
    compute: Any = roofline(cluster, dtype, speeds) if by_type else "roofline"
    cap = cluster.power_cap
    return {
        "device": {
            **({} if cap is None else {"power_cap": units.exact(cap.value, "W")}),
            "peak": units.exact(rate.value, "FLOP/s"),
            "memory_bandwidth": units.exact(cluster.memory_bandwidth.value, "B/s"),
            "compute": measured(cluster, dtype) if speeds == "measured" else compute,
        },
        "memory": {
            "kind": "per_npu",
            "latency": units.exact(cluster.host_latency.value, "ns"),
            "bandwidth": units.exact(cluster.host_bandwidth.value, "B/s"),
        },
        "machine": _stated(cluster, dtype, peak),
    }


def roofline(cluster: Cluster, dtype: str, speeds: Speeds) -> dict[str, Any] | str:
    """Return the choice of the roofline: of a narrow type with the rates of the others, too.

    A job in 16 bits and more has no products in two types, so one rate is enough for it.
    """
    if dtype not in NARROW:
        return "roofline"
    rates = dict(cluster.peak) | (dict(cluster.achievable) if speeds == "achievable" else {})
    written = {name: units.exact(rate.value, "FLOP/s") for name, rate in rates.items()}
    return {"kind": "roofline", "options": {"dtype": dtype, "products": dtype, **written}}


def measured(cluster: Cluster, dtype: str) -> dict[str, Any]:
    """Return the choice of the compute model of measured kernels for a device.

    A dtype of less than 16 bits is that of products: attention and norms have their own types.
    """
    rates = {name: units.exact(rate.value, "FLOP/s") for name, rate in cluster.peak}
    memory = units.exact(cluster.memory_bandwidth.value, "B/s")
    options: dict[str, Any] = rates | {"dtype": dtype, "memory": memory}
    if cluster.tables is not None:
        options["gpu"] = cluster.tables
    else:
        options["like"] = cluster.like or "none"
        if cluster.power is not None:
            options["power"] = units.exact(cluster.power.value, "W")
        if "bf16" in (best := dict(cluster.achievable)) and cluster.like is None:
            options["achieved"] = best["bf16"].value / dict(cluster.peak)["bf16"].value
    if dtype in NARROW:
        options["products"] = dtype
    return {"kind": "measured", "options": options}


def retargeted(cluster: Cluster) -> dict[str, Any]:
    """Return what the model of carried recordings is told of a device."""
    peak = dict(cluster.peak)[cluster.dtype]
    reached = dict(cluster.achievable).get(cluster.dtype, peak)
    return {
        "to": cluster.device,
        "peak": units.exact(peak.value, "FLOP/s"),
        "reached": units.exact(reached.value, "FLOP/s"),
        "memory": units.exact(cluster.memory_bandwidth.value, "B/s"),
    }


def _as_measured(
    cluster: Cluster,
    used: list[tuple[Level, tuple[int, ...]]],
    topology: list[dict[str, Any]],
    speeds: Speeds,
) -> list[dict[str, Any]]:
    machine = None if cluster.measured is None else measured_on(cluster.measured)
    (level, shape), *_ = used
    if machine is None or cluster.fits is not None or level is not cluster.network[0]:
        return topology
    inner = _dimensions(machine.network[0], shape, speeds)
    own = len(_dimensions(level, shape, speeds))
    return [*inner, *topology[own:]] if len(inner) == own else topology


def _own_algorithms(collectives: dict[str, Any]) -> bool:
    from yantra.collectives.algorithms import algorithms

    named = (names for names in collectives.values() if isinstance(names, list))
    return any(algorithms.file_of(name) is not None for names in named for name in names)


def _selection(cluster: Cluster) -> dict[str, Any] | None:
    if cluster.measured is None and cluster.fits is None:
        return None
    options: dict[str, Any] = {}
    if cluster.measured is not None:
        options["system"] = cluster.measured
    if cluster.fits is not None:
        options["file"] = cluster.fits
    if len(cluster.network) > 1:
        stated: Speeds = "achievable" if cluster.site is None else "nominal"
        options["adapter"] = units.exact(cluster.network[-1].device_bytes_per_s(stated), "B/s")
    if cluster.site is not None:
        options["nodes"] = cluster.site
    return {"kind": "measured", "options": options}


def _powers(cluster: Cluster) -> Iterable[tuple[str, Number | None]]:
    yield "power", cluster.power
    yield "idle_power", cluster.idle_power
    yield "host_power", cluster.host_power
    yield "grid", dict(cluster.ownership).get("grid")


def _stated(cluster: Cluster, dtype: str, peak: Number) -> dict[str, Any]:
    stated: dict[str, Any] = {
        "name": cluster.name,
        "dtype": dtype,
        "peak": units.exact(peak.value, "FLOP/s"),
        "memory": cluster.memory.written,
    }
    if cluster.reserve is not None:
        stated["reserve"] = cluster.reserve.written
    for key, number in _powers(cluster):
        if number is not None:
            stated[key] = units.exact(number.value, number.unit)
    if "pue" in (owned := dict(cluster.ownership)):
        stated["pue"] = owned["pue"].value
    hourly = usd_per_h(cluster)
    if hourly is not None:
        stated["price"] = units.exact(hourly, "USD/h")
    return stated


def peak_of(cluster: Cluster, dtype: str, where: str) -> Number:
    """Return the dense peak rate of a dtype, or raise ConfigError at `where`."""
    peaks = dict(cluster.peak)
    if dtype not in peaks:
        raise ConfigError(
            where,
            expected_got(f"a dtype with a peak rate on {cluster.name} ({', '.join(peaks)})", dtype)
            + did_you_mean(dtype, peaks),
        )
    return peaks[dtype]


def no_rate(dtype: str, name: str, known: Iterable[str]) -> str:
    """Say that a workload's products are of a type of which a machine states no rate."""
    states = f"it states those of {', '.join(known)}"
    return f"its products are in {dtype}, of which {name} states no rate; {states}"


def _dimensions(level: Level, shape: tuple[int, ...], speeds: Speeds) -> list[dict[str, Any]]:
    latency = units.exact(level.latency.value, "ns")
    link = level.link(speeds).value
    if level.shapes is None:
        per_link = link if level.kind == "fully_connected" else link * level.links.value
        bandwidth = units.exact(per_link, "B/s")
        size = shape[0]
        kind = "switch" if size == 1 else level.kind  # nothing crosses the links of one rank alone
        return [{"kind": kind, "size": size, "bandwidth": bandwidth, "latency": latency}]
    is_mesh = shape in level.shapes.small and shape != (1,)
    kind = "mesh" if is_mesh else "ring"
    along = link if is_mesh else link * level.links.value / len(shape)
    bandwidth = units.exact(along, "B/s")
    return [
        {"kind": kind, "size": size, "bandwidth": bandwidth, "latency": latency}
        for size in shape
        if size > 1 or shape == (1,)
    ]


def _collectives(
    cluster: Cluster, used: list[tuple[Level, tuple[int, ...]]], semantics: str
) -> dict[str, Any]:
    members = [(level, size) for level, shape in used for size in shape]
    members = [(level, size) for level, size in members if size > 1 or len(members) == 1]
    # Chunks that begin in different dimensions only help where those are equally fast.
    inter_dimension = cluster.inter_dimension if len(used) == 1 else "ascending"
    written: dict[str, Any] = {}
    for collective in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all"):
        preferred = [dict(level.algorithms)[collective] for level, _ in members]
        if semantics != "yantra":
            preferred = [tuple(filter(astra_sim_has, names)) or names for names in preferred]
        named = [
            _algorithm(names, collective, size)
            for names, (_, size) in zip(preferred, members, strict=True)
        ]
        if semantics != "yantra":
            named = [spelled_for_astra_sim(name) for name in named]
        written[collective] = named
    written["reductions"] = "overlapped"
    if len(members) > 1:
        # ASTRA-sim has no planner of chunks.
        chunks = cluster.chunks or (2 * len(members) if semantics != "yantra" else None)
        if chunks is not None:
            written["chunks"] = chunks
        written["inter_dimension"] = inter_dimension
    return written


def _algorithm(preferred: Sequence[str], collective: str, size: int) -> str:
    if size == 1:
        return preferred[-1]
    kinds = _kinds(collective)
    fitting = (
        name for name in preferred if all(find(name).supports(kind, size) is None for kind in kinds)
    )
    return next(fitting, preferred[-1])


def _kinds(collective: str) -> tuple[Kind, ...]:
    if collective == "all_reduce":
        return (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER)
    return (Kind(collective),)
