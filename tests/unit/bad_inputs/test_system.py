"""System files that ASTRA-sim refuses, crashes on or reads without definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError, UnsupportedError

TWO_RINGS = "topology: [Ring, Ring]\nnpus_count: [4, 4]\nbandwidth: [1, 1]\nlatency: [1, 1]"
ALGORITHMS = (
    "expected ring, direct[window], halvingDoubling, doubleBinaryTree, oneRing, oneDirect[window] "
    "or oneHalvingDoubling"
)

CASES: list[tuple[dict[str, Any] | str, str]] = [
    (
        "scheduling-policy: LIFO\nendpoint-delay: 10\nboost-mode: 0\n"
        "all-reduce-implementation: ring_halvingDoubling\nL: 0.5\n",
        "system.json: this is a system file of ASTRA-sim 1.0, which ASTRA-sim 2 does not read; "
        'write it as JSON:\n{"scheduling-policy": "LIFO", "endpoint-delay": 10, '
        '"all-reduce-implementation": ["ring", "halvingDoubling"], "L": 0.5}\n'
        "(docs/reference/astra-sim.md, Files of ASTRA-sim 1.0)",
    ),
    (
        {"peak-perf": -1, "roofline-enabled": 1},
        'system.json: "peak-perf": must be at least 0; got -1.0',
    ),
    ({"local-mem-bw": -1}, 'system.json: "local-mem-bw": must be at least 0; got -1.0'),
    (
        '{"scheduling-policy": "LIFO",',
        "system.json, line 1, column 30: not JSON: expecting property"
        " name enclosed in double quotes",
    ),
    ("[1]", "system.json: expected a JSON object, got [1]"),
    (
        {"scheduling-policy": None},
        'system.json: "scheduling-policy": missing; expected "LIFO", "FIFO" or "EXPLICIT"',
    ),
    (
        {"scheduling-policy": "SJF"},
        'system.json: "scheduling-policy": unknown name; expected "LIFO", "FIFO" or "EXPLICIT", '
        'got "SJF"',
    ),
    (
        {"scheduling-policy": "lifo"},
        'system.json: "scheduling-policy": unknown name; expected "LIFO", "FIFO" or "EXPLICIT", '
        "got \"lifo\"; did you mean 'LIFO'?",
    ),
    (
        {"scheduling-policy": 1},
        'system.json: "scheduling-policy": expected "LIFO", "FIFO" or "EXPLICIT", got 1',
    ),
    (
        {"collective-optimization": "fast"},
        'system.json: "collective-optimization": unknown name; expected "baseline" or '
        '"localBWAware", got "fast"',
    ),
    (
        {"preferred-dataset-splits": None},
        'system.json: "preferred-dataset-splits": missing; expected the number of chunks of a '
        "collective, such as 4",
    ),
    (
        {"preferred-dataset-splits": 0},
        'system.json: "preferred-dataset-splits": must be at least 1; got 0',
    ),
    (
        {"preferred-dataset-splits": 0.5},
        'system.json: "preferred-dataset-splits": must be at least 1; got 0.5',
    ),
    (
        {"preferred-dataset-splits": "4"},
        'system.json: "preferred-dataset-splits": expected a number, got "4"',
    ),
    (
        {"active-chunks-per-dimension": 0},
        'system.json: "active-chunks-per-dimension": must be at least 1; got 0',
    ),
    ({"endpoint-delay": -1}, 'system.json: "endpoint-delay": must be at least 0; got -1'),
    (
        {"endpoint-delay": 3000000000},
        'system.json: "endpoint-delay": does not fit an integer of ASTRA-sim; got 3000000000',
    ),
    ({"endpoint-delay": [10]}, 'system.json: "endpoint-delay": expected a number, got [10]'),
    (
        {"local-reduction-delay": -1},
        'system.json: "local-reduction-delay": must be at least 0; got -1',
    ),
    ({"local-mem-bw": True}, 'system.json: "local-mem-bw": expected a number, got true'),
    ({"local-mem-bw": -5}, 'system.json: "local-mem-bw": must be at least 0; got -5.0'),
    ({"peak-perf": "900"}, 'system.json: "peak-perf": expected a number, got "900"'),
    ({"model-shared-bus": "1"}, 'system.json: "model-shared-bus": expected a number, got "1"'),
    ({"G": 1e300}, 'system.json: "G": expected a 32-bit float, got 1e+300'),
    ({"L": -1}, 'system.json: "L": must be at least 0; got -1.0'),
    (
        {"local-mem-trace-filename": 7},
        'system.json: "local-mem-trace-filename": expected a text, got 7',
    ),
    (
        {"all-reduce-implementation": "ring"},
        'system.json: "all-reduce-implementation": expected a list of texts such as ["ring"], got '
        '"ring"',
    ),
    (
        {"all-reduce-implementation": ["bogus"]},
        f'system.json: "all-reduce-implementation": unknown algorithm; {ALGORITHMS}, got "bogus"',
    ),
    (
        {"all-to-all-implementation": ["Ring"]},
        f'system.json: "all-to-all-implementation": unknown algorithm; {ALGORITHMS}, got "Ring"; '
        "did you mean 'ring'?",
    ),
    (
        {"all-gather-implementation": ["ring", "ring"]},
        'system.json: "all-gather-implementation": names 2 algorithms; expected at most one per '
        "dimension of the network, which has 1",
    ),
    (
        {"all-gather-implementation": ["directX"]},
        'system.json: "all-gather-implementation": expected direct and a window, such as direct4, '
        'got "directX"',
    ),
    (
        {"all-gather-implementation": ["oneDirect0"]},
        'system.json: "all-gather-implementation": a window of 0 sends nothing; expected '
        'oneDirect1 or more, got "oneDirect0"',
    ),
    (
        {"all-gather-implementation-custom": ["a", "b"]},
        'system.json: "all-gather-implementation-custom": expected a list of exactly one trace '
        'prefix, got ["a", "b"]',
    ),
    (
        {"per-node-custom-implementation": "a\0b"},
        '"a\\u0000b": cannot be read: not a path',
    ),
    (
        {"per-node-custom-implementation": "none.yml"},
        "none.yml: cannot be read: No such file or directory",
    ),
]


@pytest.mark.parametrize(("system", "message"), CASES, ids=[text for _, text in CASES])
def test_a_bad_system_file_is_explained(
    read: Callable[..., Any], system: dict[str, Any] | str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(system)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"all-reduce-implementation": ["ring", "ring"]}, {"network": TWO_RINGS}),
        ({}, {"num_queues_per_dim": 2}),
        ({"inter-dimension-scheduling": "themis"}, {"scheduling_keys": "honour"}),
    ],
    ids=["dimensions", "queues", "themis"],
)
def test_the_shape_of_an_all_reduce_is_needed_where_it_matters(
    read: Callable[..., Any], changes: dict[str, Any], options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError) as caught:
        read({"collective-optimization": None} | changes, **options)
    assert str(caught.value) == (
        'system.json: "collective-optimization": missing; expected "baseline" or "localBWAware"'
    )


NODES: list[tuple[str, str]] = [
    ("[a]", 'nodes.yml: expected a mapping of node id to trace prefix, got ["a"]'),
    ("x: alg", 'nodes.yml: "x": expected an integer, got "x"'),
    ("3: [alg]", 'nodes.yml: "3": expected a trace prefix, got ["alg"]'),
]


@pytest.mark.parametrize(("nodes", "message"), NODES, ids=[text for _, text in NODES])
def test_a_bad_file_of_custom_nodes_is_explained(
    read: Callable[..., Any], nodes: str, message: str
) -> None:
    Path("nodes.yml").write_text(nodes)
    with pytest.raises(ConfigError) as caught:
        read({"per-node-custom-implementation": "nodes.yml"})
    assert str(caught.value) == message


SCHEDULING: list[tuple[dict[str, Any], str]] = [
    (
        {"intra-dimension-scheduling": "smallest"},
        'system.json: "intra-dimension-scheduling": unknown name; expected "FIFO", "RG", '
        '"smallestFirst", "SCF" or "lessRemainingPhaseFirst", got "smallest"; did you mean '
        "'smallestFirst'?",
    ),
    (
        {"inter-dimension-scheduling": 3},
        'system.json: "inter-dimension-scheduling": expected "ascending", "baseline", '
        '"roundRobin", "offlineGreedy", "themis", "offlineGreedyFlex" or "themisFlex", got 3',
    ),
]


@pytest.mark.parametrize(("system", "message"), SCHEDULING, ids=[text for _, text in SCHEDULING])
def test_a_bad_scheduling_key_is_explained_when_honoured(
    read: Callable[..., Any], system: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(system, scheduling_keys="honour")
    assert str(caught.value) == message


def test_online_greedy_scheduling_has_no_model(read: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read({"inter-dimension-scheduling": "onlineGreedy"}, scheduling_keys="honour")
    assert str(caught.value) == (
        'system.json: "inter-dimension-scheduling": onlineGreedy is not modelled; use offlineGreedy'
    )


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"num_queues_per_dim": 0}, "num-queues-per-dim: must be at least 1; got 0"),
    ({"injection_scale": -1.0}, "injection-scale: must be at least 0; got -1.0"),
    ({"injection_scale": float("nan")}, "injection-scale: must be at least 0; got nan"),
    (
        {"injection_scale": 1e9},
        'system.json: "endpoint-delay": times the injection scale is beyond 2^31 - 1 ns; got '
        "10000000000",
    ),
    (
        {"network_backend": "ns3"},
        'network-backend: expected congestion-unaware or congestion-aware, got "ns3"',
    ),
    ({"scheduling_keys": "keep"}, 'scheduling-keys: expected ignore or honour, got "keep"'),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[text for _, text in OPTIONS])
def test_a_bad_option_is_explained(
    read: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(**options)
    assert str(caught.value) == message
