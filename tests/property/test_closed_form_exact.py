"""Where the closed form of plans is exact, it equals slower ways to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives.bandwidth import comm_size
from yantra.explore.closed_form.closed_form import ClosedForm, _begins
from yantra.explore.closed_form.devices import Devices, Rows
from yantra.explore.closed_form.layouts import Layouts
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.passes import Part
from yantra.explore.closed_form.pipeline import one_chunk, pipeline
from yantra.explore.closed_form.replicas import Held, _Cut, _cut, _sums, groups_of
from yantra.explore.closed_form.sharded import Passes
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Traces, cluster_parts
from yantra.scenario.one_collective import collective_on
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.operations import Weight
from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.interleaved import Interleaved
from yantra.workloads.schedules.one_f_one_b import OneFOneB
from yantra.workloads.training.step.buckets import buckets_of

CLUSTER = "hgx-h100"


def one_forward_one_backward(forward: list[int], backward: list[int], m: int, message: int) -> int:
    """Return the end of the last pass: each device does its passes in order, as soon as it can."""
    p = len(forward)
    orders: list[list[tuple[str, int]]] = []
    for device in range(p):
        ahead = min(p - 1 - device, m)
        turns = [one for at in range(m - ahead) for one in (("F", ahead + at), ("B", at))]
        late = [("B", at) for at in range(m - ahead, m)]
        orders.append([("F", at) for at in range(ahead)] + turns + late)
    ends: dict[tuple[str, int, int], int] = {}
    while len(ends) < 2 * p * m:
        for device, order in enumerate(orders):
            before = 0
            for kind, at in order:
                near = device - 1 if kind == "F" else device + 1
                needs = ends.get((kind, near, at)) if 0 <= near < p else -message
                if needs is None:
                    break
                takes = forward[device] if kind == "F" else backward[device]
                before = max(before, needs + message) + takes
                ends[kind, device, at] = before
    return max(ends.values())


def closed(forward: list[int], backward: list[int], m: int, message: int) -> float:
    def column(value: float) -> Any:
        return np.array([float(value)])

    three = [0, min(1, len(forward) - 1), len(forward) - 1]
    rows = Rows(
        [column(forward[at]) for at in three],
        [column(backward[at]) for at in three],
        column(sum(forward)),
        column(sum(backward)),
        *[column(0)] * 3,
    )
    slowest = max(map(sum, zip(forward, backward, strict=True)))
    sizes = (column(value) for value in (len(forward), m, message, slowest))
    return float(one_chunk(rows, *sizes)[0])


@given(st.integers(0, 2**32))
def test_a_pipeline_behind_a_slow_first_device_takes_its_passes_and_its_messages(seed: int) -> None:
    draw = Random(seed)
    p, m, message = draw.choice((2, 3, 4)), draw.randrange(1, 9), draw.randrange(8)
    one, other = draw.randrange(1, 20), draw.randrange(1, 20)  # of each further device
    forward = [draw.randrange(1, 30) if p == 2 else one, *[one] * (p - 1)]
    backward = [0, *[other] * (p - 1)]
    behind = sum(forward[1:]) + sum(backward) + 2 * (p - 1) * message
    backward[0] = behind + draw.randrange(5)
    expected = one_forward_one_backward(forward, backward, m, message)
    assert closed(forward, backward, m, message) == expected


@given(st.integers(0, 2**32))
def test_one_micro_batch_takes_all_passes_and_crosses_all_borders_twice(seed: int) -> None:
    draw = Random(seed)
    p, message = draw.choice((2, 3, 4)), draw.randrange(8)
    ends = [draw.randrange(1, 20) for _ in range(6)]
    forward, backward = ([a, *[b] * (p - 2), c] for a, b, c in (ends[:3], ends[3:]))
    whole = sum(forward) + sum(backward) + 2 * (p - 1) * message
    assert closed(forward, backward, 1, message) == whole
    assert one_forward_one_backward(forward, backward, 1, message) == whole


def interleaved(p: int, v: int, m: int, part: Callable[[str, int, int], Pass], message: int) -> int:
    """Return when all is computed and reduced: each device does its passes as soon as it can.

    A pass gathers behind what its device has computed and reduced, and computes when its message is
    there, too; what it reduces then runs beside the next pass.
    """
    orders = [list(Interleaved("interleaved").order(device, p, m, v)) for device in range(p)]
    ends: dict[tuple[str, int, int], int] = {}
    free, reduced = [0] * p, [0] * p
    while any(orders):
        for device, order in enumerate(orders):
            while order:
                kind, number, chunk = order[0]
                stage = chunk * p + device
                near = stage - 1 if kind == "F" else stage + 1
                arrives = ends.get((kind, number, near)) if 0 <= near < p * v else -message
                if kind == "B" and near == p * v:
                    arrives = ends["F", number, stage] - message
                if arrives is None:
                    break
                gathers, computes, reduces = part(kind, device, chunk)
                ready = max(free[device], reduced[device]) + gathers
                free[device] = max(ready, arrives + message) + computes
                reduced[device] = free[device] + reduces
                ends[kind, number, stage] = free[device]
                del order[0]
    return max(*free, *reduced)


Pass = tuple[int, int, int]
"""What a pass gathers, computes and reduces."""


@given(st.integers(0, 2**32))
def test_an_interleaved_pipeline_waits_for_its_ends_and_for_what_crosses_it(seed: int) -> None:
    draw = Random(seed)
    p, v, m = draw.choice((2, 4)), draw.choice((2, 3)), draw.choice((1, 2, 3))
    m, message, gathers, reduces = p * m, draw.randrange(4), draw.randrange(4), draw.randrange(4)
    times = {"F": draw.randrange(8, 20), "B": draw.randrange(20, 40)}
    front = {"F": draw.randrange(3), "B": draw.randrange(3)}
    more = draw.randrange(3)  # that the front gathers before its first layer
    tail = {way: took + more + draw.randrange(3) for way, took in front.items()}

    def part(kind: str, device: int, chunk: int) -> Pass:
        computes = times[kind]
        own = gathers
        if device == chunk == 0:
            computes += front[kind]
            own += more * (kind == "F")
        if device == p - 1 and chunk == v - 1:
            computes += tail[kind]
        return own, computes, reduces * (kind == "B")

    def column(value: float) -> Any:
        return np.array([float(value)])

    none = Part(*[column(0)] * len(Part._fields))
    ends = [
        none._replace(forward=column(of["F"] + extra), backward=column(of["B"]))
        for of, extra in ((front, more), (times, 0), (tail, 0))
    ]
    on_top = column(gathers), column(gathers + reduces), column(gathers), column(reduces)
    counts = Layouts([0] * (p * v)).layers(np.array([[p, v, 0, 0]]))
    devices = Devices(Passes(ends, *on_top), counts, column(p), column(v))
    c = {"pp": column(p), "vpp": column(v)}
    found, _ = pipeline(devices, c, column(m), column(message))
    ran = interleaved(p, v, m, part, message)
    assert found[0] == ran if message <= gathers else found[0] >= ran


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize(("p", "v"), [(1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (4, 3)])
def test_reductions_begin_behind_the_forward_passes_before_the_first_backward_pass(
    p: int, v: int, device: int
) -> None:
    """And behind that, unless it is cut into buckets. A chunk's passes take 1 and 10 here."""
    schedule = Interleaved() if v > 1 else OneFOneB()
    for m in (p, 2 * p, 6 * p):
        order = [step.kind for step in schedule.order(device * (p - 1), p, m, v)]
        sizes = {"pp": np.array([p]), "vpp": np.array([v])}
        passes = np.array([1.0 * v]), np.array([10.0 * v])
        found = _begins(passes, sizes, np.array([m]), device)
        whole = 0 if v == 1 and device == 0 else 10
        assert found[0] == order.index("B") + whole


