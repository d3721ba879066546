"""The selection `nccl`: collectives take as long as NCCL's tuner expects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.collectives.nccl import Graph, System, chosen, tuner_table
from yantra.collectives.selection import FIELD, contract, selection_of
from yantra.collectives.selection.selection import Group, Selection, Timed
from yantra.run.simulate import simulate
from yantra.scenario.text import loads

ONE = {"algorithm": "Ring", "channels": 24, "intra": "10 GB/s"}
OPTIONS: dict[str, Any] = {
    "gpu": "ampere",
    "cpu": "amd",
    "adapter_latency": "5 us",
    "graphs": [
        ONE,
        ONE | {"algorithm": "Tree"},
        {"algorithm": "Ring", "nodes": "several", "channels": 16, "intra": "12 GB/s"},
        {"algorithm": "Tree", "nodes": "several", "channels": 16, "intra": "24 GB/s"}
        | {"inter": "12 GB/s"},
    ],
}
NODE = Group(8, (("switch", 8), ("switch", 4)), (0,), 0, 8)
NODES = NODE._replace(ranks=32, whole=(0, 1), local=8)


def selection(**options: Any) -> Selection:
    return selection_of(FIELD.read({"kind": "nccl", "options": OPTIONS | options}, "", ""))


def timed(kind: str, group: Group, **options: Any) -> Timed:
    [choice] = selection(**options).choices(kind, group)
    assert isinstance(choice.algorithms, Timed)
    return choice.algorithms


def system() -> System:
    graph = Graph(channels=24, intra=10.0, inter=10.0)
    graphs = {"Ring": graph, "Tree": graph}
    return System(ranks=8, nodes=1, gpu="ampere", cpu="amd", graphs=graphs)


def test_it_keeps_the_laws_of_selections() -> None:
    assert list(contract.violations(selection())) == []


@pytest.mark.parametrize(("kind", "counted"), [("all_reduce", 1), ("all_gather", 8)])
def test_its_points_give_the_time_of_the_tuner_for_every_size(kind: str, counted: int) -> None:
    table = tuner_table(system(), kind)
    sizes = np.unique(np.geomspace(1, 1 << 30, 500).astype(int))
    ours = np.interp(sizes, *np.array(timed(kind, NODE).points).T)
    theirs = [chosen(table, int(size) * counted).time_us * 1000 for size in sizes]
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_collectives_over_nodes_take_longer() -> None:
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        sizes = 1 << np.arange(6, 34)
        node, nodes = (np.array(timed(kind, group).points).T for group in (NODE, NODES))
        assert (np.interp(sizes, *nodes) > np.interp(sizes, *node)).all()


def test_groups_without_a_graph_and_nvls_over_pci_are_refused() -> None:
    with pytest.raises(ConfigError, match="no graph of Ring for 32 ranks on 4 nodes; add one with"):
        timed("all_reduce", NODES, graphs=[ONE])
    with pytest.raises(ConfigError, match="no graph of Ring for 8 ranks on 1 node;"):
        timed("all_reduce", NODE, graphs=[ONE | {"local": 4}])
    with pytest.raises(ConfigError, match="NVLS runs over NVLink alone"):
        graphs = [ONE, ONE | {"algorithm": "NVLS", "nvlink": False}]
        timed("all_reduce", NODE, nvls=True, graphs=graphs)


def test_all_to_alls_keep_the_algorithm_of_the_scenario() -> None:
    assert list(selection().choices("all_to_all", NODE)) == []


STEP = """
workload: {traces: "step.{rank}.et"}
cluster:
  topology: [{kind: switch, size: 8, bandwidth: 50 GB/s, latency: 1 us}]
collectives:
  selection:
    kind: nccl
    options:
      gpu: ampere
      cpu: amd
      graphs:
      - {algorithm: Ring, channels: 24, intra: 10 GB/s}
      - {algorithm: Tree, channels: 24, intra: 10 GB/s}
"""


@pytest.mark.parametrize("size", [1024, 1 << 20, 1 << 28])
def test_a_run_takes_the_time_that_the_tuner_expects(size: int, tmp_path: Any) -> None:
    trace = TraceBuilder()
    trace.collective("all_reduce", size)
    for rank in range(8):
        trace.build().write(str(tmp_path / f"step.{rank}.et"))
    result = simulate(loads(STEP, str(tmp_path)))
    expected = chosen(tuner_table(system(), "all_reduce"), size).time_us * 1000
    assert result.makespan_ns == pytest.approx(expected, abs=1)


def lines(ranks: int, nodes: int, *graphs: str) -> str:
    said = [f"Pattern {graph}, sameChannels 1" for graph in graphs]
    local = ranks // nodes
    said.append(f"comm 0x1 rank 0 nRanks {ranks} nNodes {nodes} localRanks {local} localRank 0")
    return "".join(f"node-1:42:99 [0] NCCL INFO {one}\n" for one in said)


LOG = lines(
    8, 1,
    "4, crossNic 0, nChannels 24, bw 10.000000/10.000000, type NVL/PIX",
    "1, crossNic 0, nChannels 24, bw 10.000000/10.000000, type NVL/PIX",
) + lines(
    32, 4,
    "4, crossNic 0, nChannels 16, bw 12.000000/12.000000, type NVL/PXB",
    "1, crossNic 0, nChannels 16, bw 24.000000/12.000000, type NVL/PXB",
)  # fmt: skip


@pytest.mark.parametrize("group", [NODE, NODES])
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather"])
def test_a_log_gives_the_times_of_its_graphs(tmp_path: Any, kind: str, group: Group) -> None:
    (tmp_path / "nccl.log").write_text(LOG)
    logged = timed(kind, group, graphs=[], log=str(tmp_path / "nccl.log"))
    assert logged == timed(kind, group)


def test_a_path_beyond_pxb_turns_ll128_off_before_hopper(tmp_path: Any) -> None:
    (tmp_path / "far.log").write_text(LOG.replace("NVL/PXB", "NVL/SYS"))
    far = timed("all_reduce", NODES, graphs=[], log=str(tmp_path / "far.log"))
    assert far == timed("all_reduce", NODES, ll128=False)


def test_groups_with_other_ranks_in_a_node_have_no_graph_of_a_log(tmp_path: Any) -> None:
    (tmp_path / "nccl.log").write_text(LOG)
    with pytest.raises(ConfigError, match=r"no graph of Ring for 4 ranks on 1 node"):
        timed("all_reduce", NODE._replace(ranks=4, local=4), graphs=[],
              log=str(tmp_path / "nccl.log"))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello\n", r"nccl.log: expected lines 'NCCL INFO Pattern 4.*NCCL_DEBUG=INFO"),
        (LOG.replace("Pattern 1", "Pattern 9", 1), r"nccl.log:2: Pattern: expected one of 1, 2"),
        (LOG.replace("nChannels 24", "nChannels 0", 1), r"nccl.log:1: nChannels: expected a num"),
        (LOG.replace("bw 10.0", "bw 1.0.0", 1), r"nccl.log:1: bw: expected GB/s, got"),
    ],
)
def test_what_is_wrong_in_a_log_is_told_with_its_line(
    tmp_path: Any, text: str, expected: str
) -> None:
    (tmp_path / "nccl.log").write_text(text)
    with pytest.raises(ConfigError, match=expected):
        timed("all_reduce", NODE, graphs=[], log=str(tmp_path / "nccl.log"))
