"""Closed forms of pipeline schedules, for any size and durations, and agreement with the oracle.

Sources of the formulas: GPipe and 1F1B, Narayanan et al. (SC 2021), section 2.2; interleaved, the
same; ZB-H1 and ZB-H2, Qi et al. (ICLR 2024), table 1; ZB-V, Qi et al. (NeurIPS 2024); DualPipe and
DualPipeV, DeepSeek's table of bubbles.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.oracles import pipeline as oracle
from yantra.workloads import schedules
from yantra.workloads.schedules.check import find_violation
from yantra.workloads.schedules.execution import Costs, Execution, execute
from yantra.workloads.schedules.in_flight import held, peak_bytes, peaks, peaks_by_chunk
from yantra.workloads.schedules.schedule import Orders

NAMES = schedules.schedules.names()
DURATION = st.integers(1, 12)
DEVICES = st.integers(1, 7)


def run(name: str, p: int, m: int, v: int = 1, **costs: Any) -> tuple[Orders, Execution]:
    schedule = schedules.get(name)
    orders = schedule.orders(p, m, v)
    return orders, execute(orders, schedule.stages(p, v), Costs(**costs))


def durations(F: Any, b: Any, W: Any) -> dict[str, Any]:
    return {"forward": F, "input_gradient": b, "weight_gradient": W}


@st.composite
def sizes(draw: st.DrawFn, name: str) -> tuple[int, int, int]:
    p = draw(DEVICES)
    if name == "dualpipe":
        p += p % 2
    m = draw(st.integers(2 * p, 4 * p))
    v = 1
    if name == "interleaved":
        m, v = p * draw(st.integers(1, 4)), draw(st.integers(2, 4))
    elif name == "interleaved-rounds":
        rounds, v = draw(st.integers(1, 3)), draw(st.integers(2, 4))
        m = rounds * (draw(st.integers(p, 2 * p - 1)) if rounds > 1 else draw(st.integers(1, p)))
        assume(m % max(1, m // p) == 0)
    elif name == "dualpipe":
        m += m % 2
    elif name in ("gpipe", "1f1b", "zb-h1", "zb-h2"):
        m = draw(st.integers(1, 20))
    return p, m, v


@st.composite
def runs(draw: st.DrawFn) -> tuple[str, tuple[int, int, int]]:
    name = draw(st.sampled_from(NAMES))
    return name, draw(sizes(name))


@given(runs(), DURATION, DURATION, DURATION, st.integers(0, 9), st.integers(0, 4))
def test_the_executor_agrees_with_the_oracle(
    run_of: tuple[str, tuple[int, int, int]], F: int, b: int, W: int, latency: int, gain: int
) -> None:
    name, (p, m, v) = run_of
    assume(p * m * v <= 160)
    overlapped = max(F, b + W, F + b + W - gain)
    _, execution = run(name, p, m, v, **durations(F, b, W), overlapped=overlapped, latency=latency)
    schedule = schedules.get(name)
    times = oracle.Times(*map(Fraction, (F, b, W, overlapped, latency)))
    assert execution.makespan == oracle.makespan(
        schedule.orders(p, m, v), schedule.stages(p, v), times
    )


@given(runs())
def test_a_possible_size_gives_a_schedule(run_of: tuple[str, tuple[int, int, int]]) -> None:
    name, (p, m, v) = run_of
    schedule = schedules.get(name)
    assert schedule.requires(p, m, v) is None
    assert find_violation(schedule.orders(p, m, v), schedule.stages(p, v), m) is None


@given(runs(), DURATION, DURATION, DURATION, st.integers(0, 9))
def test_no_schedule_beats_its_work_or_one_micro_batch_alone(
    run_of: tuple[str, tuple[int, int, int]], F: int, b: int, W: int, latency: int
) -> None:
    name, (p, m, v) = run_of
    stages = schedules.get(name).stages(p, v)
    _, execution = run(name, p, m, v, **durations(F, b, W), latency=latency)
    work = m * (F + b + W) * (stages.count // p)
    assert execution.busy == (work,) * p
    assert execution.makespan >= work
    assert execution.makespan >= stages.count * (F + b)
    assert all(
        0 <= inside <= idle
        for inside, idle in zip(execution.idle_inside, execution.idle, strict=True)
    )
    slower = run(name, p, m, v, **durations(F, b, W), latency=latency + 1)[1]
    assert slower.makespan >= execution.makespan


@given(
    st.sampled_from(["gpipe", "1f1b"]), DEVICES, st.integers(1, 20), DURATION, DURATION, DURATION
)
def test_gpipe_and_1f1b(name: str, p: int, m: int, F: int, b: int, W: int) -> None:
    orders, execution = run(name, p, m, **durations(F, b, W))
    assert execution.makespan == (m + p - 1) * (F + b + W)
    assert execution.bubble == pytest.approx((p - 1) / (m + p - 1))
    assert peaks(orders) == tuple(m if name == "gpipe" else min(m, p - i) for i in range(p))


@given(DEVICES, st.integers(1, 4), st.integers(2, 5), DURATION, DURATION, DURATION)
def test_interleaved(p: int, groups: int, v: int, F: int, b: int, W: int) -> None:
    m = p * groups
    share = {key: Fraction(value, v) for key, value in durations(F, b, W).items()}
    orders, execution = run("interleaved", p, m, v, **share)
    assert execution.makespan == m * (F + b + W) + (p - 1) * Fraction(F + b + W, v)
    assert peaks(orders) == tuple(min(m * v, p * v + p - 1 - 2 * i) for i in range(p))


@given(DEVICES, st.integers(1, 3), st.integers(2, 5), DURATION, DURATION, DURATION)
def test_rounds_of_one_micro_batch_per_device_are_interleaved(
    p: int, groups: int, v: int, F: int, b: int, W: int
) -> None:
    rounds = schedules.get("interleaved-rounds").orders(p, p * groups, v)
    assert rounds == schedules.get("interleaved").orders(p, p * groups, v)


@given(st.data(), st.integers(2, 7), st.integers(2, 5), DURATION, DURATION, DURATION)
def test_devices_wait_for_micro_batches_that_a_round_lacks(
    data: st.DataObject, p: int, v: int, F: int, b: int, W: int
) -> None:
    """Each of a round's v - 1 returns to the first device waits for p - m micro-batches."""
    m = data.draw(st.integers(1, p))
    share = {key: Fraction(value, v) for key, value in durations(F, b, W).items()}
    _, execution = run("interleaved-rounds", p, m, v, **share)
    passes = m + p - 1 + (v - 1) * p
    assert execution.makespan == passes * Fraction(F + b + W, v)


