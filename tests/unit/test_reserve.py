"""What a stack keeps of a device's memory: its parts, its communicators, the same at every door."""

from __future__ import annotations

from itertools import pairwise

import pytest

from yantra.cli import main
from yantra.fabric import clusters, stacks
from yantra.fabric.stacks.reserve import communicators, machine_parts, reserved
from yantra.scenario import cluster_parts
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates.room import communicators as of_workload
from yantra.workloads.training.train import train

STATING = [name for name in stacks.names() if stacks.load(name).memory is not None]
SAYING = [name for name in clusters.names() if clusters.load(name).context is not None]
AXES = ("tp", "cp", "pp", "dp", "ep", "etp")
PLANS = {
    "llama3-8b": (
        Plan(dp=4, global_batch=4, zero=1),
        Plan(tp=2, pp=2, dp=2, global_batch=4, zero=1),
        Plan(tp=2, cp=2, pp=2, dp=2, global_batch=4, zero=3),
    ),
    "qwen3-30b-a3b": (
        Plan(ep=4, dp=8, global_batch=8, zero=1),
        Plan(tp=2, ep=4, etp=2, dp=8, pp=2, global_batch=16, zero=1),
    ),
}


def groups(plan: Plan) -> int:
    return int(communicators({axis: getattr(plan, axis) for axis in AXES}))


@pytest.mark.parametrize("name", STATING)
@pytest.mark.parametrize("cluster", SAYING)
def test_each_communicator_takes_as_much_and_every_part_has_a_source(
    name: str, cluster: str
) -> None:
    stack, machine = stacks.load(name), clusters.load(cluster)
    assert stack.memory is not None and machine.context is not None
    assert all(number.source and number.value > 0 for _, number in stack.memory.numbers())
    sizes = [reserved(machine, stack, count).reserve_bytes for count in range(8)]
    each = {after - before for before, after in pairwise(sizes)}
    assert each == {round(stack.memory.communicator.value)}
    fixed = (machine.context, stack.memory.workspaces, stack.memory.gaps)
    assert sizes[0] == sum(round(number.value) for number in fixed)
    told = reserved(machine, stack, 3).reserve
    assert told is not None and "3 communicators" in told.source and name in told.source


def test_a_communicator_without_nvls_is_what_nccls_code_says() -> None:
    memory = stacks.load("megatron-bridge-26.06").memory
    assert memory is not None
    assert memory.communicator.value == 24 * (4 + 0.5 + 4.6875) * 2**20


def test_the_reserve_stays_where_nobody_knows_its_parts() -> None:
    stack, h100 = stacks.load("megatron-bridge-26.06"), clusters.load("hgx-h100")
    for machine, of in ((h100, stacks.load("unknown")), (h100, None)):
        assert reserved(machine, of, 4) is machine
    assert machine_parts(h100, stacks.load("unknown")) == {}
    tpu = clusters.load("tpu-v5p")
    assert reserved(tpu, stack, 4) is tpu and machine_parts(tpu, stack) == {}
    assert h100.reserve is not None
    own = h100.replace(reserve=h100.reserve.replace(basis="yours"))
    assert reserved(own, stack, 4) is own and machine_parts(own, stack) == {}


@pytest.mark.parametrize(
    ("model", "plan"), [(model, plan) for model, plans in PLANS.items() for plan in plans]
)
def test_plans_count_at_least_the_communicators_that_runs_count(model: str, plan: Plan) -> None:
    workload = train(model, plan, 1024)
    most = max(len(of_workload(workload, name)) for name in workload.peaks())
    assert most <= groups(plan) <= most + 1


def test_runs_and_plans_keep_the_same() -> None:
    stack, h100 = stacks.load("megatron-bridge-26.06"), clusters.load("hgx-h100")
    machine = cluster_parts("hgx-h100", 16, "bf16", stack="megatron-bridge-26.06")["machine"]
    kept = machine.reserve_bytes + 4 * machine.communicator_bytes
    assert kept == reserved(h100, stack, 4).reserve_bytes
    usual = cluster_parts("hgx-h100", 16, "bf16")["machine"]
    assert (usual.reserve_bytes, usual.communicator_bytes) == (4 << 30, None)


def test_one_rank_has_no_communicator() -> None:
    assert groups(Plan()) == 0
    assert groups(Plan(dp=2)) == 2
    assert groups(Plan(tp=2, pp=2, dp=2)) == 4
    assert groups(Plan(ep=2, dp=4)) == 4


def test_a_step_says_where_the_reserve_is_from(capsys: pytest.CaptureFixture[str]) -> None:
    step = ["workload", "train", "--model", "llama3-8b", "--dp", "4", "--zero", "3"]
    step += ["--cluster", "hgx-h100"]
    assert main([*step, "--tp", "2"]) == 0
    assert "reserve: [torch_memory] 0.89 GiB" in capsys.readouterr().out
    assert main([*step, "--tp", "2", "--framework", "Megatron-Bridge"]) == 0
    said = capsys.readouterr().out
    assert "less 2.92 GiB reserved" in said
    assert "reserve: megatron-bridge-26.06 on hgx-h100: context and kernels 1.89 GiB" in said


def test_a_stack_shows_and_keeps_its_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stack", "show", "megatron-bridge-26.06"]) == 0
    assert "memory.communicator" in capsys.readouterr().out
    lines = stacks.load("megatron-bridge-26.06").lines()
    assert "memory:" in lines and any("220.5 MiB" in line for line in lines)
