"""The oracle of communication finds planted faults; generated traces run in `yantra astra-sim`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ASTRA_SIM_SYSTEM
from tests.oracles.communication_order import problems
from tests.workloads.every_model.plans import Trial
from yantra.chakra import Node, NodeType, Trace
from yantra.cli import main
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

PLAN = Plan(tp=2, pp=2, dp=2, zero=1, global_batch=8)


@cache
def _workload(name: str = "llama3-8b", plan: Plan = PLAN, layers: int = 4) -> Workload:
    return train(Trial(name, plan, layers).model, plan)


def traces() -> list[Trace]:
    return [_workload().trace(rank, "serial") for rank in range(_workload().ranks)]


def found(changed: Trace) -> str:
    given = [changed if rank == 5 else trace for rank, trace in enumerate(traces())]
    return "; ".join(problems(given, _workload().communicators(), serial=True))


def edited(edit: Callable[[list[Node]], None]) -> Trace:
    nodes = list(traces()[5])
    edit(nodes)
    return Trace(nodes)


def where(nodes: list[Node], kind: NodeType, number: int = 0) -> int:
    return [at for at, node in enumerate(nodes) if node.type == kind][number]


def test_sound_traces_have_no_problem() -> None:
    assert not problems(traces(), _workload().communicators(), serial=True)


def test_a_send_without_its_receive_is_found() -> None:
    def edit(nodes: list[Node]) -> None:
        at = where(nodes, NodeType.COMM_SEND)
        nodes[at] = changed(nodes[at], comm_tag=77)

    assert "has one end only" in found(edited(edit))


def test_another_size_of_a_collective_is_found() -> None:
    def edit(nodes: list[Node]) -> None:
        at = where(nodes, NodeType.COMM_COLL, 3)
        nodes[at] = changed(nodes[at], comm_size=8)

    assert "its members run different collectives" in found(edited(edit))


def test_collectives_in_no_order_are_found() -> None:
    def edit(nodes: list[Node]) -> None:
        at = where(nodes, NodeType.COMM_COLL, 3)
        node = nodes[at]
        nodes[at] = Node(node.id, node.name, node.type, 0, (), (), node.attributes)

    assert "does not wait for node" in found(edited(edit))


def test_stages_that_wait_for_each_other_are_found() -> None:
    def edit(nodes: list[Node]) -> None:
        at = where(nodes, NodeType.COMM_SEND)
        last = nodes[where(nodes, NodeType.COMM_RECV, -1)].id
        node = nodes[at]
        deps = (*node.data_deps, last), node.ctrl_deps
        nodes[at] = Node(node.id, node.name, node.type, 0, *deps, node.attributes)

    assert "wait for each other in a circle" in found(edited(edit))


def changed(node: Node, **values: int) -> Node:
    attributes = [
        item._replace(value=values[item.name]) if item.name in values else item
        for item in node.attributes
    ]
    deps = node.data_deps, node.ctrl_deps
    return Node(node.id, node.name, node.type, 0, *deps, attributes)


EXPANDED: dict[str, tuple[str, Plan]] = {
    "dense": ("llama3-8b", PLAN),
    "fsdp, context": ("gpt3-1.3b", Plan(cp=2, dp=4, zero=3, global_batch=8, recompute="full")),
    "experts": (
        "deepseek-v2-lite",
        Plan(tp=2, pp=2, dp=4, ep=4, etp=2, global_batch=16, schedule="dualpipe"),
    ),
    "skewed": ("qwen3-30b-a3b", Plan(dp=8, ep=8, zero=2, routing="zipf:1.2")),
    "tables": ("dlrm", Plan(dp=8, ep=8)),
    "states": ("mamba2-2.7b", Plan(pp=2, dp=4, offload_optimizer=True, zero=1, global_batch=16)),
}


@pytest.mark.parametrize("case", EXPANDED)
def test_expanded_traces_run_in_the_drop_in_simulator(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ASTRA-sim master 518bd51 ran these and gave the same cycles on every rank."""
    name, plan = EXPANDED[case]
    _workload(name, plan).expand(tmp_path, reader="astra-sim")
    memory = {
        "memory-type": "PER_NPU_MEMORY_EXPANSION",
        "remote-mem-latency": 100,
        "remote-mem-bw": 50,
    }
    network: dict[str, Any] = {
        "topology": ["Switch"],
        "npus_count": [plan.ranks],
        "bandwidth": [50.0],
        "latency": [500.0],
    }
    roofline = {"roofline-enabled": 1, "peak-perf": 300, "local-mem-bw": 2000}
    files = {
        "system": ("system.json", ASTRA_SIM_SYSTEM | roofline),
        "network": ("network.yml", network),
        "remote-memory": ("memory.json", memory),
    }
    options = [f"--workload-configuration={tmp_path / 'workload'}"]
    options.append(f"--comm-group-configuration={tmp_path / 'comm_group.json'}")
    for option, (file, tree) in files.items():
        (tmp_path / file).write_text(json.dumps(tree))
        options.append(f"--{option}-configuration={tmp_path / file}")
    assert main(["astra-sim", *options, f"--logging-folder={tmp_path / 'log'}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(" finished, " in line for line in lines) == plan.ranks
