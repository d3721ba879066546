"""What ASTRA-sim's files become: its defaults, conversions and silent habits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    ChakraFiles,
    Collectives,
    Custom,
    Device,
    Dimension,
    RemoteMemory,
    Scenario,
    SharedBus,
    Topology,
)

Read = Callable[..., tuple[Scenario, list[str]]]


def test_the_usual_files_become_a_scenario(read: Read) -> None:
    scenario, warnings = read()
    assert warnings == []
    assert scenario == Scenario(
        workload=ChakraFiles(prefix="workload"),
        topology=Topology(
            dimensions=(Dimension(kind="ring", size=8, bytes_per_ns=53.6870912, latency_ns=500.0),)
        ),
        device=Device(memory_bytes_per_s=50e9),
        collectives=Collectives(
            all_reduce=("ring",),
            reduce_scatter=("ring",),
            all_gather=("ring",),
            all_to_all=("ring",),
            chunks=4,
        ),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )


# ------------------------------------------------------------------------------ network


@pytest.mark.parametrize(
    ("gb_per_s", "bytes_per_ns"),
    [
        ("50", 53.6870912),
        ("400.0", 429.4967296),
        ("25", 26.8435456),
        ("0.1", 0.1073741824),
        (".5e2", 53.6870912),
    ],
)
def test_a_gigabyte_of_a_link_is_two_to_the_thirty_bytes(
    read: Read, gb_per_s: str, bytes_per_ns: float
) -> None:
    network = f"topology: [Ring]\nnpus_count: [4]\nbandwidth: [{gb_per_s}]\nlatency: [0]"
    assert read(network=network)[0].topology.dimensions[0].bytes_per_ns == bytes_per_ns


def test_block_lists_and_several_dimensions_are_read_innermost_first(read: Read) -> None:
    network = """
topology: [Ring, "Switch"]
npus_count:
  - 4
  - 0x8
bandwidth: [50, 25]
latency:
  - 500
  - 0.5
