"""COMET's Transformer-1T step and microbenchmark. Its log shows 3 ns a message and 1 ns a phase for
73,728 bytes to 48 MiB; sums take 261 ns of 90 MiB.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.explore.study.network_cost import SwitchedDimension, network_cost, of_cluster
from yantra.fabric import clusters
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Device, Dimension, Scenario, Templates, Topology
from yantra.workloads.importers.comet import Roofline, read
from yantra.workloads.importers.text import Settings, from_layers

DATA = Path(__file__).parent / "data" / "comet_t1t_layers.csv"
LINES = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
LAYERS = list(csv.DictReader(LINES))
KINDS = {"all_reduce": "ALLREDUCE", "all_gather": "ALLGATHER", "none": "NONE"}
PASSES = 10
GIB_PER_NS = 2**30 / 1e9
HEAD = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 128 checkpoints: 2 0 9 "
    "checkpoint_initiates: 2 17 8"
)


def _passes(row: dict[str, str]) -> list[tuple[str, str]]:
    weights = row["weight_gradient_all_reduce_bytes"]
    return [
        (KINDS[row["forward_comm"]], row["forward_comm_bytes"]),
        (KINDS[row["input_gradient_comm"]], row["input_gradient_comm_bytes"]),
        ("ALLREDUCE" if int(weights) else "NONE", weights),
    ]


def products(row: dict[str, str], name: str) -> str:
    sizes = f"7 0 {row['M']} {row['K']} {row['N']}"
    parts = [f"{sizes} {kind} {size}" for kind, size in _passes(row)]
    return " ".join([name, "-1", *parts, "10"])


def transformer(folder: Path) -> Path:
    lines = [products(row, f"{row['layer']}{block}") for block in (1, 2) for row in LAYERS]
    path = folder / "transformer.txt"
    path.write_text("\n".join([HEAD, str(len(lines)), *lines]) + "\n")
    return path


def run(path: Path, roofline: Roofline, passes: int) -> Result:
    layers = read(path, roofline)
    workload = from_layers(layers, 1024, (16, 64), Settings(passes, "ns", "none"), "COMET")
    sizes, per_ns, latency = (16, 8, 8), (150, 12.5, 12.5), (1.625, 1.425, 1.425)
    three: dict[str, Any] = dict.fromkeys(
        ("all_reduce", "reduce_scatter", "all_gather"), ("halving_doubling",) * 3
    )
    return simulate(
        Scenario(
            workload=Templates(workload=workload),
            topology=Topology(
                dimensions=tuple(
                    Dimension(kind="switch", size=n, bytes_per_ns=b * GIB_PER_NS, latency_ns=ns)
                    for n, b, ns in zip(sizes, per_ns, latency, strict=True)
                )
            ),
            device=Device(memory_bytes_per_s=1.084733e15),
            collectives=Collectives(**three, chunks=64, endpoint_delay_ns=0),
        )
    )


def times(result: Result) -> dict[str, list[tuple[float, float]]]:
    nodes = result.nodes
    found: dict[str, list[tuple[float, float]]] = {}
    for rank, name, start, end in zip(
        *(nodes[column] for column in ("rank", "name", "start_ns", "end_ns")), strict=True
    ):
        if rank:
            break
        found.setdefault(name, []).append((start, end))
    return found


def total(spans: list[tuple[float, float]]) -> float:
    return sum(end - start for start, end in spans)


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = transformer(tmp_path_factory.mktemp("comet"))
    return run(path, Roofline(7.68e15), PASSES)


def test_ten_passes_of_a_trillion_parameters_end_when_the_log_says(step: Result) -> None:
    assert step.makespan_ns == pytest.approx(12_369_744_580, rel=1e-6)


@pytest.mark.parametrize("block", [1, 2])
@pytest.mark.parametrize("row", LAYERS, ids=lambda row: row["layer"])
def test_every_layer_computes_and_communicates_as_long_as_in_the_log(
    step: Result, row: dict[str, str], block: int
) -> None:
    found = times(step)
    layer = f"{row['layer']}{block}"

    def of(start: str) -> float:
        again = (f"{start}{more}" for more in ("", "_IN_BCKWD"))
        kinds = ("", "_ALLREDUCE", "_ALLGATHER")
        return sum(total(found.get(name + kind, [])) for name in again for kind in kinds)

    for name, column in (
        ("FWD", "forward"),
        ("BWD_IG", "input_gradient"),
        ("BWD_WG", "weight_gradient"),
    ):
        computed = of(f"COMP_NODE_{layer}_{name}")
        assert computed == pytest.approx(float(row[f"{column}_compute_ns"]), rel=1e-4)
        if name != "BWD_WG":  # these wait for each other, and the log counts that
            said = float(row[f"{column}_comm_ns"])
            assert of(f"COMM_COLL_NODE_{layer}_{name}") == pytest.approx(said, rel=1e-4)


def micro(folder: Path) -> Path:
    path = folder / "micro.txt"
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 128"
    row = LAYERS[0] | {"forward_comm": "none", "forward_comm_bytes": "0"}
    path.write_text(f"{head}\n1\n{products(row, 'Q1')}\n")
    return path


def test_the_microbenchmark_takes_the_times_of_its_log(tmp_path: Path) -> None:
    result = run(micro(tmp_path), Roofline(125e12), 1)
    found = times(result)
    assert total(found["COMP_NODE_Q1_FWD"]) == pytest.approx(9_895_605, rel=1e-6)
    gradients = total(found["COMM_COLL_NODE_Q1_BWD_IG_ALLREDUCE"])
    weights = total(found["COMM_COLL_NODE_Q1_BWD_WG_ALLREDUCE"])
    assert gradients == pytest.approx(75_018_305, rel=1e-4)
    assert weights == pytest.approx(1_231_553, rel=1e-4)
    assert result.makespan_ns == pytest.approx(94_809_517, rel=1e-4)


def test_operations_of_a_layer_are_shared_by_its_passes(tmp_path: Path) -> None:
    path = tmp_path / "trial.txt"
    layer = "10737418240000 34734080000 5 NONE 0 5 NONE 0 5 ALLREDUCE 1000"
    path.write_text(f"DATA\n1\ntrial -1 {layer} 10\n")
    (read_layer,) = read(path, Roofline(125e12, 100e9)).layers
    phases = (read_layer.forward, read_layer.input_gradient, read_layer.weight_gradient)
    assert [phase.time for phase in phases] == pytest.approx([115_780_266] * 3, abs=4)
    assert [phase.time for phase in read(path).layers[0][1:4]] == [5, 5, 5]


def test_a_pass_takes_its_operations_or_its_bytes_whichever_is_longer(tmp_path: Path) -> None:
    path = tmp_path / "each.txt"
    layer = "4000000 1000 0 NONE 0 1000000 40000 0 NONE 0 0 0 0 NONE 0 0"
    path.write_text(f"DATA\n1\neach -1 {layer}\n")
    (read_layer,) = read(path, Roofline(1e12, 1e9)).layers
    phases = (read_layer.forward, read_layer.input_gradient, read_layer.weight_gradient)
    assert [phase.time for phase in phases] == [4000, 40000, 0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a -1 1 2 3", "expected 24 (products), 18 (operations), 14 (operations of a layer)"),
        ("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1", "chakra convert text"),
        ("a -1 9 0 1 NONE 0 1 NONE 0 1 NONE 0 1", "0 bytes moved give no rate"),
        ("a -1 x 0 1 NONE 0 1 NONE 0 1 NONE 0 1", ":3: column 3: expected a whole number"),
    ],
)
def test_a_line_of_no_form_is_refused_with_its_place(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "wrong.txt"
    path.write_text(f"DATA\n1\n{line}\n")
    with pytest.raises(ConfigError) as raised:
        read(path, Roofline(1e12, 1e9))
    assert said in str(raised.value)


def test_the_network_of_the_log_costs_what_it_says() -> None:
    pods = [SwitchedDimension(16, 6, 25.0, "package"), SwitchedDimension(64, 1, 12.5, "pod")]
    items = network_cost(pods)
    assert [item.usd for item in items] == [614_400, 1_996_800, 94_720, 303_360, 611_840]
    assert [item.parts for item in items] == [6144, 64, 1024, 1, 1024]
    assert sum(item.usd for item in items) == 3_621_120


def test_the_network_of_a_named_cluster_has_the_same_rule() -> None:
    """18 links of 25 GB/s to switches of a node, one of 50 GB/s to the pod, of 64 devices."""
    found = of_cluster(clusters.load("hgx-h100"), (8, 8))
    package, pod = 64 * 18 * 25, 64 * 50
    assert [item.usd for item in found] == pytest.approx(
        [package * 4.0, package * 13.0, pod * 7.4, pod * 23.7, pod * 47.8]
    )
    assert of_cluster(clusters.load("tpu-v5p"), (4, 4, 4)) == ()
