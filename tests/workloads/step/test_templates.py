"""What the templates of a step hold: order, counts, equal bytes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.communication_forms import Shape
from tests.workloads.step.models import build, model_of
from tests.workloads.step.tally import tally_device
from tests.workloads.step.test_simulation import EXPERTS, PIPELINES, PLANS, SMALL
from tests.workloads.step.works import stages
from yantra.chakra import Node, NodeType, Trace
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train, works_of

GEMMS = ("gemm", "grouped_gemm")


def trace(plan: Plan, device: int = 0, **parts: int | bool) -> Trace:
    from yantra.workloads import schedules

    count = schedules.get(plan.schedule).stages(plan.pp, plan.vpp).count
    step = build(plan, works=stages(count, **parts))
    return Trace.from_bytes(
        step.job.template(device, step.passes[device], step.ends[device]).to_bytes()
    )


def waits(node: Node) -> set[int]:
    return {*node.data_deps, *node.ctrl_deps}


def reaches(nodes: list[Node], later: int, earlier: int) -> bool:
    seen, todo = set(), [later]
    while todo:
        at = todo.pop()
        if at == earlier:
            return True
        if at not in seen:
            seen.add(at)
            todo += [parent for parent in waits(nodes[at]) if parent >= earlier]
    return False


@pytest.mark.parametrize("name", PLANS)
def test_every_node_waits_for_earlier_nodes_only(name: str) -> None:
    workload = train(model_of(SMALL), PLANS[name])
    for template in workload.templates:
        nodes = list(workload.template(template))
        assert [node.id for node in nodes] == list(range(len(nodes)))
        assert all(parent < node.id for node in nodes for parent in waits(node))


@pytest.mark.parametrize("schedule", PIPELINES)
def test_computations_and_the_collectives_of_a_communicator_each_form_a_chain(
    schedule: str,
) -> None:
    plan = Plan(tp=2, pp=2, vpp=PIPELINES[schedule], dp=2, global_batch=8, schedule=schedule)
    nodes = list(trace(plan, talks=True))
    chains: dict[object, list[int]] = {}
    for node in nodes:
        if node.type == NodeType.COMP:
            chains.setdefault("compute", []).append(node.id)
        elif node.type == NodeType.COMM_COLL:
            chains.setdefault(node["pg_name"], []).append(node.id)
    assert set(chains) == {"compute", "tp", "dp_cp", "world"} | (
        {"mirror"} if schedule == "dualpipe" else set()
    )
    for chain in chains.values():
        for before, after in pairwise(chain):
            assert before in waits(nodes[after])


def test_receives_wait_for_nothing_and_sends_for_their_pass() -> None:
    nodes = list(trace(Plan(pp=3, global_batch=6), device=1))
    for node in nodes:
        if node.type == NodeType.COMM_RECV:
            assert not waits(node)
        if node.type == NodeType.COMM_SEND:
            assert any(nodes[parent].type == NodeType.COMP for parent in waits(node))
            assert not any(node.id in waits(n) for n in nodes if n.type == NodeType.COMP)


def test_without_overlap_messages_stand_between_the_computations() -> None:
    nodes = list(trace(Plan(pp=3, global_batch=6, overlap_p2p=False), device=1))
    computed = [node.id for node in nodes if node.type == NodeType.COMP]
    for node in nodes:
        if node.type == NodeType.COMM_SEND:
            following = next(id for id in computed if id > node.id)
            assert node.id in waits(nodes[following])
        if node.type == NodeType.COMM_RECV:
            assert node.id in waits(nodes[next(id for id in computed if id > node.id)])


def test_overlapping_passes_take_turns_between_their_communications() -> None:
    plan = Plan(tp=2, pp=2, dp=1, global_batch=8, schedule="dualpipe")
    nodes = list(trace(plan, talks=True, layers=3))
    phases = [
        (n["microbatch"], n["phase"]) for n in nodes if n.type == NodeType.COMP and "chunk" in n
    ]
    pairs = [
        (before, after)
        for before, after in pairwise(phases)
        if before[0] != after[0] and {before[1], after[1]} & {"forward"}
    ]
    turns = Counter(after[1] == "forward" for _, after in pairs)
    assert turns[True] > 6
    assert turns[False] > 6


def test_gradients_are_reduced_while_the_last_backward_pass_goes_on() -> None:
    plan = Plan(dp=4, global_batch=8, bucket_elements=96)
    nodes = list(trace(plan, layers=4))
    reduced = [n.id for n in nodes if n.name.startswith("reduce")]
    assert len(reduced) == 4
    last = max(n.id for n in nodes if n.type == NodeType.COMP and n["phase"] == "wgrad")
    assert all(id < last for id in reduced[:-1])
    late = list(trace(plan.replace(overlap_gradients=False), layers=4))
    (only,) = [n for n in late if n.name.startswith("reduce")]
    assert only.id > max(n.id for n in late if n.type == NodeType.COMP and n["phase"] == "wgrad")
    assert only["comm_size"] == sum(int(nodes[id]["comm_size"]) for id in reduced)  # type: ignore[arg-type]


def test_every_gradient_is_reduced_before_the_norm_and_the_norm_before_the_optimizer() -> None:
    for plan in (
        Plan(dp=4, global_batch=8, bucket_elements=96),
        Plan(dp=4, global_batch=8, overlap_gradients=False),
        Plan(dp=4, zero=3, global_batch=8),
    ):
        nodes = list(trace(plan, layers=3))
        norm = next(n.id for n in nodes if n.name == "gradient norm")
        total = next(n.id for n in nodes if n.name == "sum gradient norm")
        for node in nodes:
            if node.name.startswith("reduce"):
                assert reaches(nodes, norm, node.id)
            if node.name.startswith("update"):
                assert reaches(nodes, node.id, total)


def test_weights_are_gathered_before_the_first_use_or_after_the_update() -> None:
    plan = Plan(dp=4, zero=1, global_batch=8, bucket_elements=96)
    nodes = list(trace(plan, layers=3))
    gathers = [n for n in nodes if n.name.startswith("gather")]
    assert [n["microbatch"] for n in gathers] == [0, 0, 0]
    for node in gathers:
        used = next(n for n in nodes if n.type == NodeType.COMP and n["layer"] == node["layer"])
        assert node.id in used.data_deps
    late = list(trace(plan.replace(overlap_parameters=False), layers=3))
    for node in (n for n in late if n.name.startswith("gather")):
        assert all(late[parent].name.startswith("update") for parent in node.data_deps)


def test_gathered_units_are_bounded_by_the_prefetch() -> None:
    for ahead in (1, 2, 3):
        nodes = list(trace(Plan(dp=4, zero=3, prefetch=ahead), layers=8))
        forward = [n for n in nodes if n.type == NodeType.COMP and n["phase"] == "forward"]
        gathers = [n for n in nodes if n.name.startswith("gather") and n["phase"] == "forward"]
        for number, node in enumerate(gathers):
            free = number - ahead - 1
            assert free < 0 or reaches(nodes, node.id, forward[free].id)
            at = number - ahead
            assert at < 0 or not reaches(nodes, node.id, forward[at].id)


def test_offload_is_bounded() -> None:
    nodes = list(trace(Plan(offload_activations=True), layers=8))
    stores = [n for n in nodes if n.type == NodeType.MEM_STORE]
    loads = [n for n in nodes if n.type == NodeType.MEM_LOAD]
    assert [n["tensor_size"] for n in stores] == [100] * 8
    assert [n["layer"] for n in loads] == [n["layer"] for n in reversed(stores)]
    by_layer = {n["layer"]: n.id for n in stores}
    assert all(by_layer[n["layer"]] in n.data_deps for n in loads)
    forward = [n for n in nodes if n.type == NodeType.COMP and n["phase"] == "forward"]
    for number in range(2, 8):
        assert reaches(nodes, forward[number].id, stores[number - 2].id)


def test_the_state_of_two_pieces_is_on_the_device_at_once() -> None:
    plan = Plan(dp=2, zero=1, offload_optimizer=True, bucket_elements=96)
    nodes = list(trace(plan, layers=4))
    loads = [n for n in nodes if n.name.startswith("load state")]
    stores = [n for n in nodes if n.name.startswith("store state")]
    assert [n["tensor_size"] for n in loads] == [48 * 12] * 4
    for number in range(2, 4):
        assert stores[number - 2].id in waits(loads[number])


@pytest.mark.parametrize("name", PLANS)
def test_the_nodes_add_up_to_what_the_passes_say(name: str) -> None:
    plan = PLANS[name]
    shape = SMALL
    workload = train(model_of(shape), plan)
    step = build(plan, shape)
    for device in range(plan.pp):
        tally = tally_device(step, device)
        totals = workload.totals[f"stage{device}"]
        rows = {(phase, kind): ops for kind, phase, _, ops, _ in totals["compute"]}
        for (what, phase, kind), number in tally.items():
            if what == "flops" and number:
                empty = sum(
                    1
                    for drafts in (*step.passes[device].values(), step.ends[device])
                    for item in drafts.items
                    if (item.operation.phase, item.operation.kind) == (phase, kind)
                    and item.computes
                    and not item.operation.tensor_flops + item.operation.vector_flops
                )
                assert empty or rows[phase, kind] == number
        moved = {(kind, group): size for kind, group, _, size in totals["communication"]}
        for (what, kind, group), size in tally.items():
            if what == "bytes" and kind not in ("send", "mem_load", "mem_store"):
                assert moved[kind, group] == size


@st.composite
def splits(draw: st.DrawFn) -> Plan:
    tp, cp, dp, pp = (draw(st.sampled_from((1, 2, 4))) for _ in range(4))
    schedule = draw(st.sampled_from(("1f1b", "zb-h1", "dualpipev")))
    return Plan(
        tp=tp,
        cp=cp,
        cp_kind="all_gather",
        dp=dp,
        pp=pp,
        vpp=PIPELINES[schedule],
        schedule=schedule,
        global_batch=32,
        recompute=draw(st.sampled_from(("none", "selective"))),
        zero=draw(st.sampled_from((0, 1, 3))),
    )


@given(splits(), st.sampled_from((SMALL, EXPERTS)))
@settings(max_examples=30)
def test_matrix_products_add_up_to_the_same_however_they_are_split(
    plan: Plan, shape: Shape
) -> None:
    def products(plan: Plan) -> int:
        step = build(plan, shape)
        ranks = prod((plan.tp, plan.cp, plan.dp))
        return ranks * sum(
            number
            for device in range(plan.pp)
            for (what, _, kind), number in tally_device(step, device).items()
            if what == "flops" and kind in GEMMS
        )

    assert products(plan) == products(Plan(global_batch=32))


def test_equal_plans_give_equal_bytes() -> None:
    plan = PLANS["mirrored"]
    one, two = (train(model_of(SMALL), plan) for _ in range(2))
    assert one.templates == two.templates
    for template in one.templates:
        assert one.template_bytes(template) == two.template_bytes(template)


def test_ranks_of_skewed_experts_differ_only_where_there_are_experts() -> None:
    plan = Plan(pp=2, dp=4, ep=4, routing="zipf:1.2", global_batch=8)
    workload = train(model_of(EXPERTS), plan)
    assert workload.templates == tuple(
        sorted(f"stage{d}{e}" for d in (0, 1) for e in ("", "-ep1", "-ep2", "-ep3"))
    )
    assert works_of(model_of(SMALL), plan.replace(ep=1), 32, 2) == works_of(
        model_of(SMALL), plan.replace(ep=1), 32, 2, 3
    )
