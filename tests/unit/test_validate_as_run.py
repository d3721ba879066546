"""`yantra validate` says of a job what `yantra run` says: random jobs, whole and broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import YantraError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.run import validate
from yantra.run.freest import stuck
from yantra.run.simulate import run
from yantra.run.validate import check_scenario_file
from yantra.scenario import load

KINDS = (CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL)
NETWORKS = ("analytical", "store_and_forward", "flow", "packet", "ideal")
Step = tuple[Any, ...]
Ranks = list[list[Step]]


@st.composite
def whole(draw: st.DrawFn) -> Ranks:
    count = draw(st.sampled_from([2, 4, 6]))
    ranks: Ranks = [[] for _ in range(count)]
    for _ in range(draw(st.integers(1, 8))):
        what = draw(st.sampled_from(["message", "all", "group", "compute"]))
        size, tag = draw(st.sampled_from([100, 2000])), draw(st.integers(1, 2))
        one = draw(st.integers(0, count - 1))
        if what == "message":
            other = (one + draw(st.integers(1, count - 1))) % count
            ranks[one].append(("send", other, size, tag))
            ranks[other].append(("recv", one, size, tag))
        elif what == "compute":
            ranks[one].append(("compute", size))
        else:
            kind = draw(st.sampled_from(KINDS))
            group = None if what == "all" else str(1 + one * 2 // count)
            members = range(count) if group is None else members_of(count)[group]
            for rank in members:
                ranks[rank].append(("collective", kind, size, group))
    return ranks


def members_of(count: int) -> dict[str, list[int]]:
    return {"1": list(range(count // 2)), "2": list(range(count // 2, count))}


@st.composite
def broken(draw: st.DrawFn) -> Ranks:
    ranks = draw(whole())
    rank = draw(st.sampled_from([rank for rank, steps in enumerate(ranks) if steps]))
    steps = ranks[rank]
    at = draw(st.integers(0, len(steps) - 1))
    how = draw(st.sampled_from(["drop", "twice", "size", "tag", "kind", "swap", "peer", "group"]))
    step = steps[at]
    if how == "drop":
        del steps[at]
    elif how == "twice":
        steps.insert(at, step)
    elif how == "swap" and at + 1 < len(steps):
        steps[at : at + 2] = steps[at + 1], step
    elif step[0] in ("send", "recv"):
        kind, peer, size, tag = step
        changed = {"size": (peer, size + 1, tag), "tag": (peer, size, tag + 5)}
        steps[at] = (kind, *changed.get(how, ((peer + 1) % len(ranks), size, tag)))
    elif step[0] == "collective":
        _, kind, size, group = step
        changed_to = {"size": (kind, 2 * size, group), "group": (kind, size, "9")}
        steps[at] = ("collective", *changed_to.get(how, (KINDS[0], size, group)))
    return ranks


def write(folder: Path, ranks: Ranks, network: str, serial: bool) -> Path:
    for rank, steps in enumerate(ranks):
        trace = TraceBuilder(rank=rank)
        before: dict[str, Any] = {}
        for what, *rest in steps or [("compute", 1)]:
            if what == "compute":
                node = trace.compute("work", duration_micros=rest[0] // 100, **before)
            elif what == "collective":
                kind, size, group = rest
                inside = {} if group is None else {"group": group}
                node = trace.collective(kind, size, **inside, **before)
            else:
                add = trace.send if what == "send" else trace.recv
                node = add(rest[0], rest[1], tag=rest[2], **before)
            before = {"after": node} if serial else {}
        trace.build().write(str(folder / f"job.{rank}.et"))
    (folder / "groups.json").write_text(json.dumps(members_of(len(ranks))))
    ring = {"kind": "ring", "size": len(ranks), "bandwidth": "50 GB/s", "latency": "500 ns"}
    tree = {
        "workload": {"traces": "job.{rank}.et", "groups": "groups.json"},
        "cluster": {"topology": [ring]},
        "collectives": {kind.name.lower(): ["ring"] for kind in KINDS},
        "network": network,
    }
    path = folder / "step.yaml"
    path.write_text(json.dumps(tree))
    return path


def status_of_a_run(path: Path) -> int:
    try:
        run(compile(load(path)))
    except YantraError as error:
        return error.exit_code
    return 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@settings(max_examples=60)
@given(ranks=broken(), network=st.sampled_from(NETWORKS), serial=st.booleans())
def test_what_a_run_refuses_validate_refuses_and_nothing_else(
    folder: Path, ranks: Ranks, network: str, serial: bool
) -> None:
    path = write(folder, ranks, network, serial)
    assert check_scenario_file(path).exit_code == status_of_a_run(path)


@settings(max_examples=60)
@given(ranks=st.one_of(whole(), broken()), serial=st.booleans())
def test_what_is_stuck_without_time_never_ends(folder: Path, ranks: Ranks, serial: bool) -> None:
    path = write(folder, ranks, "analytical", serial)
    try:
        model = compile(load(path))
    except YantraError:
        return
    if stuck(model):
        assert status_of_a_run(path) == 3


@pytest.fixture
def never_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(validate, "MOST_EVENTS", -1)
    yield


ALL = ("collective", CollectiveType.ALL_REDUCE, 100, None)
GATHER = ("collective", CollectiveType.ALL_GATHER, 100, None)
STUCK: dict[str, Ranks] = {
    "rank 1 does not enter it": [[ALL, ALL], [ALL]],
    "all_gather of 100 B, and rank 1 does not": [[GATHER], [ALL]],
    "from rank 1 (tag 1, 8 B), which does not come to send it": [
        [("recv", 1, 8, 1), ("send", 1, 8, 1)],
        [("recv", 0, 8, 1), ("send", 0, 8, 1)],
    ],
    "all_reduce of 100 B, and rank 1 does not": [
        [ALL, ("send", 1, 8, 1)],
        [("recv", 0, 8, 1), ALL],
    ],
}


@pytest.mark.usefixtures("never_run")
@pytest.mark.parametrize("text", STUCK)
def test_what_keeps_a_large_job_from_its_end_is_told(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, STUCK[text], "analytical", True)
    assert status_of_a_run(path) == 3
    report = check_scenario_file(path)
    assert report.exit_code == 3 and not report.tried
    assert any(text in finding.text for finding in report.findings), report.findings


@pytest.mark.usefixtures("never_run")
def test_a_large_job_that_ends_has_no_findings(tmp_path: Path) -> None:
    ranks: Ranks = [[("send", 1, 8, 1), ALL], [("recv", 0, 8, 1), ALL]]
    report = check_scenario_file(write(tmp_path, ranks, "flow", True))
    assert report.valid and not report.findings and not report.tried


def test_a_list_of_jobs_is_validated_as_it_is_run(tmp_path: Path) -> None:
    for name, ranks in (("good", [[ALL], [ALL]]), ("bad", [[ALL, ALL], [ALL]])):
        (tmp_path / name).mkdir()
        write(tmp_path / name, ranks, "analytical", True)
    ring = {"kind": "ring", "size": 4, "bandwidth": "50 GB/s", "latency": "500 ns"}
    for second, status in (("good", 0), ("bad", 3), ("none", 2)):
        tree = {
            "jobs": [{"scenario": "good/step.yaml"}, {"scenario": f"{second}/step.yaml"}],
            "cluster": {"topology": [ring]},
            "collectives": {"all_reduce": ["ring"]},
        }
        path = tmp_path / "jobs.yaml"
        path.write_text(json.dumps(tree))
        assert check_scenario_file(path).exit_code == status
