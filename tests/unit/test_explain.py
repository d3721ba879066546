"""Explanations of runs whose answer is known: what they say, and that it adds up."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.cases import (
    ALL_REDUCE,
    Write,
    cluster,
    collectives,
    scenario,
    traces,
    write_result,
)
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.explain import Explanation, explain
from yantra.explain.explanation import explained, phases
from yantra.result.path import path_form
from yantra.result.shares import tenths
from yantra.run.simulate import simulate
from yantra.scenario import ChakraFiles, Device, RemoteMemory, Scenario

RING = cluster(("ring", 4, 50.0, 500.0))
KB = 1000


def told(write: Write, **parts: Any) -> Explanation:
    topology = parts.pop("topology", RING)
    return explain(scenario(topology, write, **parts))


def best(explanation: Explanation) -> str:
    name: str = explanation.data["next"]["without"]
    return name


def words(explanation: Explanation) -> str:
    return " ".join(explanation.text().split())


def computing(builder: TraceBuilder, rank: int) -> None:
    kernel = builder.compute("kernel", duration_micros=97)
    builder.collective(ALL_REDUCE, 4, after=kernel)


def test_a_run_of_kernels_is_told_as_such() -> None:
    explanation = told(computing)
    assert explanation.data["makespan_ns"] == 97000 + 6 * 500.02
    assert "is 97.0 % kernels and 3.0 % latency of links." in words(explanation)
    assert best(explanation) == "compute"
    assert "97.0 % with kernels that take no time" in words(explanation)


def small_messages(builder: TraceBuilder, rank: int) -> None:
    last: Any = ()
    for _ in range(3):
        last = builder.collective(ALL_REDUCE, 100, after=last)


def test_small_messages_are_bound_by_latency() -> None:
    explanation = told(small_messages)
    wire, latency = 18 * 25 / 50, 18 * 500
    assert explanation.data["critical_path"]["by_kind"] == {"latency": latency, "wire": wire}
    assert "99.9 % latency of links" in words(explanation)
    rows = {row["name"]: row for row in explanation.data["what_if"]}
    assert rows["latency"]["makespan_ns"] == wire
    assert rows["bandwidth"]["makespan_ns"] == latency


def test_a_large_message_is_bound_by_bandwidth() -> None:
    def large(builder: TraceBuilder, rank: int) -> None:
        builder.collective(ALL_REDUCE, 100_000 * KB)

    explanation = told(large)
    wire = 6 * 25_000 * KB / 50
    assert explanation.data["critical_path"]["by_kind"] == {"wire": wire, "latency": 3000}
    assert "99.9 % bytes on links" in words(explanation)
    rows = {row["name"]: row for row in explanation.data["what_if"]}
    assert rows["bandwidth"]["makespan_ns"] == 3000


def test_a_straggler_is_named_with_the_median() -> None:
    def uneven(builder: TraceBuilder, rank: int) -> None:
        kernel = builder.compute("kernel", duration_micros=90 if rank == 2 else 30)
        builder.collective(ALL_REDUCE, 4, after=kernel)

    text = words(told(uneven))
    assert "Rank 2 computes longest, 90.000 us; the median rank computes 30.000 us." in text
    # 90 us of 93 are on the path; the ranks compute 45 us on average.
    assert "Kernels are 96.8 % of the path and 48.4 % of the time of the average rank" in text
    assert "for at least 48.4 % of the time it computes nothing while the path does" in text


def pipeline(builder: TraceBuilder, rank: int) -> None:
    got: Any = builder.recv(rank - 1, KB, tag=1) if rank else ()
    kernel = builder.compute(f"stage {rank}", duration_micros=50, after=got)
    if rank < 3:
        builder.send(rank + 1, KB, tag=1, after=kernel)


def test_a_pipeline_of_one_batch_is_a_bubble() -> None:
    explanation = told(pipeline)
    path = explanation.data["critical_path"]
    assert path["by_kind"] == {"compute": 200_000, "latency": 1500, "wire": 60}
    assert path["crossings"] == 3
    assert set(path["by_rank"]) == set("0123")
    text = words(explanation)
    assert "passes from one rank to another 3 times" in text
    assert "Kernels are 99.2 % of the path and 24.8 % of the time of the average rank" in text


def test_remote_memory_is_named() -> None:
    def loads(builder: TraceBuilder, rank: int) -> None:
        builder.compute(duration_micros=1, after=builder.memory_load(99 * KB))

    memory = RemoteMemory(kind="per_npu", latency_ns=0, bytes_per_ns=1.0)
    explanation = told(loads, memory=memory)
    assert "is 99.0 % remote memory and 1.0 % kernels." in words(explanation)
    assert best(explanation) == "remote_memory"
    assert "With free remote memory it takes 1.000 us" in words(explanation)


def test_kernels_bound_by_memory_gain_from_its_bandwidth_alone() -> None:
    def kernels(builder: TraceBuilder, rank: int) -> None:
        builder.compute(num_ops=10**6, tensor_size=10**7)

    device = Device(compute="roofline", peak_flops=1e12, memory_bytes_per_s=1e12)
    rows = {row["name"]: row for row in told(kernels, device=device).data["what_if"]}
    assert rows["memory_bandwidth"]["gain"] == 0.9
    assert rows["peak"]["gain"] == 0


def test_host_work_is_named() -> None:
    def dispatching(builder: TraceBuilder, rank: int) -> None:
        host = builder.compute("launch", duration_micros=8, cpu=True)
        builder.compute("kernel", duration_micros=2, after=host)

    explanation = told(dispatching)
    assert "is 80.0 % host work and 20.0 % kernels." in words(explanation)
    assert best(explanation) == "host"


def test_messages_that_wait_for_links_are_told_and_gain_without_contention() -> None:
    def crossing(builder: TraceBuilder, rank: int) -> None:
        for peer in (0, 1, 3):
            if rank == 2:
                builder.recv(peer, 1000 * KB, tag=peer)
            elif rank == peer:
                builder.send(2, 1000 * KB, tag=peer)

    topology = cluster(("switch", 4, 50.0, 500.0))
    explanation = told(crossing, topology=topology, network="store_and_forward")
    assert explanation.data["critical_path"]["by_kind"]["queued"] > 0
    assert "waiting for links" in words(explanation)
    assert "contention" in [row["name"] for row in explanation.data["what_if"]]


def test_nothing_at_all_is_told_as_nothing() -> None:
    explanation = told(lambda builder, rank: None)
    assert explanation.data["makespan_ns"] == 0
    assert "The run takes 0 ns on 4 ranks." in explanation.text()


EVERY: dict[str, Callable[[TraceBuilder, int], None]] = {
    "computing": computing,
    "small_messages": small_messages,
    "pipeline": pipeline,
}


@pytest.mark.parametrize("write", EVERY.values(), ids=EVERY)
def test_parts_of_the_path_add_up_whatever_they_are_grouped_by(write: Write) -> None:
    form = simulate(scenario(RING, write), record=True).as_dict(("ranks",))
    path = form["critical_path"]
    length = Fraction(str(form["makespan_ns"]))
    assert path["length_ns"] == form["makespan_ns"]

    def exact(parts: list[float]) -> Fraction:
        return sum((Fraction(str(part)) for part in parts), Fraction(0))

    assert exact([*path["by_kind"].values()]) == length
    for member in ("by_name", "by_rank"):
        assert exact([ns for kinds in path[member].values() for ns in kinds.values()]) == length
    data = explained(form).data
    assert exact([phase["length_ns"] for phase in data["phases"]]) == length
    steps = path["steps"]
    assert (steps["start_ns"][0], steps["end_ns"][-1]) == (0, form["makespan_ns"])
    assert steps["end_ns"][:-1] == steps["start_ns"][1:]


def test_windows_cut_the_time_into_quarters() -> None:
    steps = {"kind": ["compute", "wire"], "start_ns": [0, 30], "end_ns": [30, 100]}
    found = phases({"length_ns": 100, "steps": steps})
    assert [phase["name"] for phase in found] == [
        f"quarter {at} of the time" for at in (1, 2, 3, 4)
    ]
    assert [phase["length_ns"] for phase in found] == [25, 25, 25, 25]
    assert found[1]["by_kind"] == {"wire": 20, "compute": 5}


def test_phases_that_the_traces_name_come_first() -> None:
    named = {"forward": {"compute": 60.0}, "": {"latency": 40.0}}
    found = phases({"length_ns": 100, "by_phase": named, "steps": {}})
    assert [phase["name"] for phase in found] == ["forward", "no phase"]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 100])
def test_a_long_path_is_joined_and_keeps_its_ends_and_sums(most: int) -> None:
    result = simulate(scenario(RING, small_messages), record=True)
    steps = result.critical_path.steps
    whole = path_form(steps, lambda rank, node: "", 10**6)
    joined = path_form(steps, lambda rank, node: "", most)
    assert len(joined["steps"]["kind"]) <= most
    assert {k: v for k, v in joined.items() if k != "steps"} == {
        k: v for k, v in whole.items() if k != "steps"
    }
    assert joined["steps"]["start_ns"][0] == 0
    assert joined["steps"]["end_ns"][-1] == result.makespan_ns
    assert joined["steps"]["end_ns"][:-1] == joined["steps"]["start_ns"][1:]


@pytest.mark.parametrize("parts", [[1.0, 1.0, 1.0], [0.001, 999999.0], [3.0], [0.0, 2.0, 5.5]])
def test_shown_shares_add_up_to_the_whole(parts: list[float]) -> None:
    assert sum(tenths(parts)) == 1000


def test_shares_of_nothing_are_nothing() -> None:
    assert tenths([0.0, 0.0]) == [0, 0]


# --- files


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for rank, trace in enumerate(traces(4, computing)):
        trace.write(f"step.{rank}.et")
    workload = ChakraFiles(prefix="step")
    of_files = Scenario(workload=workload, topology=RING, collectives=collectives())
    simulate(of_files, record=True).to_json("r.json")
    return tmp_path / "r.json"


def test_a_stored_result_is_explained_as_its_scenario_is(stored: Path) -> None:
    form = json.loads(stored.read_text())
    Path("scenario.yaml").write_text(json.dumps(form["scenario"]))
    assert explain("r.json").data == explain("scenario.yaml").data


def test_the_command_prints_the_words_or_the_data(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "r.json"]) == 0
    assert capsys.readouterr().out == explain("r.json").text() + "\n"
    assert main(["explain", "r.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == explain("r.json").data


def test_no_line_is_wider_than_a_terminal(stored: Path) -> None:
    assert max(map(len, explain("r.json").text().splitlines())) <= 80


def test_without_runs_the_file_alone_is_explained(stored: Path) -> None:
    for file in stored.parent.glob("*.et"):
        file.unlink()
    explanation = explain("r.json", runs=False)
    assert explanation.data["what_if"] is None
    assert explanation.data["critical_path"]["length_ns"] == explanation.data["makespan_ns"]
    assert explanation.data["notes"] == ["what-if bounds were not run"]


def test_a_result_without_a_path_says_how_to_get_one(stored: Path) -> None:
    form = json.loads(stored.read_text())
    del form["critical_path"]
    write_result(stored, form)
    explanation = explain("r.json", runs=False)
    assert explanation.data["critical_path"] is None
    assert explanation.data["notes"][0] == (
        "the result holds no critical path: yantra run --record keeps it"
    )
    assert explain("r.json").data["critical_path"] is not None


def test_a_result_of_traces_in_memory_is_explained_from_what_it_holds(tmp_path: Path) -> None:
    simulate(scenario(RING, computing), record=True).to_json(tmp_path / "r.json")
    explanation = explain(tmp_path / "r.json")
    assert explanation.data["critical_path"]["by_kind"]["compute"] == 97000
    assert explanation.data["notes"] == [
        "what-if bounds were not run",
        "it cannot be run again: traces of 4 ranks, made in Python and not in a file",
    ]


def test_a_result_of_an_older_version_is_explained_from_what_it_holds(stored: Path) -> None:
    form = json.loads(stored.read_text())
    for member in ("scenario", "inputs", "critical_path", "recorded"):
        del form[member]
    write_result(stored, form | {"yantra_version": "0.0.9"})
    assert explain("r.json").data["notes"] == [
        "the result holds no critical path: yantra run --record keeps it",
        "what-if bounds were not run",
        "it was written by Yantra 0.0.9, which left its scenario out",
    ]


def change(file: str) -> Callable[[dict[str, Any]], None]:
    return lambda form: Path(file).write_bytes(b"another")


def remove(file: str) -> Callable[[dict[str, Any]], None]:
    return lambda form: Path(file).unlink()


def all_end_at_5(form: dict[str, Any]) -> None:
    form.update(makespan_ns=5)
    ranks = form["tables"]["ranks"]
    ranks["finish_ns"] = [5] * len(ranks["rank"])


def table(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda form: change(form["tables"]["ranks"])


CHANGED = "the file was changed since it was written"
HOW = "run it again (yantra run r.json), or explain what it holds with --no-runs"
WRONG: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (change("step.1.et"), f"r.json: step.1.et: changed since it was written; {HOW}"),
    (remove("step.2.et"), f"r.json: step.2.et: no longer there; {HOW}"),
    (
        all_end_at_5,
        "r.json: makespan_ns: 5 here, 100000.12 when run again (written by Yantra 0.1.0); write it "
        "again, or explain it as it is with --no-runs",
    ),
    (
        lambda form: form.update(version=3),
        "r.json: version: 3 is newer than 2, the last that this version of Yantra reads; update "
        "Yantra",
    ),
    (
        lambda form: form["scenario"]["cluster"].update(speed=3),
        "r.json: scenario.cluster.speed: unknown key; expected one of topology, device, devices, "
        "memory, machine, fabric, routing, placement, link_changes, failures, reroute_delay",
    ),
    (
        table(lambda ranks: ranks.update({name: cut[:1] for name, cut in ranks.items()})),
        f"r.json: tables.ranks: 1 row, but what_ran.ranks is 4; {CHANGED}",
    ),
    (
        table(lambda ranks: ranks.update(rank=[9, 8, 7, 6])),
        f"r.json: tables.ranks.rank: expected every rank once, from 0; {CHANGED}",
    ),
    (
        table(lambda ranks: ranks.update(finish_ns=[1, 2, 3, 4])),
        "r.json: tables.ranks.finish_ns: the last is 4, but makespan_ns is 100000.12; " + CHANGED,
    ),
    (
        lambda form: form["tables"]["nodes"]["rank"].__setitem__(0, 4),
        "r.json: tables.nodes.rank[0]: expected a rank below 4, got 4",
    ),
    (
        table(lambda ranks: ranks.clear()),
        "r.json: tables.ranks.rank: missing; expected a list",
    ),
]


@pytest.mark.parametrize(("break_it", "said"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_explained_is_refused(
    break_it: Callable[[dict[str, Any]], object],
    said: str,
    stored: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    form = json.loads(stored.read_text())
    break_it(form)
    write_result(stored, form)
    assert main(["explain", "r.json"]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["none.json"], "none.json: cannot be read: No such file or directory"),
        (
            ["s.yaml", "--no-runs"],
            "s.yaml: not a result in JSON, and a scenario has to be run",
        ),
        (
            ["bad.json"],
            "bad.json: workload: missing; expected a mapping such as {templates: step.yw}",
        ),
    ],
)
def test_other_files_are_refused(
    options: list[str], said: str, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text("workload: {}")
    Path("bad.json").write_text("{}")
    assert main(["explain", *options]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"


def test_long_names_of_kernels_do_not_widen_the_table() -> None:
    def long(builder: TraceBuilder, rank: int) -> None:
        builder.compute("void kernel<" + "float, " * 90 + ">", duration_micros=97)

    assert max(map(len, told(long).text().splitlines())) <= 90
