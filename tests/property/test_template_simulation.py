"""Simulating templates gives, to the bit, what simulating the expanded traces gives."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.oracles.small_workloads import standard
from yantra.base.errors import ConfigError, DeadlockError
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    ChakraFiles,
    Collectives,
    Device,
    Dimension,
    Resources,
    Scenario,
    Templates,
    Topology,
    WorkloadFile,
)
from yantra.scenario.types import Workload
from yantra.workloads.templates import Workload as Job
from yantra.workloads.templates.expand import expand

SHAPES = [(1, 2, 2), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 1, 2), (2, 3, 2), (1, 1, 3)]
RESOURCES = {
    "one_slot": Resources(communication="one_slot", copy_engines=0),
    "per_communicator": Resources(),
    "astra-sim": ASTRA_SIM_RESOURCES,
}


def _scenario(
    workload: Workload, sizes: list[int], resources: str, network: str, scheduler: str = "in_order"
) -> Scenario:
    algorithms = ("ring",) * len(sizes)
    return Scenario(
        workload=workload,
        topology=Topology(
            dimensions=tuple(
                Dimension(kind="ring", size=size, bytes_per_ns=10.0 * at + 7, latency_ns=50.0)
                for at, size in enumerate(sizes)
            )
        ),
        device=Device(peak_flops=1e14, memory_bytes_per_s=1e12, compute="roofline"),
        collectives=Collectives(
            all_reduce=algorithms,
            all_gather=algorithms,
            reduce_scatter=algorithms,
            all_to_all=algorithms,
            chunks=2,
        ),
        resources=RESOURCES[resources],
        semantics="astra-sim" if resources == "astra-sim" else "yantra",
        network=network,  # type: ignore[arg-type]
        scheduler="in_order" if resources == "astra-sim" else scheduler,
    )


def _told(result: Result, folder: Path, name: str) -> Any:
    path = folder / name
    result.to_json(path)
    told = json.loads(path.read_text())
    told.pop("sealed", None)
    told["scenario"] = told["inputs"] = None
    return told


def _outcome(scenario: Scenario, folder: Path, name: str) -> Any:
    try:
        return _told(simulate(scenario), folder, name)
    except DeadlockError as error:
        return str(error)


@given(
    st.sampled_from(SHAPES),
    st.integers(0, 99),
    st.sampled_from(sorted(RESOURCES)),
    st.sampled_from(["analytical", "store_and_forward"]),
    st.sampled_from(["in_order", "critical_path", "earliest_needed"]),
)
@example((2, 2, 2), 0, "astra-sim", "analytical", "in_order")
@example((2, 2, 2), 0, "per_communicator", "store_and_forward", "critical_path")
@example((2, 2, 2), 69, "per_communicator", "store_and_forward", "in_order")
def test_templates_and_their_expansion_run_alike(
    shape: tuple[int, int, int], seed: int, resources: str, network: str, scheduler: str
) -> None:
    workload = standard(*shape, seed=seed)
    sizes = [workload.ranks] if network == "store_and_forward" else [n for n in shape if n > 1]
    with TemporaryDirectory() as name:
        folder = Path(name)
        workload.save(folder / "w.yw")
        expand(workload, folder, prefix="w")
        groups = tuple(workload.communicators().items())
        files = ChakraFiles(prefix=str(folder / "w"), groups=groups)
        runs = [
            _outcome(_scenario(source, sizes, resources, network, scheduler), folder, f"{at}.json")
            for at, source in enumerate(
                [files, WorkloadFile(path=str(folder / "w.yw")), Templates(workload=workload)]
            )
        ]
    for run in runs:
        if isinstance(run, dict):
            _forget_the_pipeline(run["bound_by"])
    assert runs[0] == runs[1] == runs[2]


def _forget_the_pipeline(bound: dict[str, Any]) -> None:
    if bound["kind"] == "bubble":
        bound["kind"] = "waiting"
    del bound["text"]
    if bound["estimate"]:
        del bound["kind"], bound["gain"]


def test_the_order_of_a_workload_that_has_one_of_its_own_is_kept() -> None:
    plain = standard(2, 2, 2, seed=3)
    templates = {name: plain.template_bytes(name) for name in plain.templates}
    kept = {
        ordering: Job(
            grids=plain.grids,
            groups=plain.groups,
            classes=plain.classes,
            templates=templates,
            sections={"ordering": ordering},
        )
        for ordering in ("serial", "streams")
    }
    edges = {
        ordering: [
            sum(graph.parent_count)
            for graph in compile(
                _scenario(Templates(workload=job), [8], "one_slot", "analytical")
            ).graphs.distinct
        ]
        for ordering, job in kept.items()
    }
    own = [sum(plain.template(name).graph().parent_count) for name in plain.templates]
    assert edges["streams"] == own
    assert sum(edges["serial"]) > sum(own)


def test_a_cluster_of_another_size_is_refused(tmp_path: Path) -> None:
    workload = standard(2, 2, 2)
    workload.save(tmp_path / "w.yw")
    with pytest.raises(ConfigError, match=r"w\.yw has 8 ranks, the cluster 4"):
        simulate(
            _scenario(WorkloadFile(path=str(tmp_path / "w.yw")), [4], "one_slot", "analytical")
        )
    with pytest.raises(ConfigError, match="the workload has 8 ranks, the cluster 4"):
        _scenario(Templates(workload=workload), [4], "one_slot", "analytical")


def test_a_template_is_decoded_once_whatever_number_of_ranks_runs_it() -> None:
    model = compile(
        _scenario(Templates(workload=standard(2, 3, 2)), [12], "one_slot", "analytical")
    )
    assert len(model.graphs.distinct) == 2
    assert [model.graphs.by_rank.count(at) for at in (0, 1)] == [6, 6]
