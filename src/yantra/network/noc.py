"""Networks on chip under synthetic traffic, flit by flit: latency against load, and saturation.

Routers are those of `native/network/noc`, with BookSim's stages or Garnet's single one;
docs/reference/networks-on-chip.md has their rules. Rates are flits a node and cycle.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra import _core
from yantra.base.errors import ConfigError, DeadlockError, did_you_mean, expected_got
from yantra.base.whole_numbers import is_whole

Point = _core.NocLoadPoint
"""Results of one load; docs/reference/networks-on-chip.md has its fields."""
SHAPES = {
    "concentrated_mesh": "a mesh whose routers have several nodes each",
    "mesh": "a grid of routers, each linked to its neighbours",
    "ring": "one dimension, closed",
    "torus": "a mesh of which every row and column is closed",
}
_CLOSED = ("ring", "torus")


class Noc(NamedTuple):
    """A network on chip; only `sizes`, routers by dimension, has no default.

    `vcs` are each port's virtual channels, of `buffer_flits` flits. `link_cycles` is a channel's
    latency between routers, `router_cycles` that of a `one_stage` router; an `input_queued` one
    takes four.
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

    `hotspot` is that traffic's node. A load is unstable if the mean latency exceeds
    `unstable_cycles` at the end of a sample.
    """

    traffic: str = "uniform"
    hotspot: int = 0
    sample_cycles: int = 1000
    warmup_samples: int = 3
    samples: int = 10
    unstable_cycles: float = 500.0


class Curve(NamedTuple):
    zero_load_latency: float
    points: tuple[Point, ...]
    stable: float
    unstable: float


def routers() -> dict[str, str]:
    return dict(_core.noc_routers())


def routings() -> dict[str, str]:
    return dict(_core.noc_routings())


def traffics() -> dict[str, str]:
    return dict(_core.noc_traffics())


def measure(noc: Noc, load: Load, rate: float) -> Point:
    """The result of a rate of flits a node and cycle, from above 0 to 1.

    Raises ConfigError, naming the field, for what cannot be built, DeadlockError if flits wait for
    each other forever.
    """
    settings, options = _settings(noc), _options(load)
    try:
        return _core.measure_noc(settings, options, rate)
    except ValueError as error:
        raise _named(error) from None
    except _core.Unsupported as error:
        raise DeadlockError(str(error)) from None


def zero_load_latency(noc: Noc, load: Load) -> float:
    """Mean cycles of an unobstructed packet, over the traffic's pairs.

    With H routers and P flits, 5 H + 2 + (P - 1) for `input_queued` with one-cycle channels, 2 H +
    2 + (P - 1) for `one_stage`; without late credits.
    """
    try:
        return _core.noc_zero_load_latency(_settings(noc), _options(load))
    except ValueError as error:
        raise _named(error) from None


def saturation(noc: Noc, load: Load, within: float = 0.01) -> tuple[float, float]:
    """The largest stable and the smallest unstable load, `within` of each other."""
    try:
        return _core.noc_saturation(_settings(noc), _options(load), within)
    except ValueError as error:
        raise _named(error) from None
    except _core.Unsupported as error:
        raise DeadlockError(str(error)) from None


def curve(noc: Noc, load: Load, points: int = 10, within: float = 0.01) -> Curve:
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
    text = str(error)
    place, colon, problem = text.partition(": ")
    words = place.replace(",", "").split()
    where = words[0] if colon else "noc"
    return ConfigError(where, problem if len(words) == 1 else text)
