"""Traces drawn anew: what stays, how they run, what the attack of `fingerprint` makes of them."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from tests import recorded_jobs
from yantra.base.units import format_time
from yantra.chakra import Attribute, CollectiveType, Kind, Node, NodeType, Trace, TraceBuilder, read
from yantra.cli import main
from yantra.explain.recordings.why import why
from yantra.run import share, share_attack
from yantra.run.share import LIMIT, Shared, share_job
from yantra.run.share_attack import Rates
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.validate import check_traces
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.pytorch.in_memory import converted_job
from yantra.tracing.share.calls import _drawn, _shares
from yantra.tracing.share.fingerprint import ALL, fingerprint, guesses
from yantra.tracing.share.lanes import Lane, Work, disjoint
from yantra.tracing.share.together import together
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

FAMILIES = ("gpt3-1.3b", "llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "bert-base")
FAMILIES += ("qwen3-30b-a3b", "vit-b/16", "dit-xl/2")


@cache
def job(model: str, layers: int, **plan: int) -> tuple[tuple[RankTrace, ...], tuple[object, ...]]:
    usual = {"global_batch": plan.get("dp", 1)}
    whole = find(model)
    few = whole.replace(layers=whole.layers[:layers])
    tokens = None if whole.fixed_sequence else 512
    workload = train(few, Plan.of({**usual, **plan}), tokens)
    ranks = [
        RankTrace(rank, f"job.{rank}.et", workload.trace(rank)) for rank in range(workload.ranks)
    ]
    return tuple(ranks), tuple((str(id), of) for id, of in workload.communicators().items())


def shared(model: str, layers: int, key: bytes = b"a secret", **plan: int) -> Shared:
    ranks, groups = job(model, layers, **plan)
    return share_job(ranks, key, dict(groups))  # type: ignore[arg-type]


def sums(trace: Trace) -> Counter[tuple[str, object]]:
    found: Counter[tuple[str, object]] = Counter()
    for node in trace:
        if node.type == NodeType.COMM_COLL:
            found["bytes", node["comm_type"]] += int(str(node["comm_size"]))
        elif node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            found["messages", node.type] += int(str(node["comm_size"]))
        else:
            for name in ("num_ops", "tensor_size"):
                found[name, ""] += int(str(node.get(name) or 0))
    return found


# ------------------------------------------------------------------------------ laws


def test_communication_of_unknown_size_stays_exposed_where_it_was() -> None:
    made = TraceBuilder(attributes=[Attribute("complete_order", True, Kind.BOOL)])
    last: list[Node] = []
    for at in range(120):
        node = made.compute(f"k{at}", duration_micros=20, after=last)
        node.set("is_cpu_op", False)
        node.set("stream", 7)
        if 40 <= at < 60:
            node.set("communication", "communication")
        last = [node]
    drawn = share_job([RankTrace(0, "job.0.et", made.build())], b"a secret")
    assert drawn.clusters[0].before.exposed_ns == 20 * 20_000
    assert abs(drawn.clusters[0].exposed) < 0.01


def test_a_lane_cut_anywhere_keeps_its_sums() -> None:
    works = [Work(10.0 * n, 10.0 * n + n, n % 2, 7 * n, 11 * n, 13 * n) for n in range(9)]
    lane = Lane(works)
    places = [0.0, 0.5, 3.0, 3.7, 20.0, lane.length]
    parts = [part for ends in pairwise(places) for part in lane.between(*ends)]
    for field in ("duration_ns", "operations", "moved"):
        total = sum(getattr(work, field) for work in works)
        assert sum(getattr(part, field) for part in parts) == total
    assert lane.length == sum(work.length for work in works)
    assert lane.place(lane.begins(3.5)) == lane.place(lane.ends(3.5)) == 3.5


def test_lines_hold_no_two_at_once() -> None:
    spans = [(0.0, 4.0), (1.0, 2.0), (2.0, 5.0), (4.0, 6.0), (4.5, 5.0)]
    lines = disjoint(spans)
    for one, (start, end) in enumerate(spans):
        for other in range(one):
            apart = spans[other][1] <= start or end <= spans[other][0]
            assert apart or lines[one] != lines[other]
    assert max(lines) == 2


@pytest.mark.parametrize("parts", [1, 3, 16])
def test_parts_of_calls_are_whole_and_as_large_as_drawn(parts: int) -> None:
    sizes = [5, 1, 1, 9, 30]
    ends = [0.0, *accumulate(_drawn(Keyed(b"a secret"), 2, parts))]
    made = _shares(sizes, ends)
    assert [round(sum(share for _, share, _ in part), 9) for part in made] == [1.0] * parts
    for part, (begin, end) in zip(made, pairwise(ends), strict=True):
        taken = sum(sizes[at] * of_node for at, _, of_node in part)
        assert taken == pytest.approx((end - begin) * sum(sizes))
    for index in range(len(sizes)):
        whole = sum(of_node for part in made for at, _, of_node in part if at == index)
        assert whole == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "plan"),
    [
        ("llama3-8b", {"tp": 2, "pp": 2, "zero": 1, "global_batch": 4}),
        ("mixtral-8x7b", {"dp": 4, "ep": 4, "zero": 3, "global_batch": 4}),
    ],
)
def test_what_is_computed_and_communicated_and_how_long_it_takes_stays(
    model: str, plan: dict[str, int]
) -> None:
    made = shared(model, 4, **plan)
    for rank, _, trace in job(model, 4, **plan)[0]:
        old, new = sums(trace), sums(made.traces[rank])
        operations = ("num_ops", "")  # where memory bounds they are drawn
        assert new.pop(operations) == pytest.approx(old.pop(operations), rel=0.05)
        assert {key: new[key] - old[key] for key in old if abs(new[key] - old[key]) > 64} == {}
    assert made.same_winner and all(one.worst <= LIMIT for one in made.clusters)
    assert check_traces(list(made.traces.values()), groups=made.groups).valid


def test_how_many_calls_there_are_says_nothing_about_layers() -> None:
    found = [
        Counter(node.name for node in shared("llama3-8b", layers, tp=2).traces[0])
        for layers in (3, 6)
    ]
    few, many = (Counter(dict(of)) for of in found)
    assert (
        few["all_gather"] == many["all_gather"] and few["reduce_scatter"] == many["reduce_scatter"]
    )


# ------------------------------------------------------------------------------ the attack


def test_the_attack_names_a_model_of_another_size_but_not_one_drawn_anew() -> None:
    raw, hidden = {}, {}
    for layers in (2, 4):
        for model in FAMILIES:
            raw[model, layers] = fingerprint(job(model, layers)[0][0].trace)
            key = f"{model} {layers}".encode()
            hidden[model, layers] = fingerprint(shared(model, layers, key).traces[0])

    def named(prints: dict[tuple[str, int], dict[str, Counter[object]]]) -> Counter[str]:
        known = {model: [prints[model, 2]] for model in FAMILIES}
        right: Counter[str] = Counter()
        for model in FAMILIES:
            for aspect, guess in guesses(known, prints[model, 4]).items():
                right[aspect] += guess == model
        return right

    assert named(raw)[ALL] >= 6
    assert max(named(hidden).values()) <= 3


def test_the_hardware_told_is_the_slowest_that_does_the_fastest_piece_in_time() -> None:
    assert share_attack.device(Rates(300e12, 1e12)).startswith("A100")
    assert share_attack.device(Rates(330e12, 1e12)) != share_attack.device(Rates(300e12, 1e12))
    assert share_attack.device(Rates(1e18, 1e12)) == ""
    made = TraceBuilder()
    for micros, ops in ((100, 30_000_000_000), (50, 1_000_000_000)):
        node = made.compute("gemm", duration_micros=micros)
        node.set("num_ops", ops)
        node.set("tensor_size", 10_000_000)
    found = share_attack.rates({0: Columns(made.build())})
    assert found == pytest.approx(Rates(300e12, 0.2e12))


def test_what_is_told_of_parallelism_and_hardware_is_held_against_the_original() -> None:
    leaks = {leak.what: leak for leak in shared("llama3-8b", 4, tp=2, dp=2).leaks}
    told, ranks = leaks["parallel degrees"].evidence
    assert leaks["parallel degrees"].shows == "roughly"
    assert told.endswith("the original says data 2, data 4, tensor 2") and ranks == "4 ranks"
    assert leaks["hardware"].shows == "no longer"
    traces, groups = job("llama3-8b", 4, tp=2, dp=2)
    one = {rank: Columns(trace) for rank, _, trace in traces}
    assert share_attack.attacked(one, dict(groups), one, dict(groups))[0].shows == "exactly"  # type: ignore[arg-type]
    timed = TraceBuilder()
    for name in ("a", "b", "c"):
        node = timed.compute(name, duration_micros=100, after=())
        node.set("num_ops", {"a": 10**9, "b": 10**10, "c": 10**9}[name])
        node.set("tensor_size", 10**6)
    (rated,) = (
        leak
        for leak in share_job([RankTrace(0, "job.0.et", timed.build())], b"a secret").leaks
        if leak.what == "hardware"
    )
    assert rated.shows == "roughly" and "the original's 100 TFLOP/s" in rated.evidence[1]


# ------------------------------------------------------------------------------ recordings


def test_a_recording_comes_back_as_a_recording_that_runs_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded_jobs.write(recorded_jobs.Plan(ranks=2, steps=2), tmp_path)
    assert main(["trace", "share", "rank{rank}.json", "-o", "safe", "--key", "k", "--json"]) == 0
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    assert said["accepted"] is not ("changed by" in printed.err) and len(said["files"]) == 2
    before, after = converted_job(["rank{rank}.json"]), converted_job(["safe/rank{rank}.json.gz"])
    for rank, _, trace in before.traces:
        old, new = sums(trace), sums(after.traces[rank].trace)
        assert {name: new[name] for name in old if name[0] == "bytes"} == {
            name: old[name] for name in old if name[0] == "bytes"
        }
    old, new = (
        share._on(share.CLUSTERS[0], {rank: trace for rank, _, trace in one.traces}, one.groups)
        for one in (before, after)
    )
    assert new.makespan_ns == pytest.approx(old.makespan_ns, rel=LIMIT)
    names = {node.name.partition(" ")[0] for _, _, trace in after.traces for node in trace}
    assert not {name for name in names if "aten" in name or "gemm" in name}


def test_shared_ranks_keep_one_clock_and_who_is_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    late = ("host", 2, 0, 3000.0)
    plan = recorded_jobs.Plan(ranks=4, steps=2, layers=2, late=late, apart_ns=10**10)
    recorded_jobs.write(plan, tmp_path)
    before, _ = why(["rank{rank}.json"])
    assert main(["trace", "share", "rank{rank}.json", "-o", "safe", "--key", "k"]) == 0
    after, _ = why(["safe/rank{rank}.json.gz"])
    assert after.clocks.how == "agree" and after.clocks.spread_ns < 2
    costs = [sum(row.waited_ns for row in one.late if row.rank == 2) for one in (before, after)]
    assert costs[1] == pytest.approx(costs[0], rel=0.2)
    assert after.named[0].startswith("rank 2 is late") and costs[0] > 10e6
    moved = [sum(one.transfer_ns for one in each.meetings) for each in (before, after)]
    assert moved[1] == pytest.approx(moved[0], rel=0.05)
    said = capsys.readouterr().out
    line = next(line for line in said.splitlines() if line.startswith("  rank 2: "))
    assert line == f"  rank 2: {format_time(costs[0])} -> {format_time(costs[1])}"


def test_members_leave_together_and_a_circle_of_waiting_is_cut() -> None:
    def call(id: int, group: str, took: int, *after: int) -> Node:
        node = Node(id, "all_reduce", NodeType.COMM_COLL, took, list(after))
        for name, value in (("pg_name", group), ("comm_type", 0), ("comm_size", 8)):
            node.set(name, value)
        return node

    work = Node(0, "work", NodeType.COMP, 50, [])
    straight = {
        0: {1: call(1, "a", 90)},
        1: {0: work, 1: call(1, "a", 40, 0), 2: call(2, "a", 7)},
        2: {1: call(1, "a", 80), 2: call(2, "a", 9)},
    }
    straight[2][1].set("transfer_ns", 10_000)
    runs = together(straight, {"a": (0, 1, 2)}, 5)
    assert runs[0][1] == (5, 60_005) and runs[1][1] == (50_005, 60_005)
    assert runs[1][2] == runs[2][2] == (60_005, 67_005)  # one after the other in a group
    circle = {
        0: {1: call(1, "a", 3), 2: call(2, "b", 4, 1)},
        1: {1: call(1, "b", 5), 2: call(2, "a", 6, 1)},
    }
    runs = together(circle, {"a": (0, 1), "b": (0, 1)}, 0)
    assert runs[0] == {1: (0, 3000), 2: (3000, 7000)} and runs[1] == {
        1: (0, 7000),
        2: (7000, 13000),
    }


def test_chakra_traces_stay_chakra_traces_and_a_key_gives_the_same_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for rank in range(2):
        step = TraceBuilder()
        last: Node | tuple[()] = ()
        for layer in range(9):
            work = step.compute(f"secret_{layer}", duration_micros=400 + layer, after=last)
            last = step.collective(CollectiveType.ALL_REDUCE, 2**20, group="tensor", after=work)
        step.build().write(f"job.{rank}.et")
    Path("g.json").write_text('{"tensor": [0, 1]}')
    line = ["trace", "share", "job.{rank}.et", "--set", "groups=g.json", "-o"]
    assert main([*line, "a", "--key", "one"]) == 0
    said = capsys.readouterr().out
    assert "what an attacker finds" in said and "how both forms run" in said
    assert main([*line, "b", "--key", "one"]) == main([*line, "c", "--key", "two"]) == 0
    one, same, other = (Path(folder, "job.0.et").read_bytes() for folder in "abc")
    assert one == same != other and b"secret" not in one
    assert sum(node.duration_micros for node in read(one)) == sum(400 + n for n in range(9))
    assert json.loads(Path("a/job.groups.json").read_text()) == {"1": [0, 1]}


def test_mistakes_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for rank in range(2):
        step = TraceBuilder()
        step.collective(CollectiveType.ALL_REDUCE, 2**20)
        if rank:
            step.collective(CollectiveType.ALL_REDUCE, 2**20)
        step.build().write(f"job.{rank}.et")
    Path("file").write_text("")
    for line, status, problem in (
        (["job.{rank}.et", "-o", "out"], 3, "never entered"),
        (["job.0.et", "-o", "file"], 2, "expected a folder"),
        (["nothing.et", "-o", "out"], 2, "nothing.et"),
    ):
        assert main(["trace", "share", *line]) == status
        assert problem in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gpu_a", "fsdp"])
def test_a_profile_without_launches_becomes_chakra_traces_that_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    profiles = Path(__file__).parents[1] / "golden" / "data" / "profiles"
    (profile,) = profiles.glob(f"{name}/*.xplane.pb")
    assert main(["trace", "share", str(profile), "-o", "safe", "--key", "a long secret"]) == 0
    given = converted_job([str(profile)])
    assert bool(given.groups) == Path("safe/job.groups.json").is_file() == (name == "gpu_a")
    if given.groups:
        members = json.loads(Path("safe/job.groups.json").read_text()).values()
        assert sorted(map(tuple, members)) == sorted(given.groups.values())
    for one in given.traces:
        assert sums(read(f"safe/job.{one.rank}.et")) == sums(one.trace)
