"""Small fleets whose lives are known."""

from __future__ import annotations

from yantra.fabric.clusters.types import Number
from yantra.fabric.failures import Component, Does, Rates, load
from yantra.lives.draws import DAY_NS, Events, drawn

HOSTS = 256


def fleet(
    mean_s: float,
    *,
    restart_s: float = 300.0,
    hosts: int = 1,
    does: Does = "crash",
    names: tuple[str, ...] = ("gpu",),
) -> Rates:
    """One whose job of `HOSTS` is interrupted every `mean_s`, by each of `names` alike, nearly
    without uncertainty, and restarts in a known time."""
    events = 10**9
    days = events * HOSTS * mean_s * len(names) / 86_400.0
    parts = tuple(Component(name, events, does, hosts, "a test") for name in names)
    known = Number(value=restart_s, unit="s", written="", source="a test")
    return load("fleets")._replace(
        components=parts, host_days=days, fleets=(), restart_low=known, restart_high=known
    )


def lived(rates: Rates, days: float, lives: int = 64, seed: int = 7) -> Events:
    return drawn(rates, HOSTS, round(days * DAY_NS), lives, seed)
