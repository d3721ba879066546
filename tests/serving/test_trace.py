"""A served trace as a timeline: iterations and requests are those of the run, in both forms."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.oracles.timelines import Slice, Timeline, read
from tests.serving.fleets import served
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.serving import trace
from yantra.serving.answer import Served

TIGHT = {"num_blocks": 250}


def timeline(one: Served, folder: Path, name: str = "t.pftrace") -> Timeline:
    assert one.to_trace(folder / name) == []
    return read(folder / name)


def iterations(shown: Timeline) -> list[Slice]:
    return [slice for slice in shown.slices if slice.category == "iteration"]


def of_requests(shown: Timeline) -> dict[int, list[Slice]]:
    found: dict[int, list[Slice]] = defaultdict(list)
    for slice in shown.slices:
        if slice.category == "request":
            found[slice.args["request"]].append(slice)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_tokens_of_all_iterations_are_those_that_requests_take(tmp_path: Path, seed: int) -> None:
    one = served(rate=60.0, seed=seed, replicas=2, **TIGHT)
    ran = one.ran
    assert ran.column("restarts").sum() > 0
    taken = (ran.requests.prompt + ran.requests.output - 1).sum()
    taken += ran.column("recomputed").sum() - ran.column("cached").sum()
    shown = iterations(timeline(one, tmp_path))
    assert sum(slice.args["tokens"] for slice in shown) == taken
    assert len(shown) == ran.column("replica_iterations").sum()


def test_iterations_of_a_replica_follow_each_other(tmp_path: Path) -> None:
    shown = timeline(served(replicas=3), tmp_path)
    for process in (0, 1, 2):
        mine = [slice for slice in iterations(shown) if slice.process == process]
        assert mine and len({slice.track for slice in mine}) == 1
        for before, after in pairwise(mine):
            assert before.end is not None and before.end <= after.start


def test_iterations_of_a_pipeline_overlap_on_tracks_of_their_own(tmp_path: Path) -> None:
    plain = served(rate=60.0)
    (pool,) = plain.fleet.pools
    one = plain._replace(fleet=replace(plain.fleet, pools=(replace(pool, stages=3),)))
    shown = iterations(timeline(one, tmp_path))
    requests = one.ran.requests
    assert (
        sum(slice.args["tokens"] for slice in shown)
        == (requests.prompt + requests.output - 1).sum()
    )
    tracks: dict[int, list[Slice]] = defaultdict(list)
    for slice in shown:
        tracks[slice.track].append(slice)
    assert len(tracks) == 3
    for slices in tracks.values():
        for before, after in pairwise(slices):
            assert before.end is not None and before.end <= after.start


def test_a_request_is_shown_from_its_arrival_to_its_end(tmp_path: Path) -> None:
    one = served(rate=60.0, prefill="1x", decode="1x")
    found = of_requests(timeline(one, tmp_path))
    assert sorted(found) == list(range(300))
    order = {"queued": 0, "prefill": 1, "KV moves": 2, "decode": 3}
    begin = one.ran.column("arrival").min()
    for request, slices in found.items():
        places = [order[slice.name] for slice in slices]
        assert places == sorted(set(places))
        assert len({slice.track for slice in slices}) == 1
        for before, after in pairwise(slices):
            assert before.end == after.start
        assert slices[0].start == (one.ran.column("arrival")[request] - begin) // 1000
        assert slices[-1].end == (one.ran.column("finish")[request] - begin) // 1000


def test_requests_of_a_lane_do_not_overlap(tmp_path: Path) -> None:
    shown = timeline(served(rate=60.0), tmp_path)
    lanes: dict[int, list[Slice]] = defaultdict(list)
    for slices in of_requests(shown).values():
        lanes[slices[0].track] += slices
    for slices in lanes.values():
        slices.sort(key=lambda slice: slice.start)
        for before, after in pairwise(slices):
            assert before.end is not None and before.end <= after.start


def test_an_iteration_is_called_by_what_it_does(tmp_path: Path) -> None:
    shown = iterations(timeline(served(rate=60.0), tmp_path))
    for slice in shown:
        prompts, decoding, tokens = (slice.args[key] for key in ("prompts", "decoding", "tokens"))
        assert prompts + decoding > 0
        if not prompts:
            assert slice.name == f"decode {decoding}" and tokens == decoding
        elif not decoding:
            assert slice.name == f"prefill {prompts} ({tokens:,} tokens)"
        else:
            assert slice.name == f"prefill {prompts} + decode {decoding} ({tokens:,} tokens)"
    assert {bool(slice.args["prompts"]) for slice in shown} == {True, False}


def test_both_forms_have_the_same(tmp_path: Path) -> None:
    one = served(replicas=2)
    a, b = (timeline(one, tmp_path, name) for name in ("t.pftrace", "t.json.gz"))
    assert a.processes == b.processes == {
        0: "replica 0: vllm", 1: "replica 1: vllm", 2: "requests",
    }  # fmt: skip
    key = ["process", "name", "start", "end"]
    slices = ([[getattr(one, name) for name in key] for one in each.slices] for each in (a, b))
    assert sorted(next(slices)) == sorted(next(slices))
    assert a.counters == b.counters
    names = {name for _, name in a.counters}
    assert names == {
        "requests that wait (requests)", "requests that run (requests)",
        "tokens of KV in use (tokens)",
    }  # fmt: skip


def test_what_is_left_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_REQUESTS", 100)
    monkeypatch.setattr(trace, "MOST_ITERATIONS", 50)
    iterations_left, lanes_left = served().to_trace(tmp_path / "t.json")
    assert iterations_left.startswith("iterations after the first 50, which end at ")
    assert lanes_left.startswith("lanes of requests")
    shown = read(tmp_path / "t.json")
    assert len(iterations(shown)) == 50 == len(shown.slices)


def test_a_name_of_no_form_is_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match=r"trace: expected a name that ends in \.pftrace"):
        served(count=10).to_trace(tmp_path / "t.txt")
    command = ("serve", "--cost", "5 ms", "--requests", "none.csv", "--trace", "t.txt")
    assert main(command) == 2
    assert "--trace: expected a name that ends in .pftrace" in capsys.readouterr().err
