"""Laws of collected traces: every communication is annotated, ranks agree, the traces match."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.torch.conftest import EXAMPLES, PARALLEL, RANKS, run
from yantra.tracing.collect.notes import COMM, WAIT, facts_of

CASES = (*PARALLEL, "every_operation")
INIT = "## process_group:init ##"  # the observer's own note
SENDERS = {"send": lambda me, peer: (me, peer), "recv": lambda me, peer: (peer, me)}


@cache
def load(path: Path) -> dict[str, Any]:
    packed = path.with_name(path.name + ".gz")
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    trace: dict[str, Any] = json.loads(data)
    return trace


def operators(folder: Path, rank: int) -> list[dict[str, Any]]:
    nodes = load(folder / f"host.{rank}.json")["nodes"]
    return [node | {a["name"]: a["value"] for a in node["attrs"]} for node in nodes]


def events(folder: Path, rank: int) -> list[dict[str, Any]]:
    found = load(folder / f"device.{rank}.json")["traceEvents"]
    return [event for event in found if event.get("cat") in ("cpu_op", "user_annotation")]


def messages(folder: Path, rank: int) -> list[dict[str, Any]]:
    said = (facts_of(event["name"]) for event in events(folder, rank))
    return sorted((facts for facts in said if facts), key=lambda facts: facts["id"])


def inside(inner: dict[str, Any], outer: dict[str, Any]) -> bool:
    return bool(
        inner["tid"] == outer["tid"]
        and outer["ts"] <= inner["ts"]
        and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    )


@pytest.mark.parametrize("case", CASES)
def test_every_communication_operator_holds_one_annotation(collected: Path, case: str) -> None:
    for rank in range(RANKS):
        found = events(collected / case, rank)
        calls = [event for event in found if event["name"].startswith("c10d::")]
        notes = [event for event in found if event["name"].startswith(COMM)]
        assert calls
        assert len(calls) == len(notes)
        assert all(sum(inside(note, call) for note in notes) == 1 for call in calls)


@pytest.mark.parametrize("case", CASES)
def test_annotations_of_both_traces_are_the_same(collected: Path, case: str) -> None:
    for rank in range(RANKS):
        host = [node["name"] for node in operators(collected / case, rank)]
        device = [event["name"] for event in events(collected / case, rank)]
        for kind in (COMM, WAIT):
            assert Counter(n for n in host if n.startswith(kind)) == Counter(
                n for n in device if n.startswith(kind)
            )


@pytest.mark.parametrize("case", CASES)
def test_every_communication_is_awaited_once(collected: Path, case: str) -> None:
    for rank in range(RANKS):
        names = [event["name"] for event in events(collected / case, rank)]
        waits = [facts["id"] for name in names if (facts := facts_of(name, WAIT))]
        assert sorted(waits) == [facts["id"] for facts in messages(collected / case, rank)]


@pytest.mark.parametrize("case", CASES)
def test_annotations_are_complete(collected: Path, case: str) -> None:
    for rank in range(RANKS):
        of_group: dict[str, count[int]] = defaultdict(count)
        for number, facts in enumerate(messages(collected / case, rank)):
            assert facts["id"] == number
            assert rank in facts["ranks"]
            assert facts["dtype"] or facts["op"] == "barrier"
            assert facts["bytes"] > 0 or facts["op"] == "barrier"
            if facts["op"] in ("send", "recv", "broadcast", "reduce", "gather", "scatter"):
                assert facts["peer"] in facts["ranks"]
            else:
                assert facts["peer"] is None
            if facts["op"] in SENDERS:
                assert isinstance(facts["tag"], int)
            else:
                assert facts["seq"] == next(of_group[facts["pg"]])


@pytest.mark.parametrize("case", CASES)
def test_ranks_agree_on_the_collectives_of_a_group(collected: Path, case: str) -> None:
    agreed: dict[tuple[str, int], dict[str, Any]] = {}
    takers: Counter[tuple[str, int]] = Counter()
    for rank in range(RANKS):
        for facts in messages(collected / case, rank):
            if facts["op"] not in SENDERS:
                key = (facts["pg"], facts["seq"])
                said = {k: facts[k] for k in ("op", "ranks", "bytes", "dtype", "peer")}
                assert agreed.setdefault(key, said) == said
                takers[key] += 1
    assert all(takers[key] == len(said["ranks"]) for key, said in agreed.items())


@pytest.mark.parametrize("case", CASES)
def test_every_send_has_its_receive(collected: Path, case: str) -> None:
    ends: dict[str, Counter[tuple[Any, ...]]] = {"send": Counter(), "recv": Counter()}
    for rank in range(RANKS):
        for facts in messages(collected / case, rank):
            if facts["op"] in SENDERS:
                pair = SENDERS[facts["op"]](rank, facts["peer"])
                size = (facts["bytes"], facts["dtype"])
                ends[facts["op"]][facts["pg"], pair, facts["tag"], facts["seq"], size] += 1
    assert ends["send"] == ends["recv"]


@pytest.mark.parametrize("case", CASES)
def test_host_and_device_traces_hold_the_same_operators(collected: Path, case: str) -> None:
    for rank in range(RANKS):
        nodes = operators(collected / case, rank)
        host = {n["rf_id"]: n["name"] for n in nodes if n["rf_id"] and n["name"] != INIT}
        device = {
            e["args"]["Record function id"]: e["name"] for e in events(collected / case, rank)
        }
        device.pop(0, None)
        assert device.items() <= host.items()
        only_host = [host[id] for id in host.keys() - device.keys()]
        # the profiler does not see what a hook's future runs on a thread of gloo's
        assert only_host == [] or (case == CASES[-1] and set(only_host) == {"aten::copy_"})


@pytest.mark.parametrize(("case", "steps"), [*((name, 1) for name in PARALLEL), (CASES[-1], 2)])
def test_the_active_steps_are_recorded(collected: Path, case: str, steps: int) -> None:
    for rank in range(RANKS):
        names = [event["name"] for event in events(collected / case, rank)]
        assert sum(name.startswith("ProfilerStep#") for name in names) == steps


def test_messages_have_the_sizes_of_the_models(collected: Path) -> None:
    def total(case: str, op: str) -> int:
        return sum(f["bytes"] for f in messages(collected / case, 0) if f["op"] == op)

    weights = 64 * 512 + 512 + 2 * (512 * 512 + 512) + 2 * 512 + 512 * 8 + 8
    assert total("ddp", "all_reduce") == 4 * weights + 4  # and the loss
    assert total("ddp", "broadcast") == 4 * 2 * 512 + 8  # means, variances, batches of the norm
    first, second, last = 64 * 128 + 128, 128 * 64 + 64, 64 * 8 + 8
    assert total("fsdp2", "reduce_scatter") == 4 * (first + second + last)
    assert total("fsdp2", "all_gather") == 4 * (2 * first + 2 * second + last) / RANKS
    assert total("tensor_parallel", "all_reduce") == 4 * 32 * 8  # the sum of the second layer
    assert total("pipeline", "send") == RANKS * 4 * 8 * 64  # a micro-batch's activations, each


def test_groups_are_written_beside_the_traces(collected: Path) -> None:
    for rank in range(RANKS):
        about = load(collected / "tensor_parallel" / f"collect.{rank}.json")
        groups = {group["pg_desc"]: group["ranks"] for group in about["groups"]}
        assert groups == {
            "default_pg": [0, 1, 2, 3],
            "mesh_data": [rank % 2, rank % 2 + 2],
            "mesh_tensor": [rank // 2 * 2, rank // 2 * 2 + 1],
        }
        assert (about["rank"], about["world_size"], about["problems"]) == (rank, RANKS, [])
        device = load(collected / "tensor_parallel" / f"device.{rank}.json")["distributedInfo"]
        assert {g["pg_name"]: g["ranks"] for g in device["pg_config"]} == {
            group["pg_name"]: group["ranks"] for group in about["groups"]
        }


def test_one_process_needs_no_group(collected: Path) -> None:
    folder = collected / "single"
    assert sorted(path.name for path in folder.iterdir()) == [
        "collect.0.json",
        "device.0.json",
        "host.0.json",
    ]
    assert messages(folder, 0) == []
    assert load(folder / "collect.0.json")["groups"] == []


SCRIPT = """
import sys, torch, yantra.collect
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(int(sys.argv[1])):
    with torch.profiler.record_function(f"turn {step}"):
        weight.sum().backward()
    optimizer.step()
    yantra.collect.step()
print("left", sys.argv[1:], __name__)
"""


def recorded_turns(folder: Path) -> Iterator[str]:
    names = sorted(node["name"] for node in load(folder / "host.0.json")["nodes"])
    return (name for name in names if name.startswith("turn"))


def test_a_script_is_recorded_as_it_is(collected: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    options = ("--warmup", "2", "--active", "2", "-o", tmp_path / "traces")
    printed = run("-m", "yantra.collect", *options, script, "5", "--warmup")
    assert "left ['5', '--warmup'] __main__" in printed
    assert list(recorded_turns(tmp_path / "traces")) == ["turn 2", "turn 3"]
    printed = run("-m", "yantra.collect", *options, "--step", "call", script, "3", status=2)
    assert "expected 2 steps of warm-up and 2 to record, got 3;" in printed


def test_a_missing_script_is_an_error(collected: Path, tmp_path: Path) -> None:
    printed = run("-m", "yantra.collect", tmp_path / "none.py", status=2)
    assert printed == f"error: {tmp_path}/none.py: no such file; expected a Python script\n"


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PARALLEL, "single"}