"""
    scenario, _ = read({"collective-optimization": "baseline"}, network=network)
    assert scenario.topology.dimensions == (
        Dimension(kind="ring", size=4, bytes_per_ns=53.6870912, latency_ns=500.0),
        Dimension(kind="switch", size=8, bytes_per_ns=26.8435456, latency_ns=0.5),
    )
    assert scenario.topology.ranks == 32


def test_an_integer_with_a_leading_zero_is_octal(read: Read) -> None:
    network = "topology: [Ring]\nnpus_count: [010]\nbandwidth: [50]\nlatency: [0]"
    assert read(network=network)[0].topology.ranks == 8


def test_a_ring_of_two_runs_without_congestion(read: Read) -> None:
    network = "topology: [Ring]\nnpus_count: [2]\nbandwidth: [50]\nlatency: [0]"
    assert read(network=network)[0].topology.ranks == 2


def test_the_backend_is_chosen_by_name(read: Read) -> None:
    assert read(network_backend="congestion-aware")[0].network == "store_and_forward"


# ------------------------------------------------------------------------------- system


@pytest.mark.parametrize(
    ("value", "scale", "delay_ns"),
    [
        (10, 1.0, 10),
        (10, 2.5, 25),
        (10, 0.25, 2),
        (10.9, 1.0, 10),
        (1000, 0.001, 1),
        (None, 2.5, 10),
        (0, 1.0, 0),
    ],
)
def test_the_injection_scale_multiplies_an_endpoint_delay_that_is_given(
    read: Read, value: float | None, scale: float, delay_ns: int
) -> None:
    scenario, _ = read({"endpoint-delay": value}, injection_scale=scale)
    assert scenario.collectives.endpoint_delay_ns == delay_ns


def test_missing_keys_take_the_defaults_of_astra_sim(read: Read) -> None:
    scenario, warnings = read(
        '{"scheduling-policy": "FIFO", "preferred-dataset-splits": 1, '
        '"all-reduce-implementation": ["direct"]}'
    )
    assert warnings == []
    assert scenario.device == Device()
    assert scenario.collectives == Collectives(
        all_reduce=("direct",), all_reduce_shape="baseline", chunks=1, priority="fifo"
    )


def test_without_collectives_their_keys_may_be_absent(read: Read) -> None:
    scenario, warnings = read("{}")
    assert warnings == []
    assert scenario.collectives == Collectives(all_reduce_shape="baseline", chunks=1)


def test_the_roofline_takes_powers_of_ten(read: Read) -> None:
    scenario, _ = read({"roofline-enabled": 1, "peak-perf": 312.5, "local-mem-bw": 3350.5})
    assert scenario.device == Device(
        peak_flops=312.5e12, memory_bytes_per_s=3350.5e9, compute="roofline"
    )


@pytest.mark.parametrize("value", ["1", "2.5", "-1", "true"])
def test_a_switch_is_on_if_it_is_a_number_other_than_zero(read: Read, value: str) -> None:
    scenario, warnings = read(f'{{"replay-only": {value}}}')
    assert scenario.replay_only
    assert warnings == []


@pytest.mark.parametrize("value", ["false", '"0"', "null", "[]"])
def test_a_switch_that_is_no_number_is_on_with_a_warning(read: Read, value: str) -> None:
    scenario, warnings = read(f'{{"replay-only": {value}}}')
    assert scenario.replay_only
    problem = f"{value} counts as on, as in ASTRA-sim; write 0 or 1"
    assert warnings == [f'system.json: "replay-only": {problem}']


@pytest.mark.parametrize("value", [0, 0.0, -0.0])
def test_a_switch_of_zero_is_off(read: Read, value: float) -> None:
    scenario, _ = read({"replay-only": value, "trace-enabled": value, "track-local-mem": value})
    assert not (scenario.replay_only or scenario.trace_nodes or scenario.track_local_memory)


def test_the_shared_bus_has_32_bit_parameters_cut_to_ticks(read: Read) -> None:
    scenario, _ = read({"model-shared-bus": 1, "L": 50.9, "o": 16777217, "g": True, "G": 0.01})
    assert scenario.collectives.shared_bus == SharedBus(
        l_ns=50, o_ns=16777216, g_ns=1, big_g_ns_per_byte=0.009999999776482582
    )


def test_the_shared_bus_is_off_unless_its_switch_is_one(read: Read) -> None:
    for value in (None, 0, 2, False):
        scenario, _ = read({"model-shared-bus": value, "L": 50})
        assert scenario.collectives.shared_bus is None


def test_options_of_the_command_line_reach_the_collectives(read: Read) -> None:
    collectives = read(num_queues_per_dim=2, rendezvous=True)[0].collectives
    assert (collectives.queues_per_dimension, collectives.rendezvous) == (2, True)


def test_what_is_logged_and_tracked_is_kept(read: Read) -> None:
    scenario, _ = read(
        {"trace-enabled": 1, "track-local-mem": 1, "local-mem-trace-filename": "memory/trace"}
    )
    assert scenario.trace_nodes and scenario.track_local_memory
    assert scenario.local_memory_trace == "memory/trace"


# --------------------------------------------------------------------------- algorithms

TWO_RINGS = "topology: [Ring, Ring]\nnpus_count: [4, 4]\nbandwidth: [50, 50]\nlatency: [1, 1]"


def all_reduce(read: Read, names: list[str], network: str = TWO_RINGS) -> tuple[object, list[str]]:
    rings = ["ring", "ring"]
    others = {f"{kind}-implementation": rings for kind in ("all-gather", "all-to-all")}
    system = {"all-reduce-implementation": names, "reduce-scatter-implementation": rings, **others}
    scenario, warnings = read(system, network=network)
    return scenario.collectives.all_reduce, warnings


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("direct4", "direct4"),
        ("direct 4", "direct4"),
        ("direct4x", "direct4"),
        ("direct123456", "direct12345"),
        ("direct-1", "direct"),
        ("oneDirect+2", "oneDirect2"),
    ],
)
def test_a_window_is_read_as_stoi_reads_five_characters(read: Read, name: str, plain: str) -> None:
    algorithms, warnings = all_reduce(read, ["ring", name])
    assert algorithms == ("ring", plain)
    problem = f"'{name}' is read as '{plain}', as in ASTRA-sim"
    expected = [] if name == plain else [f'system.json: "all-reduce-implementation": {problem}']
    assert warnings == expected


def test_a_short_list_covers_the_first_dimensions(read: Read) -> None:
    assert all_reduce(read, ["ring"]) == (
        ("ring",),
        [
            'system.json: "all-reduce-implementation": names 1 of 2 dimensions; the collective '
            "covers only those, as in ASTRA-sim"
        ],
    )


def test_an_algorithm_over_all_ranks_ends_the_list(read: Read) -> None:
    assert all_reduce(read, ["oneRing"]) == (("oneRing",), [])
    assert all_reduce(read, ["oneRing", "ring"]) == (
        ("oneRing", "ring"),
        [
            "system.json: \"all-reduce-implementation\": 'oneRing' covers all ranks, so the names "
            "after it are ignored, as in ASTRA-sim"
        ],
    )


def test_an_empty_list_is_none_at_all(read: Read) -> None:
    assert read({"all-reduce-implementation": []})[0].collectives.all_reduce is None


def test_custom_collectives_come_before_native_ones(read: Read) -> None:
    Path("nodes.yml").write_text("3: alg/three\n0x10: alg/sixteen\n")
    scenario, warnings = read(
        {
            "all-reduce-implementation-custom": ["alg/reduce"],
            "per-node-custom-implementation": "nodes.yml",
            "preferred-dataset-splits": 1,
        }
    )
    assert warnings == []
    assert scenario.collectives.all_reduce == Custom(prefix="alg/reduce", instead_of=("ring",))
    assert scenario.collectives.all_gather == ("ring",)
    assert scenario.collectives.custom_per_node == ((3, "alg/three"), (16, "alg/sixteen"))


def test_a_list_that_traces_replace_is_not_warned_of(read: Read) -> None:
    network = "topology: [Ring, Ring]\nnpus_count: [2, 4]\nbandwidth: [1, 1]\nlatency: [0, 0]"
    system = {f"{kind}-implementation": ["ring", "ring"] for kind in ("all-reduce", "all-to-all")}
    system |= {"all-gather-implementation": ["ring"], "reduce-scatter-implementation": ["ring"]}
    replaced = {"all-gather-implementation-custom": ["alg"], "preferred-dataset-splits": 1}
    scenario, warnings = read(system | replaced, network=network)
    assert scenario.collectives.all_gather == Custom(prefix="alg", instead_of=("ring",))
    assert [text for text in warnings if "all-gather" in text] == []
    assert [text for text in warnings if "reduce-scatter" in text] == [
        'system.json: "reduce-scatter-implementation": names 1 of 2 dimensions; the collective '
        "covers only those, as in ASTRA-sim"
    ]


def test_paths_inside_files_start_from_the_directory(read: Read, tmp_path: Path) -> None:
    Path("nodes.yml").write_text("3: alg/three")
    scenario, _ = read(
        {
            "all-gather-implementation-custom": ["/alg"],
            "per-node-custom-implementation": "nodes.yml",
        },
        directory=tmp_path,
    )
    assert scenario.collectives.all_gather == Custom(prefix="/alg", instead_of=("ring",))
    assert scenario.collectives.custom_per_node == ((3, str(tmp_path / "alg/three")),)
    assert scenario.workload == ChakraFiles(prefix=str(tmp_path / "workload"))


# --------------------------------------------------------------------- scheduling of 1.0


@pytest.mark.parametrize(
    ("intra", "inter", "read_as"),
    [
        (None, None, ("fifo", "ascending")),
        ("FIFO", "baseline", ("fifo", "ascending")),
        ("RG", "roundRobin", ("rg", "round_robin")),
        ("smallestFirst", "offlineGreedy", ("smallest_first", "themis")),
        ("SCF", "themis", ("smallest_first", "themis")),
        ("lessRemainingPhaseFirst", "themisFlex", ("less_remaining_phase_first", "themis_flex")),
        ("FIFO", "offlineGreedyFlex", ("fifo", "themis_flex")),
    ],
)
def test_scheduling_keys_are_honoured_on_request(
    read: Read, intra: str | None, inter: str | None, read_as: tuple[str, str]
) -> None:
    system = {"intra-dimension-scheduling": intra, "inter-dimension-scheduling": inter}
    scenario, warnings = read(system, scheduling_keys="honour")
    assert warnings == []
    collectives = scenario.collectives
    assert (collectives.intra_dimension, collectives.inter_dimension) == read_as


def test_scheduling_keys_have_no_effect_by_default(read: Read) -> None:
    system = {"intra-dimension-scheduling": "SCF", "inter-dimension-scheduling": "onlineGreedy"}
    scenario, warnings = read(system)
    assert scenario.collectives == read()[0].collectives
    advice = "(honour it with --scheduling-keys=honour)"
    assert warnings == [
        'system.json: "intra-dimension-scheduling": has no effect in ASTRA-sim 2; FIFO is used '
        + advice,
        'system.json: "inter-dimension-scheduling": has no effect in ASTRA-sim 2; ascending is '
        "used " + advice,
    ]


def test_scheduling_keys_that_ask_for_what_happens_anyway_are_not_warned_of(read: Read) -> None:
    system = {"intra-dimension-scheduling": "FIFO", "inter-dimension-scheduling": "baseline"}
    assert read(system)[1] == []


# ------------------------------------------------------------------------ memory, groups


def test_remote_memory_takes_whole_decimal_gigabytes(read: Read) -> None:
    memory = '{"memory-type": "MEMORY_POOL", "remote-mem-latency": 200.9, "remote-mem-bw": 100}'
    scenario, warnings = read(memory=memory)
    assert scenario.memory == RemoteMemory(kind="pool", latency_ns=200, bytes_per_ns=100.0)
    assert warnings == ['memory.json: "remote-mem-latency": 200.9 is cut to 200, as in ASTRA-sim']


def test_memory_shared_by_the_ranks_of_a_node(read: Read) -> None:
    memory = (
        '{"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-bw": 1, "num-nodes": 3, '
        '"num-npus-per-node": 4}'
    )
    assert read(memory=memory)[0].memory == RemoteMemory(
        kind="per_node", bytes_per_ns=1.0, nodes=3, ranks_per_node=4
    )


def test_memory_without_bandwidth_charges_the_latency_only(read: Read) -> None:
    scenario, warnings = read(memory='{"memory-type": "PER_NPU_MEMORY_EXPANSION"}')
    assert scenario.memory == RemoteMemory(kind="per_npu")
    assert warnings == [
        'memory.json: "remote-mem-bw": absent or 0: only the latency is charged, as in ASTRA-sim'
    ]


def test_groups_keep_the_order_of_their_ranks(read: Read) -> None:
    scenario, _ = read(groups='{"10": [3, 1, 2], "2": [7]}')
    assert scenario.workload.groups == ((2, (7,)), (10, (3, 1, 2)))


def test_a_path_with_empty_in_it_means_no_groups(read: Read) -> None:
    scenario, warnings = read(groups="not JSON", groups_path="nonempty.json")
    assert scenario == read()[0] == read(groups="not JSON", groups_path="empty")[0]
    assert warnings == [
        "comm-group-configuration: nonempty.json: contains 'empty', so no groups are read, as in "
        "ASTRA-sim; rename the file"
    ]


# ----------------------------------------------------------------------------- warnings

WARNED: list[tuple[dict[str, Any], str]] = [
    (
        {"system": {"endpoint-delya": 5}},
        'system.json: "endpoint-delya": unknown key, ignored as ASTRA-sim does; did you mean '
        "'endpoint-delay'?",
    ),
    ({"system": {"boost-mode": 1}}, 'system.json: "boost-mode": has no effect in ASTRA-sim 2'),
    (
        {"system": {"active-chunks-per-dimension": True}},
        'system.json: "active-chunks-per-dimension": true counts as 1, as in ASTRA-sim',
    ),
    (
        {"system": {"preferred-dataset-splits": 4.5}},
        'system.json: "preferred-dataset-splits": 4.5 is cut to 4, as in ASTRA-sim',
    ),
    (
        {"system": {"roofline-enabled": 1}},
        'system.json: "peak-perf": absent or 0 with the roofline on: kernels take 0 ns, as in '
        "ASTRA-sim",
    ),
    (
        {"system": {"model-shared-bus": 2}},
        'system.json: "model-shared-bus": 2 counts as off, as in ASTRA-sim; write 0 or 1',
    ),
    (
        {"system": {"all-gather-implementation-custom": ["alg"]}},
        'system.json: "preferred-dataset-splits": a collective from traces completes in ASTRA-sim '
        "only with 1; got 4",
    ),
    (
        {"system": {"endpoint-delay": None}, "injection_scale": 2.0},
        'system.json: "endpoint-delay": absent, so the injection scale has no effect, as in '
        "ASTRA-sim",
    ),
    (
        {"network": "topology: [Ring]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\nlatancy: 2"},
        "network.yml: \"latancy\": unknown key, ignored as ASTRA-sim does; did you mean 'latency'?",
    ),
    (
        {"memory": '{"memory-type": "NO_MEMORY_EXPANSION", "memory-typ": 1}'},
        'memory.json: "memory-typ": unknown key, ignored as ASTRA-sim does; did you mean '
        "'memory-type'?",
    ),
    (
        {"groups": '{"1": [0], "1": [1]}'},
        'groups.json: "1": given twice; the last value counts',
    ),
    ({"comm_scale": 2.0}, "comm-scale: has no effect in ASTRA-sim 2; got 2.0"),
    ({"compute_scale": 0.5}, "compute-scale: has no effect in ASTRA-sim 2; got 0.5"),
]


@pytest.mark.parametrize(("inputs", "warning"), WARNED, ids=[text for _, text in WARNED])
def test_what_astra_sim_ignores_or_bends_is_warned_of(
    read: Read, inputs: dict[str, Any], warning: str
) -> None:
    assert read(**inputs)[1] == [warning]