@given(DEVICES, st.integers(0, 14), DURATION, DURATION, DURATION)
def test_zb_h1(p: int, more: int, F: int, b: int, W: int) -> None:
    m, (F, b, W) = p + more, (F + W, b + W, W)
    orders, execution = run("zb-h1", p, m, **durations(F, b, W))
    assert execution.makespan == m * (F + b + W) + (p - 1) * (F + b - W)
    assert peaks(orders) == (p,) * p


@given(st.integers(2, 7), st.integers(2, 14), DURATION)
def test_zb_h1_has_a_third_of_the_bubble_of_1f1b(p: int, more: int, t: int) -> None:
    work = (p + more) * 3 * t
    ours = run("zb-h1", p, p + more, **durations(t, t, t))[1].makespan - work
    assert 3 * ours == run("1f1b", p, p + more, **durations(t, t, t))[1].makespan - work


@given(DEVICES, st.integers(0, 14), DURATION)
def test_zb_h2_where_passes_take_equal_time(p: int, more: int, t: int) -> None:
    m = 2 * p - 1 + more
    orders, execution = run("zb-h2", p, m, **durations(t, t, t))
    assert execution.makespan == 3 * m * t + (p - 1) * t
    assert execution.idle_inside == (0,) * p
    assert peaks(orders) == (2 * p - 1,) * p


@given(st.integers(2, 6), st.integers(0, 10), DURATION, DURATION, DURATION)
def test_zb_h2_where_they_do_not(p: int, more: int, F: int, b: int, W: int) -> None:
    F += W
    assume(F + b >= 2 * W)
    _, execution = run("zb-h2", p, 2 * p + more, **durations(F, b, W))
    assert execution.idle_inside[0] == (p - 1) * (F + b - 2 * W)


@given(DEVICES, st.integers(0, 20), DURATION)
@example(p=16, more=65, t=1)
def test_zb_v_where_passes_take_equal_time(p: int, more: int, t: int) -> None:
    m = 2 * p + more
    orders, execution = run("zb-v", p, m, **durations(t, t, t))
    assert execution.makespan == 2 * m * 3 * t + (p - 1) * t
    assert execution.idle_inside == (0,) * p
    assert peaks(orders) == (2 * p,) * p


@given(
    st.booleans(),
    st.integers(1, 5),
    st.integers(0, 10),
    DURATION,
    DURATION,
    DURATION,
    st.integers(0, 20),
)
def test_dualpipe_and_dualpipev(
    is_v: bool, half: int, more: int, F: int, longer: int, W: int, gain: int
) -> None:
    """The bubble is (half - 1)(F&B + B - 3W) where F = b >= W; where b > F, that at the most."""
    F += W
    name, p, each = ("dualpipev", half, 2 * half) if is_v else ("dualpipe", 2 * half, 4 * half)
    m = each + more * (1 if is_v else 2)
    for b in (F, F + longer):
        overlapped = max(F, b + W, F + b + W - gain)
        orders, execution = run(name, p, m, **durations(F, b, W), overlapped=overlapped)
        bubble = (half - 1) * (overlapped + b + W - 3 * W)
        assert max(execution.idle) == bubble if b == F else max(execution.idle) <= bubble
        if b == F and overlapped == F + b + W:
            assert execution.idle == (bubble,) * p
        assert peaks(orders) == (p + 1 if name == "dualpipe" else 2 * p + 1,) * p


@given(runs())
def test_peaks_by_chunk_bound_the_peaks(run_of: tuple[str, tuple[int, int, int]]) -> None:
    name, (p, m, v) = run_of
    schedule = schedules.get(name)
    orders, chunks = schedule.orders(p, m, v), schedule.stages(p, v).chunks
    for order, together, apart in zip(orders, peaks(orders), peaks_by_chunk(orders), strict=True):
        assert max(apart) <= together <= sum(apart)
        assert peak_bytes(order, [1] * chunks) == together
        for chunk in range(chunks):
            only = [10 * (other == chunk) for other in range(chunks)]
            assert peak_bytes(order, only) == 10 * apart[chunk]
        assert peak_bytes(order, range(1, chunks + 1)) == max(
            sum(count * (chunk + 1) for chunk, count in enumerate(counts))
            for counts in held(order, chunks)
        )