@pytest.mark.parametrize(("tp", "dp", "pp"), [(8, 1, 2), (4, 2, 2), (8, 2, 4)])
def test_a_tied_embedding_is_summed_as_two_ranks_sum(tp: int, dp: int, pp: int) -> None:
    ranks, elements = tp * dp * pp, 50_000_000
    sizes = {"tp": tp, "cp": 1, "dp": dp, "pp": pp}
    one = {name: np.array([size]) for name, size in sizes.items()}
    form = ClosedForm(find("llama3-8b"), Machine(CLUSTER, ranks))
    far = tp * dp * (pp - 1)
    ends = [TraceBuilder() for _ in range(ranks)]
    for rank in (0, far):
        ends[rank].collective(CollectiveType.ALL_REDUCE, 4 * elements, group="1")
    traces = Traces(traces=tuple(end.build() for end in ends), groups=((1, (0, far)),))
    summed = simulate(Scenario(workload=traces, **cluster_parts(CLUSTER, ranks, stack="roofline")))
    found = form._tied(np.array([4.0 * elements]), one)[0]
    assert found == pytest.approx(summed.makespan_ns, rel=0.01)


def test_the_first_bucket_has_what_is_before_the_layers_and_half_a_bucket_in_the_mean() -> None:
    element, front = 1_000_000, 60_000_000
    plan = Plan(dp=8, overlap_gradients=True)
    said, cut = [], []
    for count in range(120, 400):
        weights = [Weight("table", "front", front)]
        weights += [Weight(f"w{at}", f"layer {at}", element) for at in range(count)]
        cut.append(buckets_of(weights, plan, is_first=True)[-1].elements)
        layers, whole = float(count * element), float(count * element + front)
        columns = (
            np.array([one])
            for one in (whole, layers, float(front), layers, layers, 0.0, float(count))
        )
        said.append(_cut(Held(*columns), np.array([1.0]), float(plan.bucket_size)).opening[0])
    assert np.mean(said) == pytest.approx(np.mean(cut), rel=0.02)
    assert plan.bucket_size < np.mean(cut) < front + plan.bucket_size


