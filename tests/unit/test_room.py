"""What a machine keeps of its memory beside a job, and what sums of a step leave out."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import CapacityError, ConfigError
from yantra.chakra import Trace
from yantra.explore.answers.best import best_plans
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.serving.infer import infer
from yantra.workloads.serving.memory import Room
from yantra.workloads.serving.plan import InferencePlan
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
        parts["machine"] = parts["machine"].replace(**{"reserve_bytes": 0} | kept)
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


def own(folder: Path, memory: int, reserve: int | None) -> str:
    text = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    text = re.sub(r"(?m)^  memory: .*$", f"  memory: {{value: {memory} B, basis: yours}}", text)
    kept = "" if reserve is None else f"  reserve: {{value: {reserve} B, basis: yours}}\n"
    path = folder / "own.yaml"
    path.write_text(re.sub(r"(?m)^  reserve: .*\n", kept, text), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("reserve", [None, 0, GIB, 3 * GIB + 1])
def test_a_step_fits_to_the_byte_of_memory_less_reserve_at_every_door(
    tmp_path: Path, reserve: int | None
) -> None:
    made, kept = step(tp=2, pp=2, dp=2), reserve or 0
    need = max(made.peaks().values())
    made.save(str(tmp_path / "s.yw"))
    plan = Plan(tp=2, pp=2, dp=2, global_batch=8)
    for memory, fits in ((need + kept, True), (need + kept - 1, False)):
        cluster = own(tmp_path, memory, reserve)
        machine = clusters.load(cluster)
        assert (machine.usable_bytes, machine.reserve_bytes) == (memory - kept, kept)
        with nullcontext() if fits else pytest.raises(CapacityError):
            on_cluster(str(tmp_path / "s.yw"), cluster)
        with nullcontext() if fits else pytest.raises(CapacityError):
            train("llama3-8b", plan, 2048, memory_bytes=memory, reserve_bytes=kept)
        chosen = {"tp": (2,), "pp": (2,), "zero": (0,), "recompute": ("none",), "vpp": (1,)}
        chosen |= {"gradient_dtype": ("fp32",), "embedding_as_layer": (False,)}
        chosen |= {"loss_as_layer": (False,)}
        space = PlanSpace(ranks=8, global_batch=8, sequence=2048, micro_batch=(1,), **chosen)
        with nullcontext() if fits else pytest.raises(CapacityError):
            best_plans(find("llama3-8b"), machine, space, refined=False)


def test_an_engine_takes_its_share_and_at_most_what_the_reserve_leaves() -> None:
    room = Room(80 * GIB, 4 * GIB)
    assert room.usable(0.9) == 72 * GIB and room.words(0.9) == "0.9 of 80 GiB"
    assert room.usable(1.0) == 76 * GIB and room.words(1.0) == "80 GiB less 4 GiB reserved"
    job: dict[str, Any] = {"phase": "decode", "context": 2048, "memory_bytes": 80 * GIB}
    plan = InferencePlan(gpu_memory_utilization=1.0)
    whole = infer("llama3-8b", plan, batch=1, **job).about["fitting_batch"]
    kept = infer("llama3-8b", plan, batch=1, reserve_bytes=4 * GIB, **job).about["fitting_batch"]
    assert kept < whole
    infer("llama3-8b", plan, batch=kept, reserve_bytes=4 * GIB, **job)
    with pytest.raises(CapacityError, match="80 GiB less 4 GiB reserved"):
        infer("llama3-8b", plan, batch=kept + 1, reserve_bytes=4 * GIB, **job)


@pytest.mark.parametrize(
    ("reserve", "said"),
    [
        ("80 GiB", "device.reserve.value: expected less than the memory of 80 GiB, got"),
        ("-1 GiB", "device.reserve.value: "),
        ("4", "device.reserve.value: a number needs its unit"),
        ("4 GB/s", "device.reserve.value: "),
    ],
)
def test_a_reserve_that_is_none_is_refused(tmp_path: Path, reserve: str, said: str) -> None:
    text = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    path = tmp_path / "own.yaml"
    path.write_text(text.replace("reserve: {value: 4 GiB", f"reserve: {{value: {reserve}"))
    with pytest.raises(ConfigError) as raised:
        clusters.load(str(path))
    assert said in str(raised.value)


def test_every_cluster_states_its_reserve_with_a_source() -> None:
    for name in clusters.names():
        machine = clusters.load(name)
        number = dict(machine.numbers())["device.reserve"]
        assert number.source and 0 <= machine.reserve_bytes < 0.1 * machine.memory_bytes


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
