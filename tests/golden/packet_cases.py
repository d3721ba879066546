"""Cases of the ns-3 fork (astra-sim/astra-network-ns3 8fd3604, TIMELY's time stamp restored):
`data/packets`, or ../shared/golden/fabrics/packet (its README.md describes them).
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from yantra import _core

RECORDED = Path(__file__).with_name("data") / "packets"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "fabrics"
SCHEMES = {
    "1": "dcqcn",
    "3": "hpcc",
    "7": "timely",
    "8": "dctcp",
    "10": "hpcc_pint",
    "12": "none",
}
ALL_QUIRKS = sum(quirk.bit for quirk in _core.packet_quirks())
NONE = 2**32 - 1


class Run(NamedTuple):
    packets: _core.PacketRun
    link: dict[tuple[int, int], int]

    @property
    def completed_ns(self) -> list[int | None]:
        ends = np.asarray(self.packets.completed_ns)
        return [round(end) if np.isfinite(end) else None for end in ends.tolist()]


def cases() -> dict[str, Any]:
    files = [*sorted(RECORDED.glob("*.json")), *sorted((SHARED / "packet").glob("*.json"))]
    found: dict[str, Any] = {}
    for path in files:
        if path.stem not in found:
            found[path.stem] = json.loads(path.read_text())
    return found


def run(case: Any, mode: str, seed: int = 0, **changed: Any) -> Run:
    graph, link = _graph(case)
    settings = settings_of(case["config"], mode)
    settings.seed = seed
    settings.max_rtt_ns = _longest_round_trip(case) if mode == "10" else 0.0
    sampled: dict[str, Any] = changed.pop("sampled", {})
    for name, value in changed.items():
        setattr(settings, name, value)
    ways = _ways(case, mode, link)
    columns = {
        "first_hop": _first(way for way, _ in ways),
        "hops": _flat(way for way, _ in ways),
        "first_ack_hop": _first(way for _, way in ways),
        "ack_hops": _flat(way for _, way in ways),
        "bytes": np.array([flow["bytes"] for flow in case["flows"]], float),
        "start_ns": np.array([flow["start_ns"] for flow in case["flows"]], float),
        "after": [flow["after"] if flow["after"] >= 0 else NONE for flow in case["flows"]],
        "delay_ns": [float(flow["delay_ns"]) for flow in case["flows"]],
    }
    if sampled:
        sampled = {"sampled_link": link[sampled["port"]], "sample_ns": sampled["every_ns"]}
    packets = _core.send_packets(**columns, graph=graph, settings=settings, **sampled)
    packets.run_for(2**62)
    return Run(packets, link)


def settings_of(config: dict[str, Any], mode: str) -> _core.PacketSettings:
    settings = _core.PacketSettings()
    settings.quirks = ALL_QUIRKS
    settings.congestion_control = SCHEMES[mode]
    settings.payload_bytes = config["PACKET_PAYLOAD_SIZE"]
    settings.has_window = bool(config["HAS_WIN"])
    settings.variable_window = bool(config["VAR_WIN"])
    settings.paces_at_rate = bool(config["RATE_BOUND"])
    settings.acks_first = bool(config["ACK_HIGH_PRIO"])
    settings.buffer_bytes = config["BUFFER_SIZE"] << 20
    settings.limits = [
        _core.MarkLimits(
            gbps=float(rate),
            kmin_bytes=config["KMIN"][rate] * 1000,
            kmax_bytes=config["KMAX"][rate] * 1000,
            pmax=config["PMAX"][rate],
        )
        for rate in config["KMIN"]
    ]
    settings.options = {name: float(value) for name, value in _options(config, mode).items()}
    return settings


def _options(config: dict[str, Any], mode: str) -> dict[str, float]:
    def rate(key: str) -> float:
        return float(config[key].removesuffix("Mb/s")) * 1e6

    additive, hyper = rate("RATE_AI"), rate("RATE_HAI")
    least = {} if mode == "12" else {"least_rate": rate("MIN_RATE")}
    hpcc = {
        "target_utilisation": config["U_TARGET"],
        "additive_steps": config["MI_THRESH"],
        "additive_increase": additive,
    }
    of_mode: dict[str, dict[str, float]] = {
        "1": {
            "alpha_interval": config["ALPHA_RESUME_INTERVAL"] * 1e3,
            "decrease_interval": config["RATE_DECREASE_INTERVAL"] * 1e3,
            "increase_interval": config["RP_TIMER"] * 1e3,
            "gain": config["EWMA_GAIN"],
            "fast_recovery_steps": config["FAST_RECOVERY_TIMES"],
            "additive_increase": additive,
            "hyper_increase": hyper,
            "clamps_target": config["CLAMP_TARGET_RATE"],
        },
        "3": {
            **hpcc,
            "fast_react": config["FAST_REACT"],
            "per_hop": config["MULTI_RATE"],
            "sample_feedback": config["SAMPLE_FEEDBACK"],
            "telemetry_units": config["INT_MULTI"],
        },
        "7": {"additive_increase": additive, "hyper_increase": hyper},
        "8": {"gain": config["EWMA_GAIN"], "additive_increase": rate("DCTCP_RATE_AI")},
        "10": {
            **hpcc,
            "log_base": config["PINT_LOG_BASE"],
            "share_of_acks": config["PINT_PROB"],
        },
        "12": {},
    }
    return least | of_mode[mode]


def _graph(case: Any) -> tuple[_core.FabricGraph, dict[tuple[int, int], int]]:
    place = {node: at for at, node in enumerate([*case["hosts"], *case["switches"]])}
    ends = [(pair, of) for of in case["links"] for pair in ((of["a"], of["b"]), (of["b"], of["a"]))]
    count = len(ends)
    graph = _core.FabricGraph(
        len(case["hosts"]),
        np.array([0] * len(case["hosts"]) + [1] * len(case["switches"]), np.uint8),
        np.array([place[start] for (start, _), _ in ends], np.int32),
        np.array([place[end] for (_, end), _ in ends], np.int32),
        np.array([of["gbps"] / 8 for _, of in ends], float),
        np.array([of["delay_ns"] for _, of in ends], float),
        np.zeros(count, np.int64),
        np.zeros(count, np.int32),
        ["link"],
        np.ones(count),
    )
    return graph, {pair: link for link, (pair, _) in enumerate(ends)}


def _ways(
    case: Any, mode: str, link: dict[tuple[int, int], int]
) -> list[tuple[list[int], list[int]]]:
    other = case["results"][mode].get("paths_that_differ") or {}
    found = []
    for flow in case["flows"]:
        data, acks = other.get(str(flow["id"]), (flow["path"], flow["ack_path"]))
        there = [flow["src"], *data, flow["dst"]]
        back = [flow["dst"], *acks, flow["src"]]
        found.append(
            (
                [link[pair] for pair in pairwise(there)],
                [link[pair] for pair in pairwise(back)],
            )
        )
    return found


def _first(ways: Any) -> Any:
    return np.cumsum([0, *map(len, ways)], dtype=np.uint64)


def _flat(ways: Any) -> Any:
    return np.array([link for way in ways for link in way], dtype=np.uint32)


def _longest_round_trip(case: Any) -> float:
    """Return the largest base round trip of two hosts, over the fewest hops."""
    next_to: dict[int, list[tuple[int, Any]]] = {}
    for link in case["links"]:
        for start, end in ((link["a"], link["b"]), (link["b"], link["a"])):
            next_to.setdefault(start, []).append((end, link))
    payload = case["config"]["PACKET_PAYLOAD_SIZE"]
    longest = 0
    for host in case["hosts"]:
        known = {host: 0}
        ring = [host]
        while ring:
            beyond = []
            for node in ring:
                if node in case["hosts"] and node != host:
                    continue
                for other, link in next_to[node]:
                    if other not in known:
                        sending = int(8 * payload / link["gbps"])
                        known[other] = known[node] + 2 * link["delay_ns"] + sending
                        beyond.append(other)
            ring = beyond
        longest = max(longest, *(known[other] for other in case["hosts"] if other in known))
    return float(longest)
