"""What a result adds up, exactly: gains, shares, what waiting costs, and use of links."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters import GB_PER_S, LATENCY_NS, dimension, scenario
from yantra.base.fields import Plugin
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.result import Result, bound
from yantra.result.bound import Bound, Gain, largest
from yantra.result.critical_path import Step
from yantra.result.disturbed import Disturbed
from yantra.result.figures import Figures
from yantra.result.link_counts import lanes_of
from yantra.result.network import DimensionUse
from yantra.result.packets import lines
from yantra.result.path import MIXED, path_form
from yantra.result.shares import tenths
from yantra.result.tables import breakdown
from yantra.result.waits import waits
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Device
from yantra.scenario.quirks import Quirk

SIZE = 1_200_000


def computing(*micros: int) -> list[TraceBuilder]:
    ranks = []
    for duration in micros:
        trace = TraceBuilder()
        if duration:
            trace.compute(duration_micros=duration)
        ranks.append(trace)
    return ranks


def reducing(ranks: int) -> list[TraceBuilder]:
    traces = computing(*[3] * ranks)
    for trace in traces:
        trace.collective(CollectiveType.ALL_REDUCE, SIZE, after=trace.nodes[-1].id)
    return traces


def gains_of(
    result: Result, monkeypatch: pytest.MonkeyPatch, uses: list[DimensionUse] | None = None
) -> list[Gain]:
    found: list[Gain] = []

    def weigh(gains: Any, makespan: int, *, estimate: bool) -> Bound:
        assert makespan == max(result.outcome.finish) and estimate
        found.extend(gains)
        return largest(found, makespan, estimate=estimate)

    monkeypatch.setattr(bound, "largest", weigh)
    known = result.dimension_uses if uses is None else uses
    assert bound.estimated(result.model, result.outcome, known).estimate
    return found


# --- Gains


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_exposed_communication_is_what_links_take_and_the_rest_is_latency(
    network: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, fast = dimension("ring", 4, GB_PER_S / 8), dimension("ring", 2)
    one_chunk = Collectives(all_reduce=("ring", "ring"), chunks=1)
    result = simulate(scenario(reducing(8), fast, slow, network=network, collectives=one_chunk))
    makespan = max(result.outcome.finish)
    exposed = breakdown(result.model, result.outcome, 0)[1]
    assert exposed == makespan - 3_000_000
    found = gains_of(result, monkeypatch)
    links = [gain for gain in found if gain.kind == "network"]
    busy = [use.busy for use in result.dimension_uses]
    assert busy[1] > busy[0] > 0
    assert [gain.ticks for gain in links] == [int(busy[1] * makespan), int(busy[0] * makespan)]
    (latency,) = (gain.ticks for gain in found if gain.kind == "latency")
    assert sum(gain.ticks for gain in links) + latency == exposed
    assert latency > 0


def test_kernels_gain_what_the_other_half_of_the_roofline_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 ns of operations, with 250 ns of bytes behind them."""
    traces = [TraceBuilder(), TraceBuilder()]
    for trace in traces:
        trace.compute(num_ops=1_000_000, tensor_size=250)
    device = Device(peak_flops=1e12, memory_bytes_per_s=1e9, compute="roofline")
    result = simulate(scenario(traces, dimension("ring", 2), device=device))
    assert max(result.outcome.finish) == 1_000_000
    found = {gain.kind: gain.ticks for gain in gains_of(result, monkeypatch)}
    assert (found["compute"], found["memory_bandwidth"]) == (750_000, 0)


def gain(kind: str, ticks: int, **more: Any) -> Gain:
    return Gain(kind, f"the {kind}", f"no {kind}", ticks, **more)


def test_the_first_of_the_largest_gains_bounds_a_run_and_the_next_is_named_from_1_percent() -> None:
    pair = largest([gain("a", 200), gain("b", 200)], 1000)
    assert (pair.kind, pair.gain, pair.estimate) == ("a", 0.2, False)
    assert pair.text.endswith("bound by the a: with no a it would be 20.0 % shorter; "
                              "next is the b, 20.0 %")  # fmt: skip
    told = [largest([gain("a", 9), gain("b", 500)], 1000), largest([gain("b", 500)], 1000)]
    assert [one.text for one in told] == 2 * [
        "bound by the b: with no b it would be 50.0 % shorter"
    ]
    assert "next is the a, 1.0 %" in largest([gain("a", 10), gain("b", 500)], 1000).text
    assert largest([gain("a", 1)], 1000, estimate=True).text.endswith(" (estimate)")


def test_a_run_without_gains_is_bound_by_none() -> None:
    for gains in ([], [gain("a", 0)], [gain("", 500)]):
        assert largest(gains, 1000) == Bound("none", largest([], 1000).text)
    assert largest([gain("a", 5)], 0).kind == "none"


