"""Steps that repeat are skipped, and nothing but the time a run takes is another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra import _core, chakra
from yantra.base.errors import UnsupportedError
from yantra.compile import compile
from yantra.export.summary import summarise
from yantra.run.simulate import run
from yantra.scenario import Scenario, Traces, load

RANKS = 8
KINDS = chakra.CollectiveType.ALL_REDUCE, chakra.CollectiveType.ALL_GATHER


def _scenario(folder: Path, options: str, topology: str) -> Scenario:
    path = folder / "job.yaml"
    path.write_text(
        'workload: {traces: "job.{rank}.et"}\n'
        f"cluster: {{topology: [{topology}]}}\n"
        "collectives: {all_reduce: [ring], all_gather: [ring], chunks: 1}\n"
        f"network: {{kind: packet, options: {{{options}}}}}\n"
        "fold: off\n"
    )
    return load(path)


def _job(nodes: list[tuple[int, int, int]]) -> Traces:
    builder = chakra.TraceBuilder()
    last: list[chakra.Node] = []
    for kind, size, micros in nodes:
        node = builder.collective(KINDS[kind], size, after=last)
        if micros:
            node = builder.compute(duration_micros=micros, after=node)
            last = [node]  # else it runs beside the next
    return Traces(traces=(builder.build(),) * RANKS)


def _all(result: Any) -> list[Any]:
    """All but what was skipped."""
    outcome, summary = result.outcome, dict(result.packet_summary)
    summary.pop("skipped", None)
    times = [list(outcome.finish), list(outcome.start), list(outcome.end)]
    return [*times, summary, _counts(outcome)]


def _counts(outcome: Any) -> list[Any]:
    counts = outcome.packets.counts()
    return [np.asarray(getattr(counts, name)).tolist() for name in dir(counts) if name[0] != "_"]


def _ring(kind: str) -> str:
    return f"{{kind: {kind}, size: {RANKS}, bandwidth: 400 Gb/s, latency: 500 ns}}"


OPTIONS = ("preset: static_window", "preset: none", "acks_first: 1", "payload: 4 kB")
NODE = st.tuples(st.integers(0, 1), st.integers(8, 400_000), st.integers(0, 2))


@settings(max_examples=12)
@given(
    nodes=st.lists(NODE, min_size=1, max_size=4),
    topology=st.sampled_from(("switch", "ring", "fully_connected")),
    option=st.sampled_from(OPTIONS),
)
def test_a_job_takes_what_it_takes_without_skipping(
    tmp_path_factory: pytest.TempPathFactory, nodes: Any, topology: str, option: str
) -> None:
    folder = tmp_path_factory.mktemp("job")
    found = []
    for skip in ("off", "required"):
        options = f"look: nothing, {option}, skip: {skip}"
        scenario = _scenario(folder, options, _ring(topology))
        found.append(_all(run(compile(scenario.replace(workload=_job(nodes))))))
    assert found[0] == found[1]


def test_steps_of_a_ring_are_skipped_and_the_summary_says_so(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, "look: nothing, skip: required", _ring("switch"))
    result = run(compile(scenario.replace(workload=_job([(0, 4_000_000, 0)]))))
    summary = result.packet_summary
    assert summary is not None
    # of 14 steps two are simulated before one is known, and the last one ends otherwise
    assert summary["skipped"] >= summary["packets"] * 10 // 14
    assert "of these crossings (repeated steps); exact" in " ".join(summarise(result).packets)


def test_counts_are_whole_where_ranks_wait_for_ever(tmp_path: Path) -> None:
    """Nothing is under way when the run stops, and the next step that is known is never sent."""
    step = 0, 40_000, 20
    traces = list(_job([step] * 12).traces)
    builder = chakra.TraceBuilder()
    last: list[chakra.Node] = []
    for _ in range(12):
        last = [
            builder.compute(
                duration_micros=20, after=builder.collective(KINDS[0], 40_000, after=last)
            )
        ]
    builder.recv(1, 8, after=last)
    traces[0] = builder.build()
    found = []
    for skip in ("off", "required"):
        scenario = _scenario(tmp_path, f"look: nothing, skip: {skip}", _ring("switch"))
        model = compile(scenario.replace(workload=Traces(traces=tuple(traces))))
        simulation = _core.Simulation(model.native, False, None)
        simulation.start()
        assert simulation.run_for(1_000_000_000)
        outcome = simulation.take_outcome()
        assert not outcome.finished
        uses = [*outcome.dimensions, *(link.use for link in outcome.links)]
        of_links = [(use.bytes, use.messages, use.busy_ticks) for use in uses]
        found.append([of_links, list(outcome.busiest), _counts(outcome)])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("look: nothing, preset: hpcc_pint", "hpcc_pint keeps something in ports"),
        ("look: nothing, semantics: ns3_fork", "ns3-fork"),
        ("look: nothing, pauses: 0", "lost"),
        ("look: nothing, queue: drr", "queue drr"),
        ("look: nothing, one_window: 1", "one_window"),
        ("look: samples", "look: nothing"),
    ],
)
def test_what_can_skip_nothing_says_why(tmp_path: Path, options: str, why: str) -> None:
    scenario = _scenario(tmp_path, f"{options}, skip: required", _ring("switch"))
    with pytest.raises(UnsupportedError, match=why):
        run(compile(scenario.replace(workload=_job([(0, 1000, 0)]))))
