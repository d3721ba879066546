"""What a part of a fabric did from rest to rest is told again, and nothing but the time a run takes
is another.

Single parts, against every packet: native/network/packet/episodes.test.cpp.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.test_packet_repeats import _all
from yantra import chakra
from yantra.compile import compile
from yantra.export.summary import summarise
from yantra.run.simulate import run
from yantra.scenario import Scenario, Traces, load

BOX, BOXES = 4, 3
RANKS = BOX * BOXES
KINDS = [getattr(chakra.CollectiveType, f"ALL_{of}") for of in ("REDUCE", "GATHER", "TO_ALL")]
DIMENSION = "{{kind: {}, size: {}, bandwidth: {} Gb/s, latency: {} ns}}"
TIERS = ", ".join(
    (DIMENSION.format("switch", BOX, 400, 100), DIMENSION.format("switch", BOXES, 100, 500))
)
GROUPS = tuple(
    [(1 + box, tuple(range(box * BOX, box * BOX + BOX))) for box in range(BOXES)]
    + [(1 + BOXES + rail, tuple(range(rail, RANKS, BOX))) for rail in range(BOX)]
)
Steps = list[tuple[int, int, int, int]]


def _scenario(folder: Path, options: str, topology: str = TIERS) -> Scenario:
    path = folder / "job.yaml"
    ways = "[ring, ring]" if topology == TIERS else "[ring]"
    path.write_text(
        'workload: {traces: "job.{rank}.et"}\n'
        f"cluster: {{topology: [{topology}]}}\n"
        f"collectives: {{all_reduce: {ways}, all_gather: {ways}, all_to_all: {ways}, chunks: 2}}\n"
        f"network: {{kind: packet, options: {{look: nothing, {options}}}}}\nfold: off\n"
    )
    return load(path)


def _job(steps: Steps, times: int, odd: int) -> Traces:
    """`times` the steps, in the box, over its rail or to a neighbour; `odd` is 8 bytes longer."""
    traces = []
    for rank in range(RANKS):
        builder = chakra.TraceBuilder()
        last: list[chakra.Node] = []
        for number in range(times * len(steps)):
            where, kind, size, micros = steps[number % len(steps)]
            size += 8 if number == odd else 0
            if where == 2:
                builder.send((rank + 5) % RANKS, size, tag=number, after=last)
                node = builder.recv((rank - 5) % RANKS, size, tag=number, after=last)
            else:
                group = 1 + (rank // BOX if where == 0 else BOXES + rank % BOX)
                node = builder.collective(KINDS[kind], size, group=str(group), after=last)
            if micros:
                node = builder.compute(duration_micros=micros, after=node)
                last = [node]  # else it runs beside the next
        traces.append(builder.build())
    return Traces(traces=tuple(traces), groups=GROUPS)


def _ran(folder: Path, job: Traces, options: str, *topology: str) -> Any:
    return run(compile(_scenario(folder, options, *topology).replace(workload=job)))


STEP = st.tuples(
    st.integers(0, 2), st.integers(0, 2), st.integers(8, 100_000), st.sampled_from([0, 1, 3, 20])
)
PRESETS = "static_window", "none", "dcqcn", "swift", "hpcc95", "timely"


@settings(max_examples=20)
@given(
    steps=st.lists(STEP, min_size=1, max_size=4),
    times=st.integers(1, 6),
    odd=st.integers(-1, 12),
    preset=st.sampled_from(PRESETS),
)
def test_a_job_takes_what_it_takes_with_every_packet(
    tmp_path_factory: pytest.TempPathFactory, steps: Steps, times: int, odd: int, preset: str
) -> None:
    folder, job = tmp_path_factory.mktemp("job"), _job(steps, times, odd)
    whole = _ran(folder, job, f"preset: {preset}, skip: off")
    skips = _ran(folder, job, f"preset: {preset}, skip: required")
    assert _all(skips) == _all(whole)
    assert skips.links.as_dict() == whole.links.as_dict()
    assert skips.messages == whole.messages


def test_messages_that_cross_both_tiers_begin_again_with_one_memory(tmp_path: Path) -> None:
    job = _job([(0, 0, 100_000, 30), (2, 0, 50_000, 5)], 6, -1)
    found = [_ran(tmp_path, job, f"skip: {skip}") for skip in ("off", "required")]
    assert _all(found[0]) == _all(found[1])
    assert "hosts pass packets on" in found[1].outcome.why_threads
    assert found[1].packet_summary["skipped"] > 0


@pytest.mark.parametrize("preset", ["static_window", "dcqcn"])
def test_each_box_is_simulated_once_for_all_its_steps(tmp_path: Path, preset: str) -> None:
    times = 20
    steps = [(0, 0, 400_000, 30), (0, 1, 100_000, 30)]
    summary = _ran(tmp_path, _job(steps, times, -1), f"preset: {preset}").packet_summary
    assert summary["skipped"] >= (times - 2) * summary["packets"] // times
    # a box that is busy between does not keep another from its rest
    steps = [(0, 0, 400_000, 30), (1, 1, 100_000, 0), (0, 0, 400_000, 30)]
    summary = _ran(tmp_path, _job(steps, times, -1), f"preset: {preset}").packet_summary
    assert summary["skipped"] >= summary["packets"] // 2


def test_one_step_that_is_odd_costs_no_more_than_its_episode(tmp_path: Path) -> None:
    result = _ran(tmp_path, _job([(0, 0, 400_000, 30)], 20, 10), "preset: static_window")
    summary = result.packet_summary
    assert summary["skipped"] >= summary["packets"] * 17 // 20
    assert "of these crossings (repeated steps); exact" in " ".join(summarise(result).packets)


def test_hosts_that_pass_packets_on_have_one_memory(tmp_path: Path) -> None:
    ring = DIMENSION.format("ring", RANKS, 100, 500)
    job = _job([(2, 0, 50_000, 5), (1, 0, 40_000, 20)], 5, -1)
    found = [_all(_ran(tmp_path, job, f"skip: {skip}", ring)) for skip in ("off", "auto")]
    assert found[0] == found[1]
