"""What a machine keeps of its memory beside a job, and what the sums of a step leave out."""

from __future__ import annotations

import pytest

from yantra.base.errors import CapacityError
from yantra.chakra import Trace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import Workload
from yantra.workloads.templates.room import communicators, in_communicators, lack_of_memory
from yantra.workloads.training.train import train

GIB = 1 << 30
RING = 24 * ((4 << 20) + 8 * 512 * 8 * 16 + 120 * 640 * 8 * 8)
"""Bytes of a communicator's rings: channels of 8 H100s x buffers of NCCL's three protocols."""


def step(**plan: object) -> Workload:
    return train("llama3-8b", Plan(**{"global_batch": 8} | plan), 2048)  # type: ignore[arg-type]


def test_communicators_are_the_groups_that_a_rank_exchanges_with() -> None:
    assert communicators(step(), "stage0") == []
    assert communicators(step(tp=2, dp=2), "stage0") == ["dp_cp", "tp", "world"]
    two = step(tp=2, pp=2, dp=2)
    assert len(communicators(two, "stage0")) == 4  # and that of the pipeline's messages
    assert in_communicators(two, "stage0", RING) == 4 * RING
    assert in_communicators(two, "stage0", None) == 0


def test_a_step_fits_as_long_as_job_communicators_and_reserve_do() -> None:
    made = step(tp=2, pp=2, dp=2)
    need = max(made.peaks().values()) + 4 * RING + GIB
    assert lack_of_memory(made, need, "m", GIB, RING) == ""
    said = lack_of_memory(made, need - 1, "m", GIB, RING)
    assert "4 communicators 881.9" in said or "4 communicators 882" in said
    assert "reserved 1 GiB" in said
    assert lack_of_memory(made, max(made.peaks().values())) == ""


def test_what_is_left_is_less_by_what_the_machine_keeps() -> None:
    def left(**kept: int) -> int:
        parts = cluster_parts("hgx-h100", 8)
        parts["machine"] = parts["machine"].replace(**kept)
        workload = Templates(workload=step(tp=2, pp=2, dp=2))
        figures = simulate(Scenario(workload=workload, **parts)).figures
        assert figures.memory_headroom_bytes is not None
        return figures.memory_headroom_bytes

    assert left() - left(reserve_bytes=GIB, communicator_bytes=RING) == GIB + 4 * RING


def test_a_run_that_does_not_fit_beside_it_is_an_answer(tmp_path: object) -> None:
    path = f"{tmp_path}/s.yw"
    step(tp=2, pp=2, dp=2).save(path)
    settings = {"cluster.machine.reserve": "60 GiB"}
    with pytest.raises(CapacityError, match="reserved 60 GiB"):
        on_cluster(path, "hgx-h100", settings=settings)


def test_rounding_each_tensor_up_to_the_allocators_512_bytes_is_not_seen() -> None:
    made = step(tp=2, dp=4, zero=1)
    nodes = Trace.from_bytes(made.template_bytes("stage0"))
    sizes = [one.value for node in nodes for one in node.attributes if one.name == "act_alloc"]
    assert len(sizes) > 100
    rounded = sum(-int(size) % 512 for size in sizes)
    assert rounded < 1e-6 * max(made.peaks().values())


@pytest.mark.parametrize("tp", [1, 2, 8])
@pytest.mark.parametrize(("is_fused", "copies"), [(True, 4), (False, 4 + 4 + 2)])
def test_logits_and_loss_take_vocabulary_x_tokens_x_the_bytes_of_each_copy(
    tp: int, is_fused: bool, copies: int
) -> None:
    kept = [
        item.value
        for node in Trace.from_bytes(step(tp=tp, fused_loss=is_fused).template_bytes("stage0"))
        for item in node.attributes
        if item.name == "act_alloc" and ".loss" in node.name
    ]
    tokens, vocabulary = 2048, 128256
    assert max(map(int, kept)) == pytest.approx(tokens * vocabulary * copies / tp, rel=1e-3)
