"""Threads of a job over packets: no number changes anything, and one is taken, with the reason,
where others could not be exact.

Random reactions, controls and parts: native/network/packet/followers.test.cpp.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.test_packet_repeats import _all
from yantra import chakra
from yantra.cli import main
from yantra.compile import compile
from yantra.export.summary import summarise
from yantra.run.simulate import run
from yantra.scenario import Scenario, Traces, load

RANKS = 12
KINDS = [getattr(chakra.CollectiveType, f"ALL_{of}") for of in ("REDUCE", "GATHER", "TO_ALL")]
FABRIC = (
    "{kind: leaf_spine, leaves: 3, ranks_per_leaf: 4, spines: 2, bandwidth: 100 Gb/s,"
    " latency: 500 ns}"
)


def _scenario(folder: Path, options: str, fabric: str = FABRIC) -> Scenario:
    path = folder / "job.yaml"
    path.write_text(
        'workload: {traces: "job.{rank}.et"}\n'
        f"cluster: {{topology: [{{kind: switch, size: {RANKS}, bandwidth: 100 Gb/s, "
        f"latency: 500 ns}}], fabric: {fabric}}}\n"
        "collectives: {all_reduce: [ring], all_gather: [ring], all_to_all: [direct], chunks: 2}\n"
        f"network: {{kind: packet, options: {{{options}}}}}\n"
    )
    return load(path)


def _job(nodes: list[tuple[int, int, int, bool]], ranks: int = RANKS) -> Traces:
    """Collectives, work of ranks, and messages between neighbours of their own, in line or not."""
    traces = []
    for rank in range(ranks):
        builder = chakra.TraceBuilder()
        last: list[chakra.Node] = []
        for number, (kind, size, micros, waits) in enumerate(nodes):
            if kind < len(KINDS):
                node = builder.collective(KINDS[kind], size, after=last)
            else:
                builder.send((rank + 5) % ranks, size, tag=number, after=last)
                node = builder.recv((rank - 5) % ranks, size, tag=number, after=last)
            if micros:
                node = builder.compute(duration_micros=micros + rank % 3, after=node)
            last = [node] if waits else last
        traces.append(builder.build())
    return Traces(traces=tuple(traces))


def _ran(folder: Path, job: Traces, options: str, threads: object, **more: Any) -> Any:
    scenario = _scenario(folder, f"look: nothing, {options}, threads: {threads}")
    return run(compile(scenario.replace(workload=job)), **more)


NODE = st.tuples(st.integers(0, 3), st.integers(8, 200_000), st.integers(0, 2), st.booleans())


@settings(max_examples=10)
@given(
    nodes=st.lists(NODE, min_size=1, max_size=4),
    options=st.sampled_from(
        ["preset: dcqcn", "preset: hpcc95", "preset: static_window", "preset: swift, buffer: 1 MB"]
    ),
)
def test_any_number_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[tuple[int, int, int, bool]], options: str
) -> None:
    folder, job = tmp_path_factory.mktemp("threads"), _job(nodes)
    alone = _ran(folder, job, f"skip: off, {options}", 1)
    for threads in (2, 3, 8):
        result = _ran(folder, job, f"skip: off, {options}", threads)
        assert result.outcome.threads == min(threads, 6), result.outcome.why_threads
        assert _all(result) == _all(alone)
        assert result.links.as_dict() == alone.links.as_dict()
        assert (result.events, result.messages) == (alone.events, alone.messages)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("look: samples", "queues and rates over time are noted in one order; take network.look"),
        ("look: nothing, semantics: ns3_fork", "the semantics ns3-fork go by the order in which"),
        ("look: nothing, preset: uec", "where packets are lost or overtake each other, both ends"),
        ("look: nothing, skip: required", "what repeats is skipped; with network.skip: off it may"),
        ("look: nothing, preset: hpcc_pint", "switches learn of the largest round trip at once"),
    ],
)
def test_one_is_taken_where_more_are_not_exact_and_it_is_said(
    tmp_path: Path, options: str, said: str
) -> None:
    scenario = _scenario(tmp_path, f"{options}, threads: 4").replace(
        workload=_job([(0, 1000, 0, True)])
    )
    text = summarise(run(compile(scenario))).text().replace("\n", " ")
    assert f"threads: 1; {said}" in text


def test_what_switches_alone_can_share_is_shared(tmp_path: Path) -> None:
    ring = f"{{kind: ring, size: {RANKS}, bandwidth: 100 Gb/s, latency: 500 ns}}"
    path = tmp_path / "job.yaml"
    _scenario(tmp_path, "look: nothing, preset: dcqcn, threads: 2")
    lines = path.read_text().splitlines()
    lines[1] = f"cluster: {{topology: [{ring}]}}"
    path.write_text("\n".join(lines))
    result = run(compile(load(path).replace(workload=_job([(0, 1000, 0, True)]))))
    assert result.outcome.threads == 1
    assert result.outcome.why_threads == "the devices with work cannot be parted"


def test_auto_predicts_what_threads_gain(tmp_path: Path) -> None:
    options = "preset: dcqcn, skip: off"
    small = _ran(tmp_path, _job([(2, 10_000, 0, True)]), options, "auto").outcome
    assert small.threads == 1
    assert "12 hosts would gain" in small.why_threads or "1 core" in small.why_threads


def test_a_recorded_run_has_one_and_the_same_times(tmp_path: Path) -> None:
    job = _job([(2, 10_000, 0, True)])
    recorded = _ran(tmp_path, job, "preset: dcqcn", 2, record=True)
    assert recorded.outcome.threads == 1
    assert "recorded" in recorded.outcome.why_threads
    assert _all(recorded) == _all(_ran(tmp_path, job, "preset: dcqcn", 2))


def test_pauses_that_time_out_begin_again_on_one(tmp_path: Path) -> None:
    builders = [chakra.TraceBuilder() for _ in range(RANKS)]
    for rank in range(1, RANKS):
        builders[rank].send(0, 300_000, tag=rank)
        builders[0].recv(rank, 300_000, tag=rank)
    job = Traces(traces=tuple(builder.build() for builder in builders))
    options = "preset: none, buffer: 400 kB, pause: 2 us"
    again = _ran(tmp_path, job, options, 2)
    assert again.outcome.threads == 1
    assert again.outcome.why_threads.startswith("begun again, as a pause took as long as")
    assert _all(again) == _all(_ran(tmp_path, job, options + ", skip: off", 1))


def test_the_line_is_there_where_it_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank, trace in enumerate(_job([(0, 1000, 0, True)]).traces):
        (tmp_path / f"job.{rank}.et").write_bytes(trace.to_bytes())
    _scenario(tmp_path, "look: nothing, preset: dcqcn")
    line = ["run", str(tmp_path / "job.yaml")]
    assert main(line) == 0
    assert "threads:" not in capsys.readouterr().out
    assert main([*line, "--set", "network.threads=2"]) == 0
    assert "threads: 2; as asked" in capsys.readouterr().out
    assert main([*line, "--set", "network.threads=33"]) == 2
    assert "threads: expected auto, or 1 to 32, got 33" in capsys.readouterr().err
