"""The files of ASTRA-sim's ns-3 front end. Unmodelled keys that would change a result are refused.

Trade-off: equal next hops are chosen by our own hash; the fork's choice depends on addresses in
memory (docs/reference/astra-sim.md).

Source: astra-sim/astra-network-ns3 scratch/common.h, astra-sim network_frontend/ns3.
"""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.astra_sim.keys import Keys
from yantra.astra_sim.numbers import read_integer, read_number
from yantra.base import units
from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got
from yantra.base.fields import Plugin
from yantra.fabric.graphs import files
from yantra.scenario.astra_sim_keys import LOGICAL
from yantra.scenario.types import Dimension, Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from yantra.fabric.graphs.graph import Graph

SCHEMES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc_pint", 12: "none"}
"""The congestion control of each CC_MODE."""
_MOST_HOSTS_OF_ALL_PAIRS = 4096


def _whole(word: str, where: str) -> int:
    value = read_integer(word, where)
    if not 0 <= value < 2**32:
        raise ConfigError(where, expected_got("a whole number from 0", word))
    return value


def _real(word: str, where: str) -> float:
    value = read_number(word, where)
    if not value >= 0:
        raise ConfigError(where, expected_got("a number from 0", word))
    return value


def _rate(word: str, where: str) -> float:
    return units.parse(word if not word.isdigit() else f"{word} b/s", "bandwidth", "b/s", where)


