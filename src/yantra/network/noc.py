"""Networks on chip under synthetic traffic, flit by flit: latency against load, and saturation.

The routers are those of `native/network/noc`, with BookSim's stages or Garnet's single one; docs/
concepts/network-on-chip.md has their rules. Rates are flits a node and cycle, times cycles.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra import _core
from yantra.base.errors import ConfigError, DeadlockError, did_you_mean, expected_got
from yantra.base.whole_numbers import is_whole

Point = _core.NocLoadPoint
"""What one load gave; docs/reference/networks-on-chip.md has its fields."""
SHAPES = {
    "concentrated_mesh": "a mesh whose routers have several nodes each",
    "mesh": "a grid of routers, each linked to its neighbours",
    "ring": "one dimension, closed",
    "torus": "a mesh of which every row and column is closed",
}
_CLOSED = ("ring", "torus")


class Noc(NamedTuple):
    """A network on chip. `sizes` are routers by dimension; everything else has a default.

    `vcs` are the virtual channels of each port, `buffer_flits` the flits that one of them holds.
    `link_cycles` is the latency of a channel between routers. `router_cycles` is that of a router
    `one_stage`; a router `input_queued` takes four cycles of its own.
    """

    topology: str
    sizes: tuple[int, ...]
    nodes_per_router: int = 1
    router: str = "input_queued"
    routing: str = "xy"
    vcs: int = 4
    buffer_flits: int = 8
    packet_flits: int = 1
    link_cycles: int = 1
    router_cycles: int = 1
    seed: int = 1


class Load(NamedTuple):
    """What is sent, and for how long it is watched; the defaults are BookSim's.

    `hotspot` is the node of that traffic. A load is unstable if the mean latency is over
    `unstable_cycles` at the end of a sample.
    """

    traffic: str = "uniform"
    hotspot: int = 0
    sample_cycles: int = 1000
    warmup_samples: int = 3
    samples: int = 10
    unstable_cycles: float = 500.0


class Curve(NamedTuple):
    """Latency against load: the latency of an empty network, points, and where it saturates.

    `stable` is the largest load that was found stable and `unstable` the smallest that was not;
    both are 1 where all that nodes can offer is stable.
    """

    zero_load_latency: float
    points: tuple[Point, ...]
    stable: float
    unstable: float


def routers() -> dict[str, str]:
    """Return what each kind of router is, by name."""
    return dict(_core.noc_routers())


def routings() -> dict[str, str]:
    """Return what each routing is, by name."""
    return dict(_core.noc_routings())


def traffics() -> dict[str, str]:
    """Return where each traffic goes, by name."""
    return dict(_core.noc_traffics())


def measure(noc: Noc, load: Load, rate: float) -> Point:
    """Return what a rate of flits a node and cycle gives, from above 0 to 1.

    Raises ConfigError for what cannot be built, naming the field, and DeadlockError if flits wait
    for each other for ever.
    """
    settings, options = _settings(noc), _options(load)
    try:
        return _core.measure_noc(settings, options, rate)
    except ValueError as error:
        raise _named(error) from None
    except _core.Unsupported as error:
        raise DeadlockError(str(error)) from None


def zero_load_latency(noc: Noc, load: Load) -> float:
    """Return the mean cycles of a packet with nothing in its way, over the pairs of the traffic.

    With H routers on its way and P flits it is 5 H + 2 + (P - 1) for `input_queued` with channels
    of one cycle, 2 H + 2 + (P - 1) for `one_stage`. Credits that come late are not in it.
    """
    try:
        return _core.noc_zero_load_latency(_settings(noc), _options(load))
    except ValueError as error:
        raise _named(error) from None


def saturation(noc: Noc, load: Load, within: float = 0.01) -> tuple[float, float]:
    """Return the largest stable and the smallest unstable load, `within` of each other."""
    try:
        return _core.noc_saturation(_settings(noc), _options(load), within)
    except ValueError as error:
        raise _named(error) from None
    except _core.Unsupported as error:
        raise DeadlockError(str(error)) from None


def curve(noc: Noc, load: Load, points: int = 10, within: float = 0.01) -> Curve:
    """Return points at equal steps up to saturation, which is found first."""
    stable, unstable = saturation(noc, load, within)
    rates = [stable * (step + 1) / points for step in range(points)]
    measured = tuple(measure(noc, load, rate) for rate in rates if rate > 0)
    return Curve(zero_load_latency(noc, load), measured, stable, unstable)


def sizes_of(text: str) -> tuple[int, ...]:
    """Read sizes such as `8x8`. Raises ConfigError at `sizes`."""
    parts = text.lower().split("x")
    if not all(map(is_whole, parts)):
        raise ConfigError("sizes", expected_got("routers by dimension, such as 8x8", text))
    return tuple(int(part) for part in parts)


def _settings(noc: Noc) -> _core.NocSettings:
    if noc.topology not in SHAPES:
        problem = expected_got(f"one of {', '.join(SHAPES)}", noc.topology)
        raise ConfigError("topology", problem + did_you_mean(noc.topology, SHAPES))
    if noc.topology == "ring" and len(noc.sizes) != 1:
        raise ConfigError("sizes", "a ring has one dimension; take torus for more")
    if (noc.topology == "concentrated_mesh") != (noc.nodes_per_router > 1):
        problem = "a concentrated_mesh has 2 or more, and only it has"
        raise ConfigError("nodes_per_router", f"{problem}; got {noc.nodes_per_router}")
    for field in ("nodes_per_router", "vcs", "buffer_flits", "packet_flits", "router_cycles"):
        _check_count(field, getattr(noc, field), 1)
    _check_count("link_cycles", noc.link_cycles, 1)
    _check_count("seed", noc.seed, 0, 2**63 - 1)
    for size in noc.sizes:
        _check_count("sizes", size, 2)
    closed = noc.topology in _CLOSED
    try:
        return _core.noc_settings(
            dimensions=[(size, closed, noc.link_cycles) for size in noc.sizes],
            nodes_per_router=noc.nodes_per_router,
            router=noc.router,
            routing=noc.routing,
            vcs=noc.vcs,
            buffer_flits=noc.buffer_flits,
            packet_flits=noc.packet_flits,
            router_cycles=noc.router_cycles,
            seed=noc.seed,
        )
    except ValueError as error:
        raise _named(error) from None


def _options(load: Load) -> _core.NocLoadOptions:
    for field in ("hotspot", "warmup_samples"):
        _check_count(field, getattr(load, field), 0)
    _check_count("sample_cycles", load.sample_cycles, 1)
    _check_count("samples", load.samples, load.warmup_samples + 1)
    return _core.NocLoadOptions(
        traffic=load.traffic,
        hotspot=load.hotspot,
        sample_cycles=load.sample_cycles,
        warmup_samples=load.warmup_samples,
        most_samples=load.samples,
        unstable_cycles=load.unstable_cycles,
    )


def _check_count(where: str, value: int, least: int, most: int = 2**31 - 1) -> None:
    if not least <= value <= most:
        raise ConfigError(where, f"expected {least} to {most}, got {value}")


def _named(error: ValueError) -> ConfigError:
    """Return the error at the field that the core names before the colon."""
    text = str(error)
    place, colon, problem = text.partition(": ")
    words = place.replace(",", "").split()
    where = words[0] if colon else "noc"
    return ConfigError(where, problem if len(words) == 1 else text)
