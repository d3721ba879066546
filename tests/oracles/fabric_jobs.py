"""Random jobs on random fabrics, whose messages share links: those of folded_jobs.py, by seed."""

from __future__ import annotations

from random import Random

from tests.oracles.folded_jobs import folded_case
from yantra.base.fields import Plugin
from yantra.scenario import Scenario
from yantra.scenario.types import Placement

# Even ways come often: with others, ranks of large classes rarely have equal times.
ROUTINGS = (
    "even_spray",
    "even_spray",
    "d_mod_k",
    "d_mod_k",
    "shortest",
    "up_down",
    "ecmp",
    "valiant",
)


def fabric_case(seed: int) -> Scenario:
    case = folded_case(seed).replace(network=_network(Random(seed)))
    draw = Random(f"fabric {seed}")
    if draw.random() < 0.2:
        return case
    routing = draw.choice(ROUTINGS)
    fabric = _fabric(draw, case.topology.ranks)
    placements = ("linear", "linear", "by_rail" if fabric.kind == "rail_optimised" else "linear")
    return case.replace(
        semantics="yantra",
        fabric=fabric,
        routing=routing if draw.random() < 0.5 else Plugin(kind=routing, options=(("seed", seed),)),
        placement=Placement(kind=draw.choice(placements)),
    )


def _network(draw: Random) -> str | Plugin:
    options = draw.choices(("", "rtt_fairness", "in_order"), (6, 2, 2))[0]
    return Plugin(kind="flow", options=((options, 1.0),)) if options else "flow"


def _fabric(draw: Random, ranks: int) -> Plugin:
    speed = {
        "bytes_per_ns": draw.choice((0.7, 8.0, 53.6870912)),
        "latency_ns": draw.choice((12.25, 500.0, 333.3333)),
    }
    divisors = [size for size in range(2, ranks) if ranks % size == 0]
    per_leaf = draw.choice(divisors or [1])
    uplinks = {
        "spines": draw.choice((1, 2, 3, 4)),
        "uplink_bytes_per_ns": draw.choice((0.3, 4.0, 8.0)),
        "uplink_latency_ns": draw.choice((speed["latency_ns"], 40.0)),
    }
    kind = draw.choice(("leaf_spine", "leaf_spine", "rail_optimised", "multi_plane", "other"))
    if kind == "leaf_spine":
        sizes = {"leaves": ranks // per_leaf, "ranks_per_leaf": per_leaf}
        return _plugin(kind, speed | uplinks | sizes)
    if kind == "rail_optimised" and per_leaf > 1:
        boxes = ranks // per_leaf
        groups = draw.choice([size for size in range(1, boxes + 1) if boxes % size == 0])
        inside = {"box_bytes_per_ns": draw.choice((30.0, 80.0)), "box_latency_ns": 7.0}
        sizes = {"boxes": boxes, "ranks_per_box": per_leaf, "boxes_per_leaf": boxes // groups}
        return _plugin(kind, speed | uplinks | inside | sizes)
    if kind == "multi_plane":
        sizes = {"planes": draw.choice((2, 3)), "ranks_per_leaf": per_leaf}
        return _plugin(kind, speed | uplinks | sizes | {"leaves": ranks // per_leaf})
    if draw.random() < 0.3 and ranks <= 54:
        return _plugin("fat_tree", speed | {"k": 4 if ranks <= 16 else 6})
    return _plugin(draw.choice(("ring", "switch", "fully_connected")), speed | {"ranks": ranks})


def _plugin(kind: str, options: dict[str, object]) -> Plugin:
    return Plugin(kind=kind, options=tuple(options.items()))
