"""Text workloads as templates: the traces of the converter, with groups by name."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.test_text_workloads import text_of, workloads
from tests.workloads.importers.running import Semantics, finish
from yantra.base.errors import ConfigError
from yantra.chakra import Trace
from yantra.workloads.importers.layer_text.loops import Settings, trace
from yantra.workloads.importers.layer_text.split import Split
from yantra.workloads.importers.layer_text.workload import POLICIES
from yantra.workloads.importers.layer_text.workload import Workload as Layers
from yantra.workloads.importers.text import from_text
from yantra.workloads.templates import Workload

DIMS = (4, 2)
RANKS = 8


def imported(layers: Layers, settings: Settings | None = None) -> Workload:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "layers.txt"
        path.write_text(text_of(layers))
        return from_text(str(path), RANKS, DIMS, settings)


def told(made: Trace, groups: dict[int, tuple[int, ...]]) -> list[object]:
    """Return what the nodes say, groups by their members; without one all ranks take part."""
    everyone = tuple(range(RANKS))
    nodes: list[object] = []
    for node in made:
        name = node.get("pg_name")
        members = groups[int(str(name))] if name else everyone
        rest = [
            (a.name, a.value) for a in node.attributes if a.name not in ("pg_name", "involved_dim")
        ]
        nodes.append((node.id, node.name, node.type, sorted(node.data_deps), members, sorted(rest)))
    return nodes


@given(workloads(ranks=RANKS), st.integers(0, RANKS - 1), st.integers(1, 2))
def test_every_rank_runs_what_the_converter_writes(layers: Layers, rank: int, passes: int) -> None:
    settings = Settings(passes, updates="delay")
    workload = imported(layers, settings)
    split = Split(layers, RANKS, DIMS, as_groups=True)
    wanted = told(trace(layers, split, rank, settings), dict(split.groups))
    assert told(workload.trace(rank, "streams"), workload.communicators()) == wanted


@pytest.mark.parametrize("semantics", ["astra-sim", "yantra"])
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_runs_to_the_end(policy: str, semantics: Semantics) -> None:
    row = "{} -1 5 ALLREDUCE 4096 4 ALLTOALL 2048 3 ALLGATHER 1024 1"
    parameters = {
        "HYBRID_DLRM": "1",
        "HYBRID_DLRM_ENHANCED": "1",
        "HYBRID_TRANSFORMER": "model_parallel_NPU_group: 4",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD": (
            "model_parallel_NPU_group: 2 checkpoints: 1 0 checkpoint_initiates: 1 2"
        ),
    }
    own = [" HYBRID_DATA_MODEL", " DATA", " MODEL"] if policy == "HYBRID_CUSTOMIZED" else [""] * 3
    rows = [row.format(f"l{number}") + end for number, end in enumerate(own)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "layers.txt"
        path.write_text("\n".join([f"{policy} {parameters.get(policy, '')}", "3", *rows]))
        workload = from_text(str(path), RANKS, DIMS)
    assert len(workload.templates) == 1
    assert len(finish(workload, semantics)) == workload.ranks  # and each within its bounds


def test_what_a_policy_leaves_out_is_told() -> None:
    row = "only -1 5 ALLREDUCE 4096 4 NONE 0 3 ALLREDUCE 1024 1"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "layers.txt"
        path.write_text(f"DATA\n1\n{row}\n")
        (note,) = from_text(str(path), RANKS).sections["notes"]
        assert "the forward communication of only is left out" in note
        with pytest.raises(ConfigError, match="dims: 4x2 makes 8 ranks, but the ranks are 6"):
            from_text(str(path), 6, DIMS)
