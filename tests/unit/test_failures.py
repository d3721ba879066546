"""Failures end to end, by hand. Links of 10 GB/s and 1 us over two leaves and two spines: 1 MB from
rank 0 to rank 2 takes 4 us of latency and 100 us.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import identities
from yantra.base import trust
from yantra.base.errors import ConfigError, DeadlockError, UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.compile.failures import _rates, failures_of
from yantra.export.stored import load_result
from yantra.result import Result
from yantra.result.disturbed import Disturbed
from yantra.run.simulate import run, simulate
from yantra.scenario import Scenario, load

MB = 1_000_000
FORK = "{kind: packet, options: {semantics: ns3_fork}}"
SPINES = (
    "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 2, bandwidth: 10 GB/s,"
    " latency: 1 us, uplink_bandwidth: 10 GB/s}"
)


def _write(folder: Path, failures: str, *, network: str = "flow", more: str = "") -> Path:
    traces = [TraceBuilder(rank=rank) for rank in range(4)]
    traces[0].send(2, MB, tag=0, name="send")
    traces[2].recv(0, MB, tag=0, name="receive")
    traces[1].compute(duration_micros=100, name="kernel")
    for rank, trace in enumerate(traces):
        trace.build().write(str(folder / f"job.{rank}.et"))
    file = folder / "job.yaml"
    file.write_text(
        f'workload: {{traces: "job.{{rank}}.et"}}\nnetwork: {network}\n{more}'
        "collectives: {endpoint_delay: 0 ns}\ncluster:\n"
        "  topology: [{kind: ring, size: 4, bandwidth: 10 GB/s, latency: 1 us}]\n"
        f"  fabric: {SPINES}\n  routing: shortest\n  reroute_delay: 10 us\n  failures: {failures}\n"
    )
    return file


def _scenario(folder: Path, failures: str, **options: str) -> Scenario:
    return load(_write(folder, failures, **options))


def _end(result: Result, name: str = "receive") -> float:
    rows = result.nodes.as_dict()
    return dict(zip(rows["name"], rows["end_ns"], strict=True))[name]


@pytest.mark.parametrize(
    ("failures", "end_ns", "rerouted", "waiting_ns"),
    [
        # the other spine after 10 us
        ("[{switch: spine 0, at: 50 us}]", 114_000, 1, 10_000),
        # back before anyone knows
        ("[{switch: spine 0, at: 50 us, for: 4 us}]", 108_000, 0, 4_000),
        # the spine that is not on the way
        ("[{switch: spine 1, at: 50 us}]", 104_000, 0, 0),
        # both, so it waits until one is back, and those that knew wait with it
        ("[{switch: spine, at: 50 us, for: 30 us}]", 134_000, 0, 30_000),
        # its only leaf
        ("[{switch: leaf 0, at: 50 us, for: 30 us}]", 134_000, 0, 30_000),
        # the network card of the receiver
        ("[{nic: 2, at: 50 us, for: 20 us}]", 124_000, 0, 20_000),
        # one port of the sender, to its leaf
        ("[{nic: 0, to: leaf 0, at: 50 us, for: 5 us}]", 109_000, 0, 5_000),
        # it flaps: three times down for 2 us
        ("[{nic: 0, at: 50 us, for: 2 us, every: 10 us, times: 3}]", 110_000, 0, 6_000),
        # a cable at half its rate: 54 us of bytes take 108
        ("[{link: [leaf 0, spine 0], at: 50 us, keeps: 0.5}]", 158_000, 0, 0),
        # half, and a quarter for 20 us within: 50 us at 10, 20 at 2.5, 45 at 5 GB/s
        (
            "[{link: [leaf 0, spine 0], at: 54 us, keeps: 0.5},"
            " {switch: spine 0, at: 54 us, for: 20 us, keeps: 0.25}]",
            164_000,
            0,
            0,
        ),
        # a cable that fails under a failed switch stays down until both are back
        (
            "[{link: [leaf 0, spine 0], at: 50 us, for: 4 us},"
            " {switch: spine 0, at: 52 us, for: 6 us}]",
            112_000,
            0,
            8_000,
        ),
    ],
)
def test_a_message_beside_a_failure_takes_what_it_takes_by_hand(
    tmp_path: Path, failures: str, end_ns: float, rerouted: int, waiting_ns: float
) -> None:
    result = simulate(_scenario(tmp_path, failures))
    assert _end(result) == end_ns
    assert [use.bytes for use in result.dimension_uses] == [MB] * 4
    told = result.disturbed
    assert told is not None
    assert (told.rerouted, told.waiting_ns) == (rerouted, waiting_ns)
    assert told.without_failures_ns == 104_000
    assert told.slowdown_by_failures == end_ns / 104_000
    identities.hold(run(result.model, record=True))


@pytest.mark.parametrize("network", ["flow", "store_and_forward", "packet"])
@pytest.mark.parametrize(
    ("failures", "end_ns"),
    [
        ("[{ranks: 1, slower: 1.5, at: 0 us}]", 150_000),
        ("[{ranks: 1, slower: 1.5, at: 40 us, for: 30 us}]", 110_000),
        ("[{ranks: 1, slower: 2, at: 10 us, for: 10 us, every: 50 us, times: 2}]", 110_000),
        ("[{ranks: 1, slower: 2, at: 0 us}, {ranks: 0-3, slower: 3, at: 20 us}]", 560_000),
        ("[{ranks: '0,2', slower: 2, at: 0 us}]", 100_000),
        ("[{ranks: 1, slower: 0.5, at: 0 us}]", 50_000),
    ],
)
def test_a_slow_rank_computes_slower_by_its_factor_for_its_time(
    tmp_path: Path, failures: str, end_ns: float, network: str
) -> None:
    file = _write(tmp_path, failures, network=network)
    file.write_text(file.read_text().replace("  reroute_delay: 10 us\n", ""))
    result = simulate(load(file))
    assert _end(result, "kernel") == end_ns
    assert result.ranks.values("compute_ns")[1] == end_ns
    identities.hold(run(result.model, record=True))


def test_ranks_that_are_slow_are_never_folded_with_others(tmp_path: Path) -> None:
    for rank in range(8):
        trace = TraceBuilder(rank=rank)
        kernel = trace.compute(duration_micros=100)
        trace.collective("all_reduce", MB, after=[kernel])
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    file = tmp_path / "job.yaml"
    text = (
        'workload: {traces: "job.{rank}.et"}\ncollectives: {all_reduce: [ring]}\ncluster:\n'
        "  topology: [{kind: ring, size: 8, bandwidth: 10 GB/s, latency: 1 us}]\n"
    )
    file.write_text(text)
    alone = simulate(load(file))
    file.write_text(text + "  failures: [{ranks: 3, slower: 1.4, at: 0 us}]\n")
    slow = simulate(load(file))
    assert slow.makespan_ns - alone.makespan_ns == 40_000
    assert "slower than others" in slow.not_folded
    assert slow.disturbed is not None
    assert slow.disturbed.without_failures_ns == alone.makespan_ns


def test_a_summary_and_a_file_say_what_was_lost_and_what_it_cost(tmp_path: Path) -> None:
    failures = "[{switch: spine 0, at: 50 us}, {ranks: 1, slower: 1.05, at: 0 us}]"
    result = simulate(_scenario(tmp_path, failures))
    text = " ".join(result.summary().split())
    assert (
        "2 failures: rank 1 1.05 times slower from 0 ns; spine 0 down from 50.000 us. 1 message "
        "rerouted, 1 waited, 10.000 us in all; the run takes 9.6 % longer than without (104.000 us)"
    ) in text
    result.to_json(tmp_path / "result.json")
    told = json.loads((tmp_path / "result.json").read_text())["disturbed"]
    assert told["rerouted"] == 1
    assert told["without_failures_ns"] == 104_000
    schema = json.loads(resources.files("yantra.export").joinpath("result.schema.json").read_text())
    known = schema["properties"]["disturbed"]["properties"]
    assert set(told) <= set(known)
    assert set(Disturbed._fields) - {"makespan_ns"} <= set(known)
    stored = load_result(tmp_path / "result.json")
    assert stored.disturbed == result.disturbed
    assert stored.summary() == result.summary()
    result.to_report(tmp_path / "report.html")
    assert "spine 0 down from 50.000 us" in (tmp_path / "report.html").read_text()


def test_the_run_without_is_left_out_where_the_user_says_so(tmp_path: Path) -> None:
    result = simulate(
        _scenario(tmp_path, "[{switch: spine 0, at: 50 us}]", more="run_undisturbed: false\n")
    )
    assert result.disturbed is not None
    assert result.disturbed.without_failures_ns is None
    assert result.summary().endswith("1 waited, 10.000 us\nin all")


def test_failures_by_rate_are_the_same_for_a_part_whatever_else_fails(tmp_path: Path) -> None:
    def times(failures: str, name: str) -> list[float]:
        events = compile(_scenario(tmp_path, failures)).failures.events
        return [event.at_ns for event in events if event.part.name == name]

    alone = times("[{switch: spine 1, rate: 1 per 100 us, for: 1 us, seed: 5}]", "spine 1")
    both = times("[{switch: spine, rate: 1 per 100 us, for: 1 us, seed: 5}]", "spine 1")
    shared = min(len(alone), len(both))
    assert alone[:shared] == both[:shared]
    other = times("[{switch: spine 1, rate: 1 per 100 us, for: 1 us, seed: 6}]", "spine 1")
    assert alone[0] != other[0]
    twice = "{switch: spine 1, rate: 1 per 100 us, for: 1 us, seed: 5}"
    assert len(set(times(f"[{twice}, {twice}]", "spine 1"))) > len(alone) // 2


def test_failures_by_rate_come_at_their_rate(tmp_path: Path) -> None:
    """Of 10,000 draws the mean is within 4 standard deviations: 4 % of 100 us, and 20 of repair."""
    scenario = _scenario(tmp_path, "[{ranks: 1, slower: 2, rate: 10 per 1 ms, for: 20 us}]")
    failures = failures_of(scenario, None, until_ns=120_000.0 * 10_000)
    assert len(failures.events) == pytest.approx(10_000, rel=0.04)
    gaps = zip(failures.events, failures.events[1:], strict=False)
    assert all(later.at_ns >= one.until_ns for one, later in gaps)


def test_a_run_longer_than_what_was_drawn_is_drawn_further(tmp_path: Path) -> None:
    """A kernel of 100 us on a rank that fails every 50 ns on average for 50 ns: 3/4 as fast."""
    scenario = _scenario(tmp_path, "[{ranks: 1, slower: 2, rate: 1 per 50 ns, for: 50 ns}]")
    first = compile(scenario)
    assert first.failures.known_until_ns < 100_000
    result = run(first)
    assert result.model.failures.known_until_ns >= result.makespan_ns
    before = first.failures.events
    assert result.model.failures.events[: len(before)] == before
    assert _end(result, "kernel") == pytest.approx(100_000 / 0.75, rel=0.05)


@given(
    stated=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=3),
    spans=st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 9), st.sampled_from([0.0, 0.25, 0.5])),
        max_size=4,
    ),
)
def test_a_link_has_at_every_time_its_rate_times_the_least_share(
    stated: list[tuple[int, int]], spans: list[tuple[int, int, float]]
) -> None:
    stated = sorted(stated, key=lambda one: one[0])
    lasting = [(begins, begins + lasts, keeps) for begins, lasts, keeps in spans]
    changes = _rates(8.0, [(tick, float(rate)) for tick, rate in stated], [*lasting])
    for tick in range(20):
        base = next((rate for at, rate in reversed(stated) if at <= tick), 8.0)
        kept = [keeps for begins, until, keeps in lasting if begins <= tick < until]
        now = next((rate for at, rate in reversed(changes) if at <= tick), 8.0)
        assert now == base * min(kept, default=1.0)


@pytest.mark.parametrize("routing", ["ecmp", "adaptive", "valiant", "up_down", "spray", "shortest"])
def test_every_routing_goes_round_a_switch_that_fails(tmp_path: Path, routing: str) -> None:
    file = _write(
        tmp_path, "[{switch: spine 0, at: 50 us}, {switch: leaf 1, at: 70 us, for: 5 us}]"
    )
    file.write_text(file.read_text().replace("routing: shortest", f"routing: {routing}"))
    result = simulate(load(file))
    assert [use.bytes for use in result.dimension_uses][::3] == [MB] * 2
    assert result.makespan_ns >= 104_000


@pytest.mark.parametrize(
    ("failures", "problem"),
    [
        ("[{at: 1 us}]", r"failures\[0\]: expected one of switch, nic, link, ranks"),
        ("[{switch: spine 0, nic: 1, at: 1 us}]", "got switch and nic"),
        ("[{switch: spine 0}]", "expected one of at and rate, which say when; got none"),
        ("[{switch: spine 0, at: 1 us, rate: 1 per h, for: 1 us}]", "got both"),
        (
            "[{switch: spine 0, rate: 1 per h}]",
            r"failures\[0\]\.for: missing; a failure by rate",
        ),
        ("[{switch: spine 0, rate: often, for: 1 us}]", "expected a rate such as 1 per 1000 h"),
        ("[{switch: spine 0, rate: 0 per h, for: 1 us}]", "expected a rate such as 1 per 1000 h"),
        ("[{ranks: 1, at: 1 us}]", r"slower: missing; expected how many times as slow"),
        ("[{switch: spine 0, at: 1 us, slower: 2}]", "slower: only with ranks"),
        ("[{switch: spine 0, at: 1 us, to: leaf 0}]", "to: only with nic"),
        ("[{switch: spine 0, at: 1 us, seed: 2}]", "seed: only with rate"),
        ("[{switch: spine 0, at: 1 us, every: 2 us}]", "every and times together"),
        ("[{nic: 0, at: 1 us, for: 3 us, every: 2 us, times: 4}]", "expected less than every"),
        ("[{nic: 0, at: 1 us, keeps: 2}]", "keeps: must be at most 1"),
        ("[{switch: spine 0, at: 1 us, untill: 3 us}]", "untill: unknown key"),
        ("[{switch: spin 0, at: 1 us}]", r"'spin 0'; did you mean 'spine 0'\?"),
        ("[{switch: '3', at: 1 us}]", "is a rank; expected a device that passes bytes on"),
        ("[{nic: 7, at: 1 us}]", r"nic: expected ranks from 0 to 3, got 7"),
        ("[{nic: 0, to: spine 1, at: 1 us}]", "no link leads from rank 0 to spine 1"),
        ("[{link: [leaf 0, leaf 1], at: 1 us}]", "no link leads from leaf 0 to leaf 1"),
        ("[{link: [leaf 0], at: 1 us}]", r"expected two devices, such as \[leaf 0, spine 1\]"),
    ],
)
def test_what_cannot_fail_is_refused_at_its_field(
    tmp_path: Path, failures: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        compile(_scenario(tmp_path, failures))


def test_failures_are_refused_where_nothing_would_come_of_them(tmp_path: Path) -> None:
    spine = "[{switch: spine 0, at: 1 us}]"
    with pytest.raises(ConfigError, match="links of the network external do not change; take one"):
        trust.allow_program(("sh",))
        program = "{kind: external, options: {command: [sh]}}"
        compile(_scenario(tmp_path, spine, network=program))
    with pytest.raises(UnsupportedError, match=r"cluster\.failures: .* ns3_fork has no timer"):
        simulate(_scenario(tmp_path, spine, network=FORK))
    with pytest.raises(UnsupportedError, match=r"\(rank 0 to leaf 0\): packets need a rate of 1 M"):
        simulate(_scenario(tmp_path, "[{nic: 0, at: 1 us, keeps: 0.000001}]", network="packet"))
    for network in ("flow", "store_and_forward", "packet"):
        with pytest.raises(DeadlockError, match=r"NIC of rank 2 down from 1\.000 us, for ever"):
            simulate(_scenario(tmp_path, "[{nic: 2, at: 1 us}]", network=network))
    with pytest.raises(UnsupportedError, match="more than 100000 failures by rate"):
        scenario = _scenario(tmp_path, "[{ranks: 1, slower: 2, rate: 1 per ns, for: 1 ns}]")
        failures_of(scenario, None, until_ns=1e9)
    flapping = "[{switch: leaf, at: 0 s, for: 1 ns, every: 2 ns, times: 1000000}]"
    with pytest.raises(UnsupportedError, match="32000000 changes of links and ranks"):
        compile(_scenario(tmp_path, flapping))
    file = _write(tmp_path, spine)
    file.write_text(file.read_text().replace(f"  fabric: {SPINES}\n  routing: shortest\n", ""))
    with pytest.raises(ConfigError, match="without it only ranks can fail"):
        load(file)


def test_failures_are_written_as_they_were_read(tmp_path: Path) -> None:
    from yantra.scenario import to_yaml

    failures = (
        "[{switch: spine 1, at: 30 us, for: 50 us}, {nic: 0-1, to: leaf 0, at: 10 us, for: 1 us, "
        "every: 5 us, times: 20}, {link: [leaf 0, 2], rate: 3 per 1000 h, for: 2 s, keeps: 0.5}, "
        "{ranks: '0,2', slower: 1.25, at: 0 s}]"
    )
    scenario = _scenario(tmp_path, failures)
    again = tmp_path / "again.yaml"
    again.write_text(to_yaml(scenario, tmp_path))
    assert load(again).failures == scenario.failures


@pytest.mark.parametrize("in_order", [0, 1])
def test_a_ring_that_is_late_once_is_late_by_that_and_no_more(
    tmp_path: Path, in_order: int
) -> None:
    for rank in range(8):
        trace = TraceBuilder(rank=rank)
        trace.collective("all_reduce", 8 * MB, after=[trace.compute(duration_micros=100)])
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    file = tmp_path / "job.yaml"
    file.write_text(
        'workload: {traces: "job.{rank}.et"}\n'
        f"network: {{kind: flow, options: {{in_order: {in_order}}}}}\n"
        "collectives: {all_reduce: [ring], endpoint_delay: 0 ns}\ncluster:\n"
        "  topology: [{kind: switch, size: 8, bandwidth: 10 GB/s, latency: 1 us}]\n"
        "  fabric: {kind: switch, ranks: 8, bandwidth: 10 GB/s, latency: 1 us}\n"
        "  failures: [{ranks: 3, slower: 6, at: 0 s}]\n"
    )
    result = simulate(load(file))
    assert result.disturbed is not None
    alone = result.disturbed.without_failures_ns
    assert alone == 100_000 + 14 * 102_000
    assert result.makespan_ns - alone == 500_000
    identities.hold(run(result.model, record=True))


_PARTS = (
    "switch: spine 0",
    "switch: leaf 1",
    "nic: 2",
    "link: [leaf 0, spine 1]",
    "link: [leaf, spine]",
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    failing=st.lists(
        st.tuples(
            st.sampled_from(_PARTS),
            st.integers(0, 150),
            st.integers(1, 60),
            st.sampled_from([0, 0.5]),
        ),
        max_size=4,
    ),
    sent=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=6),
    routing=st.sampled_from(["ecmp", "adaptive", "spray", "valiant"]),
    in_order=st.sampled_from([0, 1]),
)
def test_whatever_fails_and_returns_all_bytes_arrive_once(
    tmp_path: Path,
    failing: list[tuple[str, int, int, float]],
    sent: list[tuple[int, int]],
    routing: str,
    in_order: int,
) -> None:
    failures = ["{ranks: 0, slower: 2, at: 0 s}"] + [
        f"{{{part}, at: {at} us, for: {lasts} us, keeps: {keeps}}}"
        for part, at, lasts, keeps in failing
    ]
    file = _write(tmp_path, f"[{', '.join(failures)}]")
    text = file.read_text().replace("routing: shortest", f"routing: {routing}")
    network = f"network: {{kind: flow, options: {{in_order: {in_order}}}}}"
    file.write_text(text.replace("network: flow", network))
    traces = [TraceBuilder(rank=rank) for rank in range(4)]
    for tag, (source, ahead) in enumerate(sent):
        traces[source].send((source + ahead) % 4, MB, tag=tag)
        traces[(source + ahead) % 4].recv(source, MB, tag=tag)
    for rank, trace in enumerate(traces):
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    result = run(compile(load(file)), record=True)
    up, down, *_ = (use.bytes for use in result.dimension_uses)
    assert up == down == len(sent) * MB
    identities.hold(result)
    told = result.outcome.disturbance
    assert told.waited <= len(sent)
    assert told.rerouted <= len(sent)
    assert (told.waited_ticks == 0) == (told.waited == 0)
