"""Recorded runs of random jobs: the same times, parts that add up, and slack that foretells."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests import cases, identities
from tests.oracles.folded_jobs import folded_case
from tests.oracles.slack_jobs import SlackJob
from yantra.base.errors import UnsupportedError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import run, run_native
from yantra.scenario import ASTRA_SIM_RESOURCES, Device
from yantra.scenario.quirks import Quirk

CASES, BLOCK = 60, 20
SLACK_CASES = 60
NETWORKS = ("analytical", "store_and_forward")


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("first", range(0, CASES, BLOCK))
def test_recording_changes_no_time_and_adds_up(first: int, network: str) -> None:
    for seed in range(first, first + BLOCK):
        model = compile(folded_case(seed).replace(network=network))
        plain = run_native(model)
        result = run(model, fold="off", record=True)
        assert result.outcome.end == plain.end, seed
        assert result.outcome.events == plain.events, seed
        identities.hold(result, f"case {seed}")


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("semantics", ["yantra", "astra-sim"])
def test_packets_that_come_together_go_as_they_would_one_by_one(
    network: str, semantics: str
) -> None:
    for ranks, algorithm, memory in product((5, 12), ("direct", "direct4"), (0.0, 1e10, 1e14)):

        def write(trace: TraceBuilder, rank: int) -> None:
            start = trace.compute(duration_micros=rank % 2)
            for kind in (CollectiveType.ALL_REDUCE, CollectiveType.ALL_TO_ALL):
                trace.collective(kind, 12_345, after=start)

        scenario = cases.scenario(
            cases.cluster(("fully_connected", ranks, 50.0, 500.0)),
            write,
            collectives=cases.collectives(algorithm, chunks=2, endpoint_delay_ns=10),
            network=network,
            semantics=semantics,
            resources=ASTRA_SIM_RESOURCES,
            device=Device(memory_bytes_per_s=memory),
        )
        model = compile(scenario)
        together, one_by_one = run_native(model), run(model, fold="off", record=True).outcome
        ours, theirs = (cases.Run(model, one, []).columns() for one in (together, one_by_one))
        assert ours == theirs, (ranks, algorithm, memory)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_folded_run_records_what_the_whole_run_does(network: str) -> None:
    count = 0
    for seed in range(CASES):
        model = compile(folded_case(seed).replace(network=network))
        try:
            folded = run(model, fold="require", record=True)
        except UnsupportedError:
            continue
        count += 1
        identities.hold(folded, f"case {seed}")
        whole = run(model, fold="off", record=True)
        assert folded.collectives.as_dict() == whole.collectives.as_dict(), seed
        assert folded.critical_path.length_ns == whole.critical_path.length_ns, seed
        assert dimension_bytes(folded) == dimension_bytes(whole), seed
    assert count > CASES // 4


def dimension_bytes(result: Any) -> Any:
    return result.recording.utilisation(11).as_dict()


def test_a_kernel_may_take_longer_by_its_slack_and_no_more() -> None:
    longer, within = 0, 0
    for seed in range(SLACK_CASES):
        job = SlackJob(seed)
        free = frozenset({Quirk.LINKS_CARRY_ANYTHING})  # no wait for a link, which no edge shows
        result = run(compile(job.scenario({}).replace(quirks=free)), fold="off", record=True)
        makespan = max(result.outcome.finish)
        rows = zip(
            *(result.nodes.values(name) for name in ("rank", "name", "slack_ns")), strict=True
        )
        for rank, name, slack_ns in rows:
            if not name.startswith("kernel"):
                continue
            slack = round(1000 * slack_ns)
            for micros in {slack // 1_000_000, slack // 1_000_000 + 1} - {0}:
                kernel = (rank, int(name.split()[1]))
                longer_job = job.scenario({kernel: micros}).replace(quirks=free)
                now = max(run_native(compile(longer_job)).finish)
                growth = max(0, 1_000_000 * micros - slack)
                assert now == makespan + growth, f"case {seed}, rank {rank}, {name}"
                longer += growth > 0
                within += growth == 0
    assert longer > 100
    assert within > 100