def test_a_cause_with_parts_is_named_by_its_one_part_or_with_its_largest() -> None:
    parts = [gain("network", 300), gain("network", 100)]
    whole = Gain("network", "all links", "infinite links", 350, holds_others=True)
    text = largest([whole, *parts], 1000).text
    assert text == (
        "bound by all links: with infinite links it would be 35.0 % shorter "
        "(30.0 % with no network alone)"
    )
    one = largest([whole._replace(ticks=300), *parts], 1000).text
    assert one.startswith("bound by the network: with no network it would be 30.0 % shorter")


@pytest.mark.parametrize(
    ("short", "long", "runs", "kind"),
    [
        ([gain("a", 500)], [gain("b", 600)], [False, True], "b"),
        ([gain("a", 500)], None, [False, True], "a"),
        ([gain("a", 500), gain("", 10)], [gain("b", 600)], [False], "a"),
        (None, [gain("b", 600)], [False, True], "b"),
    ],
)
def test_a_report_weighs_by_longer_runs_what_is_not_whole_and_keeps_the_rest(
    short: list[Gain] | None, long: list[Gain] | None, runs: list[bool], kind: str
) -> None:
    asked: list[bool] = []
    result = simulate(scenario(computing(1, 1), dimension("ring", 2)))

    def gains(_: Result, may_be_long: bool) -> list[Gain] | None:
        asked.append(may_be_long)
        return long if may_be_long else short

    result._further = SimpleNamespace(gains=gains)  # type: ignore[assignment]
    before = result.bound_by
    result.weigh()
    assert asked == runs
    assert result.bound_by.kind == kind
    assert before.estimate == (short is None)
    assert result.gains == (long if kind == "b" else short)


# --- What waiting costs


def test_uneven_work_costs_the_most_less_the_mean_of_ranks_that_work() -> None:
    result = simulate(scenario(computing(1, 3, 5, 8), dimension()))
    assert waits(result.model, result.outcome) == (0, 8_000_000 - 17_000_000 // 4)
    idle = simulate(scenario(computing(1, 3, 0, 8), dimension()))
    assert waits(idle.model, idle.outcome) == (0, 8_000_000 - 12_000_000 // 3)
    alike = simulate(scenario(computing(3, 3, 3, 8), dimension()))
    assert waits(alike.model, alike.outcome) == (0, 8_000_000 - 17_000_000 // 4)


def test_a_bubble_is_what_the_busiest_rank_waits() -> None:
    """Rank 1 waits 7 us for a message, and then computes 9 us."""
    sender, receiver, *others = computing(7, 0, 1, 1)
    sender.send(1, SIZE, after=sender.nodes[-1].id)
    received = receiver.recv(0, SIZE)
    receiver.compute(duration_micros=9, after=received)
    result = simulate(scenario([sender, receiver, *others], dimension()))
    assert result.ranks.values("waiting_ns")[1] == 7000
    assert waits(result.model, result.outcome).bubble == 7_000_000
    assert result.makespan_ns == pytest.approx(16_000 + LATENCY_NS + SIZE / GB_PER_S, abs=0.001)


# --- Shares


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([1, 1, 1], [334, 333, 333]),
        ([1, 2], [333, 667]),
        ([1, 1, 4], [167, 167, 666]),
        ([0, 5], [0, 1000]),
        ([0, 0], [0, 0]),
        ([0.001], [1000]),
    ],
)
def test_missing_tenths_go_to_the_largest_remainders(
    parts: list[float], expected: list[int]
) -> None:
    assert tenths(parts) == expected


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=9).filter(any))
def test_shares_add_up_and_are_within_a_tenth(parts: list[int]) -> None:
    found = tenths(parts)
    assert sum(found) == 1000
    for part, tenth in zip(parts, found, strict=True):
        assert abs(Fraction(part * 1000, sum(parts)) - tenth) < 1


# --- Links


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_a_ring_uses_the_bytes_of_its_algorithm(network: Any) -> None:
    """A rank sends 2 x 3/4 of an all-reduce; a ring of four has eight links."""
    result = simulate(scenario(reducing(4), dimension(), network=network))
    (use,) = result.dimension_uses
    assert use.bytes == 4 * 2 * 3 * SIZE // 4
    assert (use.size, use.links) == (4, 8)
    whole = GB_PER_S * result.makespan_ns
    assert use.utilisation == pytest.approx(use.bytes / (8 * whole), rel=1e-12)
    links = result.links
    assert sum(links.values("bytes")) == use.bytes
    assert max(links.values("busy")) == pytest.approx(use.busy, rel=1e-12)
    for carried, busy in zip(links.values("bytes"), links.values("busy_ns"), strict=True):
        assert busy == pytest.approx(carried / GB_PER_S, abs=0.1)


def over_a_tree() -> Result:
    options = (("k", 4), ("bytes_per_ns", GB_PER_S), ("latency_ns", LATENCY_NS))
    tree = Plugin(kind="fat_tree", options=options)
    return simulate(
        scenario(
            reducing(16),
            dimension("ring", 16),
            fabric=tree,
            network="store_and_forward",
        )
    )


