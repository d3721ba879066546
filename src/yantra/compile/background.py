"""A scenario's background traffic: flows of nobody's job, by start."""

from __future__ import annotations

import numpy as np

from yantra import _core
from yantra import network as networks
from yantra.base.errors import ConfigError
from yantra.compile.fabric import OnFabric
from yantra.network.traffic import MOST_FLOWS, flows_by, generators
from yantra.network.traffic.generator import Flows, ordered
from yantra.scenario import Scenario
from yantra.scenario.background_fields import FILE, record_of
from yantra.scenario.disturbances import BackgroundTraffic


def set_background(
    builder: _core.ModelBuilder, scenario: Scenario, on: OnFabric | None, ticks_per_ns: int
) -> Flows:
    """Set the background traffic, and return it; times in ns.

    Raises ConfigError where the network carries none, or a host is unknown.
    """
    level = networks.level_of(scenario.network)
    if not level.has("takes_background"):
        able = [name for name in networks.names() if networks.find(name).has("takes_background")]
        problem = f"the network {level.name} carries none; take one of {', '.join(able)}"
        raise ConfigError("background", problem)
    hosts = scenario.topology.ranks if on is None else on.graph.ranks
    parts = [
        turn
        for at, one in enumerate(scenario.background)
        for turn in _turns(one, hosts, f"background[{at}]")
    ]
    count = sum(len(part.src) for part in parts)
    if count > MOST_FLOWS:
        raise ConfigError("background", f"{count} flows; expected at most {MOST_FLOWS}")
    flows = ordered(Flows(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))
    builder.set_background(
        tick=(flows.start_ns * ticks_per_ns).astype(np.uint64),
        src=flows.src.astype(np.uint32),
        dst=flows.dst.astype(np.uint32),
        bytes=flows.bytes.astype(np.uint64),
    )
    return flows


def _turns(one: BackgroundTraffic, hosts: int, where: str) -> list[Flows]:
    among = np.arange(hosts) if one.hosts is None else np.array(one.hosts)
    if among[-1] >= hosts:
        problem = f"expected hosts from 0 to {hosts - 1}, got {among[-1]}"
        raise ConfigError(f"{where}.hosts", problem)
    record = record_of(one, where)
    found = []
    for turn in range(one.times):
        if one.kind == FILE:
            flows = _read(record.path, len(among))
        else:
            generator = generators.get(one.kind, f"{where}.kind")
            flows = flows_by(generator, record, len(among), one.seed + turn, where)
        start_ns = flows.start_ns + one.at_ns + turn * (one.every_ns or 0)
        found.append(Flows(among[flows.src], among[flows.dst], flows.bytes, start_ns))
    return found


def _read(path: str, hosts: int) -> Flows:
    from yantra.network.traffic.reading import read

    flows = read(path)
    wrong = (flows.src >= hosts) | (flows.dst >= hosts) | (flows.src == flows.dst)
    if wrong.any():
        at = int(np.argmax(wrong))
        problem = f"flow {at} is from {flows.src[at]} to {flows.dst[at]}"
        raise ConfigError(path, f"{problem}; expected two of the hosts 0 to {hosts - 1}")
    return flows
