"""The scenario as values, and what must hold for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    ChakraFiles,
    Collectives,
    Custom,
    Device,
    Dimension,
    RemoteMemory,
    Resources,
    Scenario,
    SharedBus,
    Topology,
    Traces,
)


def ring(**changes: Any) -> Dimension:
    fields: dict[str, Any] = {"kind": "ring", "size": 8, "bytes_per_ns": 50.0, "latency_ns": 500.0}
    return Dimension(**(fields | changes))


def scenario(**changes: Any) -> Scenario:
    fields: dict[str, Any] = {
        "workload": ChakraFiles(prefix="step"),
        "topology": Topology(dimensions=(ring(),)),
    }
    return Scenario(**(fields | changes))


def test_the_ranks_are_the_product_of_the_sizes() -> None:
    assert Topology(dimensions=(ring(size=4), ring(size=3), ring(size=2))).ranks == 24


def test_equal_scenarios_are_one_key() -> None:
    assert {scenario(): 1}[scenario()] == 1
    assert scenario() != scenario(network="store_and_forward")


def test_a_rank_reads_its_own_trace() -> None:
    assert ChakraFiles(prefix="traces/step").path(12) == "traces/step.12.et"


def test_a_changed_copy_is_checked_like_a_new_scenario() -> None:
    with pytest.raises(ConfigError, match="network: no network is named 'aware'"):
        scenario().replace(network="aware")


def test_reading_configuration_loads_neither_numpy_nor_the_core() -> None:
    code = (
        "import sys, yantra.scenario, yantra.astra_sim, yantra.astra_sim.flags;"
        "heavy = {'numpy', 'yantra._core', 'click', 'msgspec', 'yaml', 'dataclasses'};"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def topology(*dimensions: Dimension) -> Topology:
    return Topology(dimensions=dimensions)


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"semantics": "astra"},
        'semantics: expected one of yantra, astra-sim, astra-sim@mlsys26, got "astra"; did you '
        "mean 'astra-sim'?",
    ),
    (
        {"network": "store-and-forward"},
        "network: no network is named 'store-and-forward'; expected one of analytical, flow, "
        "ideal, noc, packet, store_and_forward, external; did you mean 'store_and_forward'?",
    ),
    ({"replay_only": 1}, "replay_only: expected true or false, got 1"),
    ({"local_memory_trace": ""}, 'local_memory_trace: expected a text, got ""'),
    ({"quirks": ["q"]}, 'quirks: expected a frozenset of names, got ["q"]'),
    ({"topology": topology()}, "cluster.topology: expected at least one dimension, got none"),
    (
        {"topology": Topology(dimensions=[ring()])},  # type: ignore[arg-type]
        "cluster.topology: expected a tuple of dimensions, got "
        "[Dimension(kind='ring', size=8, bytes_per_ns=50.0, latenc...",
    ),
    (
        {"topology": topology(ring(), ring(size=1))},
        "cluster.topology[1].size: must be at least 2; got 1",
    ),
    (
        {"topology": topology(ring(size=2.0))},
        "cluster.topology[0].size: expected a whole number, got 2.0",
    ),
    (
        {"topology": topology(ring(kind="torus"))},
        "cluster.topology[0].kind: no topology is named 'torus'; expected one of dragonfly, "
        "fully_connected, hypercube, mesh, ring, switch, torus_2d, two_level_tree; did you mean "
        "'torus_2d'?",
    ),
    (
        {"topology": topology(ring(), ring(kind="hypercube", size=6))},
        "cluster.topology[1].kind: hypercube needs a power of two, got 6",
    ),
    (
        {"topology": topology(ring(kind="two_level_tree3"))},
        "cluster.topology[0].kind: two_level_tree3 needs two or more leaves of 3 ranks each, got 8",
    ),
    (
        {"topology": topology(ring(kind=2))},
        "cluster.topology[0].kind: expected a text, got 2",
    ),
    (
        {"topology": topology(ring(bytes_per_ns=0.0))},
        "cluster.topology[0].bandwidth: must be above 0 GB/s; got 0 GB/s",
    ),
    (
        {"topology": topology(ring(latency_ns=-5))},
        "cluster.topology[0].latency: must be at least 0 ns; got -5 ns",
    ),
    (
        {"topology": topology(ring(latency_ns=float("nan")))},
        "cluster.topology[0].latency: expected a finite number, got NaN",
    ),
    (
        {"device": Device(compute="roofline")},
        "cluster.device.peak: must be above 0 FLOP/s; got 0 FLOP/s",
    ),
    (
        {"device": Device(memory_bytes_per_s=True)},
        "cluster.device.memory_bandwidth: expected a finite number, got true",
    ),
    (
        {"memory": RemoteMemory(kind="pool")},
        "cluster.memory.bandwidth: must be above 0 GB/s; got 0 GB/s",
    ),
    (
        {"memory": RemoteMemory(latency_ns=-1)},
        "cluster.memory.latency: must be at least 0 ns; got -1 ns",
    ),
    (
        {"memory": RemoteMemory(nodes=2)},
        "cluster.memory.nodes: only where nodes share a memory; the sharing of none is per rank",
    ),
    (
        {"memory": RemoteMemory(kind="per_node", bytes_per_ns=1.0, nodes=2)},
        "cluster.memory.ranks_per_node: must be at least 1; got 0",
    ),
    (
        {"memory": RemoteMemory(kind="per_node", bytes_per_ns=1.0, nodes=3, ranks_per_node=2)},
        "cluster.memory.nodes: 3 nodes of 2 ranks do not hold the 8 ranks of the cluster",
    ),
    ({"collectives": Collectives(chunks=0)}, "collectives.chunks: must be at least 1; got 0"),
    (
        {"collectives": Collectives(all_reduce=("ring", "ring"))},
        'collectives.all_reduce: expected one algorithm per dimension (1), got ["ring", "ring"]',
    ),
    (
        {"collectives": Collectives(all_reduce=("ring",)), "topology": topology(ring(), ring())},
        'collectives.all_reduce: expected one algorithm per dimension (2), got ["ring"]',
    ),
    (
        {"collectives": Collectives(all_reduce="ring")},  # type: ignore[arg-type]
        'collectives.all_reduce: expected a tuple of algorithm names, a Custom or None, got "ring"',
    ),
    (
        {"collectives": Collectives(all_gather=Custom(prefix=""))},
        'collectives.all_gather.custom: expected a text, got ""',
    ),
    (
        {"collectives": Collectives(custom_per_node=((1, 2),))},  # type: ignore[arg-type]
        "collectives.custom_per_node.1: expected a text, got 2",
    ),
    (
        {"collectives": Collectives(endpoint_delay_ns=-1)},
        "collectives.endpoint_delay: must be at least 0 ns; got -1 ns",
    ),
    (
        {
            "collectives": Collectives(
                shared_bus=SharedBus(l_ns=1, o_ns=1, g_ns=1, big_g_ns_per_byte=-0.5)
            )
        },
        "collectives.shared_bus.big_g: must be at least 0 ns/B; got -0.5 ns/B",
    ),
    (
        {"resources": Resources(communication="one_slot")},
        "resources.copy_engines: must be 0 with communication one_slot, where memory operations "
        "hold the slot; got 1",
    ),
    (
        {"resources": Resources(copy_engines=0)},
        "resources.copy_engines: must be at least 1; got 0",
    ),
    (
        {"workload": Traces(traces=(1, 2))},
        "workload.traces: expected one trace for each of the 8 ranks, got 2",
    ),
    (
        {"workload": "step"},
        "workload: expected a ChakraFiles, a Traces, a WorkloadFile, a Templates or a "
        'TrainingStep, got "step"',
    ),
    (
        {"workload": ChakraFiles(prefix="step", groups=((0, (1, 2)),))},
        "workload.groups: must be at least 1; got 0",
    ),
    (
        {"workload": ChakraFiles(prefix="step", groups=((2, (1,)), (1, (2,))))},
        "workload.groups.1: expected groups by ascending id; got it after 2",
    ),
    (
        {"workload": ChakraFiles(prefix="step", groups=((1, (0, 8)),))},
        "workload.groups.1: expected ranks from 0 to 7, got 8",
    ),
    (
        {"workload": ChakraFiles(prefix="step", groups=((1, (0, 3, 0)),))},
        "workload.groups.1: rank 0 is listed more than once",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[message for _, message in BAD])
def test_a_wrong_field_is_named_as_in_a_scenario_file(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        scenario(**changes)
    assert str(caught.value) == message


def test_what_astra_sim_leaves_out_is_allowed_in_its_semantics() -> None:
    made = scenario(
        semantics="astra-sim",
        topology=topology(ring(), ring()),
        device=Device(compute="roofline"),
        memory=RemoteMemory(kind="pool"),
        collectives=Collectives(all_reduce=("ring",)),
        resources=ASTRA_SIM_RESOURCES,
    )
    assert made.collectives.all_reduce == ("ring",)
