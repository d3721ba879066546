"""A run's energy as lines of at most 80 columns: who draws it, over time, and what it emits."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from yantra.result.energy import J_PER_KWH, Energy, Phase, ends_of

_WIDTH, _MARGIN = 80, 17
_JUDGED = "the law of power of decode; no measured training power, so twice its interval"


def lines(of: Energy) -> list[str]:
    """Return the section `energy of the run`; what nobody states is UNKNOWN."""
    return ["energy of the run", *(line for row in _rows(of) for line in _wrapped(*row))]


def _rows(of: Energy) -> Iterator[tuple[str, str]]:
    mean = of.device_j / of.seconds / of.devices
    yield "devices", f"{_kwh(of.device_j)}, {_kw(of.device_j / of.seconds)}, {mean:.4g} W each"
    yield "hosts", _share(of, of.host_j, "host_power")
    yield "switches", _share(of, of.switch_j, "switch_power")
    yield "PUE", "UNKNOWN: set cluster.machine.pue" if of.pue is None else f"{of.pue:g}"
    least = "at least " if of.unknown else ""
    low, high = ends_of(of.facility_j, of.interval)
    yield "building", f"{least}{_kwh(of.facility_j)} ({_kwh(low)} to {_kwh(high)}, 90 %)"
    if of.tokens:
        each = of.facility_j / of.tokens
        low, high = ends_of(each, of.interval)
        yield "a token", f"{least}{each:.4g} J ({low:.4g} to {high:.4g}, 90 %)"
    yield "rests on", _JUDGED
    if of.carbon_g is None:
        yield "CO2", "UNKNOWN: set cluster.machine.grid, such as '350 g/kWh'"
    else:
        yield "CO2", f"{least}{of.carbon_g:.4g} g at {of.grid_g_per_kwh:g} g/kWh"
    yield "peak", f"{_kw(of.peak_w)}, least {_kw(of.least_w)}, as far as known"
    yield from _phases(of, least)
    unit, scale = ("kW", 1e3) if of.peak_w >= 1e3 else ("W", 1.0)
    parts = " ".join(f"{watts / scale:.4g}" for watts in of.profile_w)
    yield f"{unit} over time", f"in {len(of.profile_w)} equal parts: {parts}"


def _phases(of: Energy, least: str) -> Iterator[tuple[str, str]]:
    if not of.phases:
        yield "devices waiting", f"{least}{_kw(of.idle_w)}"
        return
    _, checkpoint, restart = of.phases
    yield "a checkpoint", f"{_phase(checkpoint, least)}, as state goes to hosts"
    again = "then lost steps draw as any; yantra life plays yours"
    yield "a failure", f"{_phase(restart, least)} of restarting, as published; {again}"


def _phase(one: Phase, least: str) -> str:
    return f"{least}{_kw(one.watts)} for {one.seconds:.3g} s, {one.kwh:.4g} kWh"


def _share(of: Energy, joules: float | None, field: str) -> str:
    if joules is None:
        return f"UNKNOWN: set cluster.machine.{field}, a device's share"
    return f"{_kwh(joules)}, {_kw(joules / of.seconds)}"


def _kwh(joules: float) -> str:
    return f"{joules / J_PER_KWH:.4g} kWh"


def _kw(watts: float) -> str:
    return f"{watts / 1e3:.4g} kW" if watts >= 1e3 else f"{watts:.4g} W"


def _wrapped(name: str, text: str) -> list[str]:
    return wrap(f"{name:<{_MARGIN}}{text}", _WIDTH, subsequent_indent=" " * _MARGIN)
