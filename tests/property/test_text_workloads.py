"""Laws of text workloads: the graph is the loop of its policy, and the bytes are the table's.
tests/oracles/text_loops.py has the loops a second time, as a clock.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles.text_loops import TYPES, dimensions, finish_time, graph_finish_time
from yantra.base.errors import YantraError
from yantra.chakra import Node, NodeType, Trace
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces
from yantra.workloads.importers.layer_text import Layer, Phase, Workload, convert_upstream, parse
from yantra.workloads.importers.layer_text.loops import Settings, not_issued, trace
from yantra.workloads.importers.layer_text.split import Split
from yantra.workloads.importers.layer_text.workload import LAYER_POLICIES, POLICIES

PHASES = st.builds(
    Phase, st.integers(0, 50), st.sampled_from(sorted(TYPES)), st.sampled_from([0, 1, 7, 64])
)


@st.composite
def workloads(draw: st.DrawFn, policy: str | None = None, ranks: int = 8) -> Workload:
    policy = policy or draw(st.sampled_from(sorted(POLICIES)))
    own = st.sampled_from(LAYER_POLICIES) if policy == "HYBRID_CUSTOMIZED" else st.none()
    layer = st.builds(Layer, st.just("layer"), PHASES, PHASES, PHASES, st.integers(0, 9), own)
    few = 2 if "DLRM" in policy else 1
    layers = draw(st.lists(layer, min_size=few, max_size=6))
    layers = [item._replace(name=f"l{number}") for number, item in enumerate(layers)]
    workload = Workload("w", "", policy, tuple(layers))
    if "DLRM" in policy:
        return workload._replace(last_bottom_layer=draw(st.integers(0, len(layers) - 2)))
    if "TRANSFORMER" in policy:
        sizes = [size for size in range(1, ranks + 1) if ranks % size == 0]
        workload = workload._replace(model_parallel_ranks=draw(st.sampled_from(sizes)))
    if policy.endswith("BCKWD"):
        cuts = sorted(draw(st.sets(st.integers(0, len(layers) - 1))))
        pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
        return workload._replace(
            checkpoints=tuple(a for a, _ in pairs), initiators=tuple(b for _, b in pairs)
        )
    return workload


def text_of(workload: Workload) -> str:
    words = [workload.policy]
    if workload.last_bottom_layer is not None:
        words.append(str(workload.last_bottom_layer))
    if workload.model_parallel_ranks is not None:
        words += ["model_parallel_NPU_group:", str(workload.model_parallel_ranks)]
    if workload.policy.endswith("BCKWD"):
        for label, layers in (
            ("checkpoints:", workload.checkpoints),
            ("checkpoint_initiates:", workload.initiators),
        ):
            words += [label, str(len(layers)), *map(str, layers)]
    lines = ["\t".join(words), str(len(workload.layers))]
    for layer in workload.layers:
        phases = (layer.forward, layer.input_gradient, layer.weight_gradient)
        columns = [layer.name, "-1", *(str(word) for phase in phases for word in phase)]
        lines.append("\t".join([*columns, str(layer.update), *filter(None, [layer.policy])]))
    return "\n".join(lines) + "\n"


def cost(kind: int, size: int) -> int:
    return 3 * size + kind + 1


def dependents(nodes: Trace) -> dict[int, set[int]]:
    known: dict[int, set[int]] = {}
    for node in nodes:
        known[node.id] = set(node.data_deps).union(*(known[parent] for parent in node.data_deps))
    return known


@given(workloads())
def test_a_workload_reads_back_as_it_was_written(workload: Workload) -> None:
    text = text_of(workload)
    for spelled in (text, text.replace("\n", "\r\n"), text.replace("\t", "  "), text + "\n \n"):
        assert parse(spelled, "w") == workload._replace(text=spelled)


@given(workloads(), st.sampled_from([(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8)]), st.booleans())
def test_the_graph_takes_as_long_as_the_loop(
    workload: Workload, dims: tuple[int, ...], blocking: bool
) -> None:
    group = workload.model_parallel_ranks
    if group and group not in {prod(dims[:count]) for count in range(len(dims) + 1)}:
        dims = (2, 2, 2)
    for passes in (1, 3):
        settings = Settings(passes, blocking_gradients=blocking)
        graph = trace(workload, Split(workload, 8, dims), 0, settings)
        expected = finish_time(workload, dims, passes, cost, blocking)
        assert graph_finish_time(graph, cost) == expected


Moved = Counter[tuple[str, int]]


def moved_by(graph: Trace) -> Moved:
    found: Moved = Counter()
    for node in graph:
        if node.type is NodeType.COMM_COLL:
            layer, name = node.name.removeprefix("COMM_COLL_NODE_").split("_", 1)
            found[f"{layer} {name.rsplit('_', 1)[0]}", int(str(node["comm_size"]))] += 1
    return found


def in_the_table(workload: Workload, *, issued_only: bool) -> Moved:
    found: Moved = Counter()
    sizes = (2, 2, 2)
    policy = workload.policy
    for number, layer in enumerate(workload.layers):
        own, group = layer.policy or policy, workload.model_parallel_ranks
        embedding = "DLRM" in policy and number == 0
        model = dimensions("MODEL" if embedding else own, "model", sizes, group)
        data = dimensions("DATA" if embedding else own, "data", sizes, group)
        backward = policy not in ("MICRO", "DISTRIBUTED_INFERENCE")
        issued = {
            "FWD": model and (not embedding or layer.forward.communication == "ALLTOALL"),
            "BWD_IG": backward and model and (number or embedding or "TRANSFORMER" in policy),
            "BWD_WG": policy not in ("MODEL", "DISTRIBUTED_INFERENCE") and data,
        }
        for name, phase in phases_of(layer):
            if phase.size and (issued[name] or not issued_only):
                found[f"l{number} {name}", phase.size] += len(TYPES[phase.communication])
        for start, end in zip(workload.checkpoints, workload.initiators, strict=True):
            if start <= number < end and layer.forward.size and model and issued_only:
                times = len(TYPES[layer.forward.communication])
                found[f"l{number} FWD_IN_BCKWD", layer.forward.size] += times
    return +found


def phases_of(layer: Layer) -> list[tuple[str, Phase]]:
    phases = (layer.forward, layer.input_gradient, layer.weight_gradient)
    return list(zip(("FWD", "BWD_IG", "BWD_WG"), phases, strict=True))


@given(workloads())
def test_a_pass_moves_the_bytes_of_the_table(workload: Workload) -> None:
    split = Split(workload, 8, (2, 2, 2))
    moved = moved_by(trace(workload, split, 0, Settings()))
    assert moved == in_the_table(workload, issued_only=True)
    told = " ".join(not_issued(workload, split))
    missing = in_the_table(workload, issued_only=False) - moved
    for name, words in (("FWD", "forward"), ("BWD_IG", "input-"), ("BWD_WG", "weight-")):
        layers = {key.split()[0] for key, _ in missing if key.endswith(name)}
        if name == "BWD_IG":
            layers -= {"l0"}
        assert (f"the {words}" in told) == bool(layers)


@given(workloads(), st.integers(1, 3))
def test_passes_follow_each_other(workload: Workload, passes: int) -> None:
    graph = trace(workload, Split(workload, 8, (4, 2)), 0, Settings(passes))
    assert [node.id for node in graph] == list(range(len(graph)))
    computed = [node for node in graph if node.type is NodeType.COMP and not node["is_cpu_op"]]
    known = dependents(graph)
    for before, after in pairwise(computed):
        assert before.id in known[after.id]
    if workload.policy == "MICRO":
        assert not computed


@given(workloads(), st.sampled_from([1, 2, 4, 8]))
def test_groups_and_dimensions_name_the_same_ranks(workload: Workload, inner: int) -> None:
    dims = (inner, 8 // inner)
    if workload.model_parallel_ranks is not None:
        workload = workload._replace(model_parallel_ranks=inner)
    plain = Split(workload, 8, dims)
    grouped = Split(workload, 8, dims, as_groups=True)
    members = dict(grouped.groups)
    assert not plain.groups
    for rank in range(8):
        pairs = zip(
            trace(workload, plain, rank, Settings()),
            trace(workload, grouped, rank, Settings()),
            strict=True,
        )
        for by_dims, by_groups in pairs:
            if by_dims.type is NodeType.COMM_COLL:
                assert ranks_of(by_dims, rank, dims, members) == ranks_of(
                    by_groups, rank, dims, members
                )


def ranks_of(
    node: Node, rank: int, dims: tuple[int, ...], groups: dict[int, tuple[int, ...]]
) -> set[int]:
    if node.get("pg_name"):
        found = set(groups[int(str(node["pg_name"]))])
        assert rank in found
        return found
    mask = node["involved_dim"]
    assert isinstance(mask, tuple) and len(mask) == len(dims)
    inner, outer = dims
    return {
        other
        for other in range(inner * outer)
        if (mask[0] or other % inner == rank % inner)
        and (mask[1] or other // inner == rank // inner)
    }


@given(workloads("MODEL"))
def test_model_parallel_layers_exchange_no_weight_gradients(workload: Workload) -> None:
    for node in trace(workload, Split(workload, 8, (4, 2)), 0, Settings(2)):
        assert "BWD_WG" not in node.name or node.type is NodeType.COMP


@given(workloads("DATA"))
def test_data_parallel_layers_exchange_nothing_else(workload: Workload) -> None:
    for node in trace(workload, Split(workload, 8, (4, 2)), 0, Settings(2)):
        assert "BWD_WG" in node.name or node.type is NodeType.COMP


@given(workloads(), st.sampled_from([1, 999, 1000, 1001, 3429]))
def test_nanoseconds_add_up_to_the_nearest_microsecond(workload: Workload, factor: int) -> None:
    def longer(phase: Phase) -> Phase:
        return phase._replace(time=phase.time * factor)

    layers = tuple(
        layer._replace(
            forward=longer(layer.forward),
            input_gradient=longer(layer.input_gradient),
            weight_gradient=longer(layer.weight_gradient),
        )
        for layer in workload.layers
    )
    workload = workload._replace(layers=layers)
    graph = trace(workload, Split(workload, 8, (4, 2)), 0, Settings(2, time_unit="ns"))
    kernels = [node for node in graph if node.type is NodeType.COMP and not node["is_cpu_op"]]
    total_ns = sum(int(str(node["duration_ns"])) for node in kernels)
    assert sum(node.duration_micros for node in kernels) == (total_ns + 500) // 1000


def simulated(graph: Trace) -> int:
    rings = tuple(Dimension(kind="ring", size=n, bytes_per_ns=2.0, latency_ns=10.0) for n in (4, 2))
    every = ("ring", "ring")
    scenario = Scenario(
        workload=Traces(traces=(graph,) * 8),
        topology=Topology(dimensions=rings),
        collectives=Collectives(
            all_reduce=every, all_gather=every, all_to_all=every, reduce_scatter=every
        ),
    )
    finish: list[int] = run_native(compile(scenario)).finish.tolist()
    return max(finish)


@settings(max_examples=25)
@given(workloads("DISTRIBUTED_INFERENCE"), st.integers(1, 3))
def test_a_chain_takes_the_sum_of_its_parts(workload: Workload, passes: int) -> None:
    graph = trace(workload, Split(workload, 8, (4, 2)), 0, Settings(passes, updates="none"))
    ticks = 0
    for names in Counter(tuple(sorted(node.data_deps)) for node in graph).values():
        assume(names == 1)  # two collectives at once take turns
    for node in graph:
        alone = Node(0, node.name, node.type, node.duration_micros, attributes=node.attributes)
        ticks += simulated(Trace([alone]))
    assert simulated(graph) == ticks


@pytest.mark.parametrize("reader", ["default", "upstream"])
@given(st.data())
def test_changed_texts_are_read_or_refused(reader: str, data: st.DataObject) -> None:
    text = text_of(data.draw(workloads()))
    words = st.sampled_from(
        [
            "",
            "\x00",
            "-1",
            "9" * 40,
            "NONE",
            "DATA",
            "é",
            "\r",
            "\n",
            "1e9",
            "١",
            "ep:",
            "\x1c",
            " ",
        ]
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(words | st.text(max_size=3)) + text[at + cut :]
    try:
        if reader == "default":
            workload = parse(text, "w")
            trace(workload, Split(workload, 8, (2, 4)), 3, Settings(2))
            return
        with TemporaryDirectory() as folder:
            source = Path(folder) / "w.txt"
            source.write_text(text, encoding="utf-8", errors="replace", newline="")
            convert_upstream(source, Path(folder) / "o", 2, 2)
    except YantraError as error:
        assert error.exit_code == 2 and str(error)