@pytest.mark.parametrize("stack", ["roofline", "unknown"])
def test_buckets_take_as_long_as_their_collectives_one_after_the_other(stack: str) -> None:
    """Each has its own latency: three in chunk 0, and one in every other chunk."""
    machine, kind, width = Machine(CLUSTER, 16, stack=stack), CollectiveType.ALL_REDUCE, 4.0
    usual, chunk = 40e6, 90e6
    sizes = (3 * usual, usual, usual, chunk, chunk, 3.0)
    cut = _Cut(*(np.array([size]) for size in sizes))
    groups = groups_of(np.array([8]), np.array([1]))
    kinds = ((kind, np.array([0])),)
    found = _sums(machine, groups, kinds, cut, np.array([4]), np.array([width]))
    one, whole = (float(machine.collective_ns(kind, 8, 1, width * n)) for n in (usual, chunk))
    assert [float(of[0]) for of in found] == pytest.approx([3 * one, one, whole, whole], rel=1e-9)
    nothing = _sums(
        machine, groups, kinds, cut._replace(first=np.zeros(1), last=np.zeros(1)),
        np.array([4]), np.array([width]),
    )  # fmt: skip
    assert (nothing.first[0], nothing.last[0]) == (0, 0)
    assert nothing.chunk[0] < found.chunk[0]


@pytest.mark.parametrize("cluster", ["hgx-h100", "tpu-v6e", "gb200-nvl72", "trainium2"])
@pytest.mark.parametrize("kind", [CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER])
@pytest.mark.parametrize("stack", ["roofline", "unknown"])
def test_a_plan_takes_a_collective_of_all_ranks_as_it_is_simulated(
    stack: str, cluster: str, kind: CollectiveType
) -> None:
    ranks = 144 if cluster == "gb200-nvl72" else 16
    machine = Machine(cluster, ranks, stack=stack)
    for size in (1 << 24, 1 << 30):
        scenario = collective_on(cluster, kind, size, ranks, {"stack": stack})
        simulated = simulate(scenario).makespan_ns
        per_rank = comm_size(kind.name.lower(), size, ranks)
        assert machine.collective_ns(kind, ranks, 1, per_rank) == pytest.approx(simulated, rel=0.01)