def test_labels_of_a_fabric_count_once_for_all_links_and_one_alone_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = over_a_tree()
    busiest = max(result.dimension_uses, key=lambda use: use.busy)
    ticks = int(busiest.busy * max(result.outcome.finish))
    for uses, name in ((result.dimension_uses, "all links"), ([busiest], busiest.label)):
        found = [one for one in gains_of(result, monkeypatch, uses) if one.kind == "network"]
        assert [(one.label, one.ticks) for one in found] == [
            (f"the network, bandwidth of {name}", ticks)
        ]


def test_a_label_of_a_fabric_is_as_busy_as_its_busiest_link() -> None:
    result = over_a_tree()
    links = result.links
    rows = list(zip(*map(links.values, ("dimension", "bytes", "busy")), strict=True))
    fabric = result.model.fabric
    assert fabric is not None
    assert len(result.dimension_uses) > 1
    for use in result.dimension_uses:
        own = [(size, busy) for at, size, busy in rows if at == use.dimension]
        assert use.bytes == sum(size for size, _ in own)
        assert use.busy == pytest.approx(max((busy for _, busy in own), default=0.0), rel=1e-12)
        assert use.links == fabric.label_links(use.dimension)
        capacity = use.links * GB_PER_S * result.makespan_ns
        assert use.utilisation == pytest.approx(use.bytes / capacity, rel=1e-12)


# --- Steps, collectives and packets


@pytest.mark.parametrize(
    ("field", "other", "joined"),
    [
        ("kind", "network", MIXED),
        ("rank", 4, None),
        ("node", 7, None),
        ("name", "b", ""),
        ("peer", 5, None),
        ("dimension", 1, None),
        ("peer", 3, 3),
    ],
)
def test_joined_steps_keep_what_they_have_in_common(field: str, other: Any, joined: Any) -> None:
    first = Step("compute", 1, 2, "a", 0.0, 5.0, 3, 0)
    second = first._replace(start_ns=5.0, end_ns=9.0, **{field: other})
    form = path_form([first, second], lambda rank, node: "", most=1)
    expected = first._replace(end_ns=9.0, **{field: joined})
    assert form["steps"] == {name: [value] for name, value in expected._asdict().items()}
    assert (form["length_ns"], form["step_count"]) == (9, 2)


def test_a_collective_of_no_group_has_the_ranks_of_all_dimensions() -> None:
    made = scenario(reducing(6), dimension("ring", 2), dimension("ring", 3))
    table = simulate(made).collectives
    rates = table.values("algorithm_bandwidth_gb_per_s")
    bus = [rate * 2 * 5 / 6 for rate in rates]
    assert table.values("bus_bandwidth_gb_per_s") == pytest.approx(bus, rel=1e-12)


def test_rings_of_groups_in_a_row_use_one_lane() -> None:
    """As ASTRA-sim has them; elsewhere a ring of two queues goes both ways."""
    collectives = Collectives(all_reduce=("ring",), queues_per_dimension=2)
    made = scenario(reducing(4), dimension(), collectives=collectives)
    model: Any = SimpleNamespace(scenario=made, quirks={Quirk.GROUP_RING}, groups=[(1, (0, 1))])
    assert lanes_of(model, 0, {"all_reduce"}) == 1
    model.quirks = set()
    assert lanes_of(model, 0, {"all_reduce"}) == 2
    assert lanes_of(model, 0, {"all_gather"}) == 1


@pytest.mark.parametrize(("high", "said"), [(1000.0, "no interval"), (2000.0, "1.000 us")])
def test_kernels_carried_to_another_device_give_the_run_an_interval(high: float, said: str) -> None:
    row = {"op_class": "all", "kernels": 1, "recorded_ns": 10.0, "ns": 20.0, "low_ns": 15.0}
    of = Figures(carried=[row | {"high_ns": 25.0}], time_low_ns=1000.0, time_high_ns=high)
    assert said in dict(of.lines())["the run"]


def test_packets_are_told_by_what_happened_to_them() -> None:
    quiet = {"packets": 1000, "acks": 1, "marked_acks": 0, "drops": 1, "pauses": 0}
    crossed = "1,000 packets crossed a link; 0 of 1 ACK carried a mark, 1 packet was dropped"
    assert lines(quiet) == [crossed]
    told = {"skipped": 500, "pauses": 2, "paused_ns": 3000.0, "trims": 1}
    told |= {"longest_queue": "nic 3", "queue_max_bytes": 4096, "timeouts_without_loss": 5}
    assert lines(quiet | told) == [
        crossed,
        "switches trimmed 1 packet",
        "skipped 50.0 % of these crossings (repeated steps); exact",
        "2 pauses, 3.000 us over all ports",
        "5 timeouts without a loss: a silence was a queue; a longer retransmission avoids them",
        "the longest queue had 4 KiB, from nic 3",
    ]


def test_a_file_that_does_not_say_what_disturbed_a_run_says_nothing_did() -> None:
    found = Disturbed.of_dict({"changes": 2}, 5.0)
    assert found == Disturbed(5.0, (), 2, 0, 0, 0.0, 0, 0, 0, 0, None, None)
    assert found.slowdown_by_failures is None and found.slowdown_by_background is None