def _bits(word: str, where: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise ConfigError(where, expected_got("a rate in whole bit/s", word))
    return int(word)


def _word(word: str, where: str) -> str:
    return word


_KEYS: dict[str, tuple[Callable[[str, str], Any], Any]] = {
    "CC_MODE": (_whole, 1),
    "ENABLE_QCN": (_whole, 1),
    "USE_DYNAMIC_PFC_THRESHOLD": (_whole, 1),
    "CLAMP_TARGET_RATE": (_whole, 0),
    "PAUSE_TIME": (_real, 5.0),
    "PACKET_PAYLOAD_SIZE": (_whole, 1000),
    "L2_CHUNK_SIZE": (_whole, 0),
    "L2_ACK_INTERVAL": (_whole, 0),
    "L2_BACK_TO_ZERO": (_whole, 0),
    "TOPOLOGY_FILE": (_word, ""),
    "FCT_OUTPUT_FILE": (_word, ""),
    "PFC_OUTPUT_FILE": (_word, ""),
    "QLEN_MON_FILE": (_word, ""),
    "QLEN_MON_START": (_whole, 0),
    "ALPHA_RESUME_INTERVAL": (_real, 55.0),
    "RP_TIMER": (_real, 0.0),
    "EWMA_GAIN": (_real, 0.0),  # the front end's is 1 / 16 of whole numbers
    "FAST_RECOVERY_TIMES": (_whole, 5),
    "RATE_AI": (_rate, None),
    "RATE_HAI": (_rate, None),
    "RATE_DECREASE_INTERVAL": (_real, 4.0),
    "MIN_RATE": (_rate, 1e8),
    "DCTCP_RATE_AI": (_rate, 1e9),
    "ERROR_RATE_PER_LINK": (_real, 0.0),
    "HAS_WIN": (_whole, 1),
    "GLOBAL_T": (_whole, 1),
    "MI_THRESH": (_whole, 5),
    "VAR_WIN": (_whole, 0),
    "FAST_REACT": (_whole, 1),
    "MULTI_RATE": (_whole, 1),
    "SAMPLE_FEEDBACK": (_whole, 0),
    "PINT_LOG_BASE": (_real, 1.05),
    "PINT_PROB": (_real, 1.0),
    "U_TARGET": (_real, 0.95),
    "INT_MULTI": (_whole, 1),
    "RATE_BOUND": (_whole, 1),
    "NIC_TOTAL_PAUSE_TIME": (_whole, 0),
    "ACK_HIGH_PRIO": (_whole, 0),
    "BUFFER_SIZE": (_whole, 16),
}
_MAPS: dict[str, Callable[[str, str], Any]] = {
    "KMAX_MAP": _whole,
    "KMIN_MAP": _whole,
    "PMAX_MAP": _real,
}
_SWEEP_NS = 100.0  # between looks at all queues; the front end has no key for it
_WITHOUT_EFFECT = (
    *("FLOW_FILE", "TRACE_FILE", "SIMULATOR_STOP_TIME", "ENABLE_TRACE", "DATA_RATE", "LINK_DELAY"),
    *("QLEN_MON_END",),
)
"""Keys with one value that change no result."""


class Ns3(NamedTuple):
    """A run's logical dimensions, fabric and network."""

    topology: Topology
    fabric: Plugin
    network: Plugin
    warnings: list[str]


def read_ns3(config: str, logical: str) -> Ns3:
    warnings: list[str] = []
    values, maps = _read_config(config, warnings)
    _check_modelled(values, config, warnings)
    path = _topology_file(values["TOPOLOGY_FILE"], config, warnings)
    graph = files.read(path)
    sizes = _logical_dims(logical, warnings)
    _check_hosts(graph, sizes, logical, path)
    options = _options(values, maps, graph, config)
    rate = float(graph.links.bytes_per_ns[graph.links.start < graph.ranks].min())
    return Ns3(
        Topology(
            dimensions=tuple(
                Dimension(kind="switch", size=size, bytes_per_ns=rate, latency_ns=0.0)
                for size in sizes
            )
        ),
        Plugin(kind=path, options=()),
        Plugin(kind="packet", options=tuple(options.items())),
        warnings,
    )


class Outputs(NamedTuple):
    """The files to write, empty for none, and what they depend on."""

    completed: str
    pauses: str
    queues: str
    payload: int
    graph: Graph


def outputs(config: str) -> Outputs:
    values, _ = _read_config(config, [])
    graph = files.read(_topology_file(values["TOPOLOGY_FILE"], config, []))
    return Outputs(
        completed=values["FCT_OUTPUT_FILE"],
        pauses=values["PFC_OUTPUT_FILE"],
        queues=values["QLEN_MON_FILE"],
        payload=values["PACKET_PAYLOAD_SIZE"],
        graph=graph,
    )


def _logical_dims(path: str, warnings: list[str]) -> list[int]:
    keys = Keys(path, LOGICAL)
    warnings += keys.warnings
    texts = keys.texts("logical-dims")
    where = f'{path}: "logical-dims"'
    if not texts:
        raise ConfigError(where, 'missing; expected sizes of dimensions such as ["8", "2"]')
    sizes = [read_integer(text, where) for text in texts]
    for size in sizes:
        if size < 2:
            raise ConfigError(where, f"must be at least 2; got {size}")
    return sizes


def _words(path: str) -> Iterator[tuple[str, int]]:
    for line, row in enumerate(read_text(path).split("\n"), 1):
        for word in row.split():
            yield word, line


def _read_config(
    path: str, warnings: list[str]
) -> tuple[dict[str, Any], dict[str, dict[int, float]]]:
    values = {key: default for key, (_, default) in _KEYS.items()}
    maps: dict[str, dict[int, float]] = {key: {} for key in _MAPS}
    words = _words(path)
    known = [*_KEYS, *_MAPS, *_WITHOUT_EFFECT, "LINK_DOWN", "TRACE_OUTPUT_FILE"]

    def value(key: str) -> tuple[str, str]:
        found = next(words, None)
        if found is None:
            raise ConfigError(f"{path}: {key}", "expected a value, but the file ends")
        return found[0], f"{path}, line {found[1]}: {key}"

    for key, line in words:
        if key in _KEYS:
            values[key] = _KEYS[key][0](*value(key))
        elif key in _MAPS:
            for _ in range(_whole(*value(key))):
                rate = _bits(*value(key))
                maps[key][rate] = _MAPS[key](*value(key))
        elif key == "LINK_DOWN":
            at, *_ = [_whole(*value(key)) for _ in range(3)]
            if at > 0:
                problem = f"links that fail at a time are not read here; got {at}, expected 0"
                raise UnsupportedError(f"{path}, line {line}: LINK_DOWN: {problem}")
        elif key in _WITHOUT_EFFECT:
            value(key)
        elif key == "TRACE_OUTPUT_FILE":
            value(key)
            warnings.append(
                f"{path}, line {line}: {key}: not written, as its records of single packets are in "
                "a binary format of the fork's own; --json has packet_messages, packet_ports and "
                "packet_queues"
            )
        elif key.isupper() and "_" in key:
            hint = did_you_mean(key, known)
            warnings.append(
                f"{path}, line {line}: {key}: unknown key, ignored as ASTRA-sim does{hint}"
            )
    monitor = values["QLEN_MON_FILE"]
    if monitor and not paths.isdir(paths.dirname(monitor) or "."):
        values["QLEN_MON_FILE"] = ""
        warnings.append(
            f"{path}: QLEN_MON_FILE: {monitor} is not written, as there is no such folder; "
            "ASTRA-sim does not write it either"
        )
    return values, maps


def _check_modelled(values: dict[str, Any], path: str, warnings: list[str]) -> None:
    if values["CC_MODE"] not in SCHEMES:
        names = ", ".join(f"{mode} ({name})" for mode, name in SCHEMES.items())
        problem = expected_got(f"one of {names}", values["CC_MODE"])
        raise ConfigError(f"{path}: CC_MODE", problem)
    if not values["TOPOLOGY_FILE"]:
        raise ConfigError(f"{path}: TOPOLOGY_FILE", "missing; expected the path of a file")
    for key in ("RATE_AI", "RATE_HAI"):
        if values[key] is None:
            raise ConfigError(f"{path}: {key}", 'missing; expected a rate such as "50Mb/s"')
    if values["CC_MODE"] == 1 and not values["RP_TIMER"] > 0:
        raise ConfigError(f"{path}: RP_TIMER", "expected the us between two increases, got 0")
    zero = ("ERROR_RATE_PER_LINK", "L2_BACK_TO_ZERO", "NIC_TOTAL_PAUSE_TIME")
    for key in zero:
        if values[key] != 0:
            raise UnsupportedError(f"{path}: {key}: not modelled; expected 0, got {values[key]:g}")
    if values["L2_ACK_INTERVAL"] > values["PACKET_PAYLOAD_SIZE"]:
        raise UnsupportedError(
            f"{path}: L2_ACK_INTERVAL: ACKs of more than one packet are not modelled; expected at "
            f"most PACKET_PAYLOAD_SIZE, {values['PACKET_PAYLOAD_SIZE']}, got "
            f"{values['L2_ACK_INTERVAL']}"
        )
    if not values["USE_DYNAMIC_PFC_THRESHOLD"]:
        warnings.append(
            f"{path}: USE_DYNAMIC_PFC_THRESHOLD: has no effect, as in ASTRA-sim; thresholds move"
        )


def _topology_file(name: str, config: str, warnings: list[str]) -> str:
    beside = paths.join(paths.dirname(config), name)
    if paths.exists(name) or not paths.exists(beside):
        return paths.abspath(name)
    if paths.abspath(beside) != paths.abspath(name):
        warnings.append(
            f"{config}: TOPOLOGY_FILE: {name} is not in the folder in which the command runs, from "
            f"which ASTRA-sim starts; took {beside}"
        )
    return paths.abspath(beside)


def _check_hosts(graph: Graph, sizes: list[int], logical: str, path: str) -> None:
    ranks = int(np.prod(sizes))
    if ranks > graph.ranks:
        problem = f"has {ranks} NPUs, but {path} has {graph.ranks} hosts"
        raise ConfigError(f'{logical}: "logical-dims"', problem)
    for rank in range(ranks):
        if graph.name_of(rank) != f"node {rank}":
            problem = f"node {rank} is a switch, but NPU {rank} sends from it; number hosts first"
            raise ConfigError(path, problem)


def _options(
    values: dict[str, Any], maps: dict[str, dict[int, float]], graph: Graph, config: str
) -> dict[str, Any]:
    mode = values["CC_MODE"]
    window = "unlimited" if not values["HAS_WIN"] else "variable" if values["VAR_WIN"] else "static"
    options: dict[str, Any] = {
        "congestion_control": SCHEMES[mode],
        "semantics": "ns3_fork",
        "window": window,
        "payload": float(values["PACKET_PAYLOAD_SIZE"]),
        "buffer": float(values["BUFFER_SIZE"] << 20),
        "paces_at_rate": float(values["RATE_BOUND"] != 0),
        "acks_first": float(values["ACK_HIGH_PRIO"] != 0),
        "marks": float(values["ENABLE_QCN"] != 0),
        **_marks(maps, graph, config),
    }
    if values["PFC_OUTPUT_FILE"]:
        options["look"] = "changes"  # it has the moment of each
    if values["QLEN_MON_FILE"]:
        options |= {"sweep_every": _SWEEP_NS, "sweep_from": float(values["QLEN_MON_START"])}
    if values["GLOBAL_T"] == 1 or mode == 10:
        rtt_ns, bdp = _largest(graph, values["PACKET_PAYLOAD_SIZE"])
        if values["GLOBAL_T"] == 1:
            options |= {"base_rtt": float(rtt_ns), "window_bytes": float(bdp)}
        options |= {"max_rtt": float(rtt_ns)} if mode == 10 else {}
    return options | _of_scheme(values)


def _of_scheme(values: dict[str, Any]) -> dict[str, float]:
    additive, hyper = values["RATE_AI"], values["RATE_HAI"]
    hpcc = {
        "target_utilisation": values["U_TARGET"],
        "additive_steps": values["MI_THRESH"],
        "additive_increase": additive,
    }
    of_mode: dict[int, dict[str, float]] = {
        1: {
            "alpha_interval": values["ALPHA_RESUME_INTERVAL"] * 1e3,
            "decrease_interval": values["RATE_DECREASE_INTERVAL"] * 1e3,
            "increase_interval": values["RP_TIMER"] * 1e3,
            "gain": values["EWMA_GAIN"],
            "fast_recovery_steps": values["FAST_RECOVERY_TIMES"],
            "additive_increase": additive,
            "hyper_increase": hyper,
            "clamps_target": values["CLAMP_TARGET_RATE"],
        },
        3: {
            **hpcc,
            "fast_react": values["FAST_REACT"],
            "per_hop": values["MULTI_RATE"],
            "sample_feedback": values["SAMPLE_FEEDBACK"],
            "telemetry_units": values["INT_MULTI"],
        },
        7: {"additive_increase": additive, "hyper_increase": hyper},
        8: {"gain": values["EWMA_GAIN"], "additive_increase": values["DCTCP_RATE_AI"]},
        10: {
            **hpcc,
            "log_base": values["PINT_LOG_BASE"],
            "share_of_acks": values["PINT_PROB"],
        },
        12: {},
    }
    least = {} if values["CC_MODE"] == 12 else {"least_rate": values["MIN_RATE"]}
    found = of_mode[values["CC_MODE"]] | least
    return {name: float(value) for name, value in found.items()}


def _marks(maps: dict[str, dict[int, float]], graph: Graph, config: str) -> dict[str, Any]:
    links = graph.links
    of_switches = links.bytes_per_ns[links.start >= graph.ranks]
    for key, given in maps.items():
        for rate in np.unique(np.rint(of_switches * 8e9)).astype(np.int64).tolist():
            if rate not in given:
                problem = f"has no entry for {rate} bit/s, a rate of a switch of the topology"
                raise ConfigError(f"{config}: {key}", problem)
    options = {}
    for name, key, unit in (
        ("kmin", "KMIN_MAP", 1000.0),
        ("kmax", "KMAX_MAP", 1000.0),
        ("pmax", "PMAX_MAP", 1.0),
    ):
        pairs = sorted(maps[key].items())
        if pairs:
            options[name] = tuple((rate / 1e9, float(value) * unit) for rate, value in pairs)
    return options


def _largest(graph: Graph, payload: int) -> tuple[int, int]:
    if graph.ranks > _MOST_HOSTS_OF_ALL_PAIRS:
        raise UnsupportedError(
            f"GLOBAL_T 1 and CC_MODE 10 look at all pairs of at most {_MOST_HOSTS_OF_ALL_PAIRS} "
            f"hosts; the topology has {graph.ranks}"
        )
    most_rtt = most_bdp = 0
    ways = FirstWays(graph, payload)
    for host in range(graph.ranks):
        for pair in ways.pairs_from(host).values():
            most_rtt = max(most_rtt, pair.rtt_ns)
            most_bdp = max(most_bdp, pair.rtt_ns * pair.bits_per_s // 10**9 // 8)
    return most_rtt, most_bdp


class Pair(NamedTuple):
    rtt_ns: int
    bits_per_s: int


class FirstWays:
    def __init__(self, graph: Graph, payload: int) -> None:
        """`payload` is the bytes of a packet that a round trip sends over each link."""
        links = graph.links
        self._ranks = graph.ranks
        self._ends: list[int] = links.end.tolist()
        self._bits = np.rint(links.bytes_per_ns * 8e9).astype(np.int64).tolist()
        self._delays = np.rint(links.latency_ns).astype(np.int64).tolist()
        self._sending = [payload * 10**9 * 8 // rate for rate in self._bits]
        self._leaving: list[list[int]] = [[] for _ in range(graph.devices)]
        for link, start in enumerate(links.start.tolist()):
            self._leaving[start].append(link)
        for own in self._leaving:
            own.sort(key=lambda link: self._ends[link])

    def pairs_from(self, host: int) -> dict[int, Pair]:
        reached = {host: (0, 0, 2**63)}
        queue = [host]
        for device in queue:
            delay, sent, rate = reached[device]
            for link in self._leaving[device]:
                following = self._ends[link]
                if following not in reached:
                    narrowest = min(rate, self._bits[link])
                    sending = sent + self._sending[link]
                    reached[following] = delay + self._delays[link], sending, narrowest
                    if following >= self._ranks:
                        queue.append(following)
        return {
            device: Pair(2 * delay + sent, rate)
            for device, (delay, sent, rate) in reached.items()
            if device < self._ranks and device != host
        }
