"""Two results compared: what is matched with what, what adds up, and the words on the rest."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, cluster, collectives, traces
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.explain import compare, compare_words
from yantra.explain.comparison import compared
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import ChakraFiles, Scenario

Form = dict[str, Any]


def step(builder: TraceBuilder, rank: int) -> None:
    kernel = builder.compute("forward", duration_micros=20 + 10 * (rank == 3))
    builder.collective(ALL_REDUCE, 1 << 20, name="gradients", after=kernel)


def scenario(folder: Path, bytes_per_ns: float = 50.0, ranks: int = 4) -> Scenario:
    for rank, trace in enumerate(traces(ranks, step)):
        trace.write(folder / f"step.{rank}.et")
    return Scenario(
        workload=ChakraFiles(prefix=str(folder / "step")),
        topology=cluster(("ring", ranks, bytes_per_ns, 500.0)),
        collectives=collectives(),
    )


@pytest.fixture
def slow(tmp_path: Path) -> Result:
    return simulate(scenario(tmp_path))


@pytest.fixture
def fast(tmp_path: Path) -> Result:
    return simulate(scenario(tmp_path, bytes_per_ns=100.0))


def with_path(form: Form, **kinds: float) -> Form:
    path = {
        "length_ns": form["makespan_ns"],
        "by_kind": kinds,
        "by_phase": {f"of {kind}": {kind: ns} for kind, ns in kinds.items()},
        "by_name": {"all": kinds},
    }
    return form | {"critical_path": path}


def test_a_result_compared_with_itself_has_not_changed(slow: Result) -> None:
    data = compare(slow, slow).data
    assert data["makespan_ns"]["change"] == 0
    assert data["scenario"] == data["inputs"] == data["by_rank"] == []
    assert data["collectives"]["rows"] == data["nodes"]["rows"] == []
    assert all(row["a"] == row["b"] for row in data["dimensions"])
    assert all(row["change_ns"] == 0 for row in data["ranks"])


def test_the_fields_that_differ_are_named_with_both_values(slow: Result, fast: Result) -> None:
    assert compare(slow, fast).data["scenario"] == [
        {"field": "cluster.topology[0].bandwidth", "a": "50 GB/s", "b": "100 GB/s"}
    ]


def test_what_a_file_leaves_to_its_default_is_said(slow: Result, tmp_path: Path) -> None:
    aware = simulate(slow.model.scenario.replace(network="store_and_forward"))
    (row,) = compare(slow, aware).data["scenario"]
    assert row == {"field": "network", "a": None, "b": "store_and_forward"}
    assert "network  (default)  store_and_forward" in compare(slow, aware).text()


def test_parts_of_the_average_rank_add_up_to_the_change(slow: Result, fast: Result) -> None:
    data = compare(slow, fast).data
    change = sum(Fraction(str(row["change_ns"])) for row in data["ranks"])
    assert change == Fraction(str(data["makespan_ns"]["change"]))


def test_collectives_and_nodes_are_matched_by_what_they_are(slow: Result, fast: Result) -> None:
    data = compare(slow, fast).data
    (collective,) = data["collectives"]["rows"]
    assert (collective["kind"], collective["size_bytes"]) == ("all_reduce", 1 << 20)
    assert collective["a_per_rank"] == collective["b_per_rank"] == 1
    times = slow.collectives.values("end_ns"), slow.collectives.values("start_ns")
    mean = sum(end - start for end, start in zip(*times, strict=True)) / 4
    assert collective["a_ns"] == pytest.approx(mean, abs=1e-3)
    (node,) = data["nodes"]["rows"]
    assert (node["name"], node["type"]) == ("gradients", "COMM_COLL")
    assert node["change_ns"] == collective["change_ns"]


def test_ranks_that_changed_alike_share_a_row(slow: Result, fast: Result) -> None:
    rows = compare(slow, fast).data["by_rank"]
    assert sorted(range_ for row in rows for range_ in row["ranks"])[0][0] == 0
    counted = sum(last - first + 1 for row in rows for first, last in row["ranks"])
    assert counted == 4
    assert [abs(row["change_ns"]) for row in rows] == sorted(
        (abs(row["change_ns"]) for row in rows), reverse=True
    )


def test_the_paths_by_kind_add_up_to_the_change_exactly(slow: Result, fast: Result) -> None:
    a, b = slow.as_dict(), fast.as_dict()
    kernels = 20000.0
    a = with_path(a, compute=kernels, wire=a["makespan_ns"] - kernels)
    b = with_path(b, compute=kernels, latency=3000, wire=b["makespan_ns"] - kernels - 3000)
    data = compared(a, b).data
    for member in ("by_kind", "by_phase", "by_name"):
        changes = [Fraction(str(row["change_ns"])) for row in data["critical_path"][member]]
        assert sum(changes) == Fraction(str(data["makespan_ns"]["change"]))
        assert [abs(one) for one in changes] == sorted(map(abs, changes), reverse=True)
    (all_of_it,) = data["critical_path"]["by_name"]
    assert all_of_it["by_kind"] == data["critical_path"]["by_kind"]


def test_the_words_name_the_largest_causes(slow: Result, fast: Result) -> None:
    a, b = (
        slow.as_dict(("ranks",)),
        fast.as_dict(("ranks",)) | {"bound_by": slow.bound_by._asdict()},
    )
    a = with_path(a | {"makespan_ns": 100_000}, compute=60_000, wire=40_000)
    b = with_path(b | {"makespan_ns": 80_000}, compute=60_000, wire=19_000, latency=1_000)
    text = compared(a, b, ("now.json", "new.json")).text()
    assert text.startswith("both: 4 ranks, Ring 4, analytical network, Yantra ")
    assert text.partition("\n\n")[2].startswith(
        "now.json takes 100.000 us and new.json 80.000 us: 20.000 us (20.0 %) less. Both\n"
        "are bound by the network. The critical path spends 21.000 us less on bytes on\n"
        "links. The phase that changed most is of wire, 21.000 us less.\n"
    )
    assert "together          100.000 us  80.000 us  -20.000 us" in text


def test_a_comparison_calls_a_bound_as_the_summary_of_a_run_does(slow: Result) -> None:
    for label in ("compute", "the rate of arithmetic", "memory bandwidth"):
        kind = "memory_bandwidth" if label == "memory bandwidth" else "compute"
        bound = {"kind": kind, "text": f"bound by {label}: with less it would be 9 % shorter"}
        form = slow.as_dict(("ranks",)) | {"bound_by": bound}
        text = " ".join(compared(form, form | {"makespan_ns": 1}).text().split())
        assert f" Both are bound by {label}. " in text + " "


def test_other_numbers_of_ranks_are_compared_as_means(slow: Result, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    more = simulate(scenario(tmp_path / "more", ranks=8))
    data = compare(slow, more).data
    assert (data["a"]["ranks"], data["b"]["ranks"]) == (4, 8)
    assert data["by_rank"] == []
    assert "Where the time of the average rank goes (4 and 8 ranks)" in compare(slow, more).text()


def test_files_of_one_name_and_other_content_are_named(slow: Result) -> None:
    form = slow.as_dict()
    other = copy.deepcopy(form)
    name = next(iter(form["inputs"]))
    other["inputs"][name] = "0" * 64
    assert compared(form, other).data["inputs"] == [
        {"file": name, "a": form["inputs"][name], "b": "0" * 64}
    ]


def test_what_an_older_file_lacks_is_said(slow: Result) -> None:
    form = slow.as_dict(("ranks", "dimensions"))
    old = {key: value for key, value in form.items() if key not in ("scenario", "inputs")}
    old["tables"] = {"ranks": form["tables"]["ranks"]}
    data = compared(old, slow.as_dict(), ("old.json", "new.json")).data
    assert data["missing"] == [
        "the critical path of old.json and new.json: yantra run --record keeps it; without it the "
        "change is not explained by causes",
        "the scenario of old.json: written by an older version",
        "the table collectives of old.json: yantra run -o keeps it",
        "the table dimensions of old.json: yantra run -o keeps it",
        "the table nodes of old.json: yantra run -o keeps it",
    ]


WRONG = [
    ("", "b.json: not a result in JSON; yantra run SCENARIO -o result.json writes one"),
    ("workload: x", 'b.json: workload: expected a mapping, got "x"; write {model: "x"}'),
    ("{", "b.json, line 2, column 1: not YAML: did not find expected node content"),
    ("{}", "b.json: not a result: it has no format; yantra run SCENARIO -o result.json writes one"),
    (
        '{"format": "other"}',
        'b.json: not a result: its format is "other"; yantra run SCENARIO -o result.json writes '
        "one",
    ),
    (
        '{"format": "yantra-result", "version": 3}',
        "b.json: version: 3 is newer than 2, the last that this version of Yantra reads; update "
        "Yantra",
    ),
    (
        '{"format": "yantra-result", "version": "1"}',
        'b.json: version: expected a whole number from 1, got "1"',
    ),
    (
        '{"format": "yantra-result", "version": 1, "tables": {}}',
        "b.json: yantra_version: missing; expected a text",
    ),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_file_that_is_no_result_is_refused(
    text: str,
    said: str,
    slow: Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    slow.to_json("a.json")
    Path("b.json").write_text(text)
    assert main(["compare", "a.json", "b.json"]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"


def damage(form: Form, where: str, value: object) -> Form:
    damaged = copy.deepcopy(form)
    *path, last = where.split(".")
    inside = damaged
    for name in path:
        inside = inside[name]
    inside[last] = value
    return damaged


DAMAGED = [
    ("makespan_ns", "5", 'makespan_ns: expected a number, got "5"'),
    ("bound_by.text", None, "bound_by.text: expected a text, got null"),
    ("tables.ranks", [], "tables.ranks: expected a mapping, got []"),
    ("tables.own", 3, "tables.own: expected a mapping, got 3"),
    (
        "tables.ranks.finish_ns",
        [1],
        "tables.ranks: expected lists of one length, one per column",
    ),
    (
        "tables.ranks.finish_ns",
        [1, 2, "3", 4],
        'tables.ranks.finish_ns[2]: expected a number, got "3"',
    ),
    ("critical_path", 3, "critical_path: expected a mapping, got 3"),
    (
        "critical_path.by_kind",
        {"wire": []},
        "critical_path.by_kind.wire: expected a number, got []",
    ),
    ("critical_path.steps", {}, "critical_path.steps.kind: missing; expected a list"),
    ("inputs", {"a": 1}, "inputs.a: expected a text, got 1"),
]


@pytest.mark.parametrize(("where", "value", "said"), DAMAGED)
def test_a_damaged_member_is_named(
    where: str, value: object, said: str, slow: Result, tmp_path: Path
) -> None:
    recorded = simulate(slow.model.scenario, record=True)
    (tmp_path / "b.json").write_text(json.dumps(damage(recorded.as_dict(), where, value)))
    with pytest.raises(ConfigError) as caught:
        compare(slow, tmp_path / "b.json")
    assert str(caught.value) == f"{tmp_path}/b.json: {said}"


def test_a_missing_file_is_refused(
    slow: Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    slow.to_json("a.json")
    assert main(["compare", "a.json", "b.json"]) == 2
    assert capsys.readouterr().err == "error: b.json: cannot be read: No such file or directory\n"


def test_the_command_prints_the_words_or_the_data(
    slow: Result,
    fast: Result,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    slow.to_json("a.json")
    fast.to_json("b.json")
    assert main(["compare", "a.json", "b.json"]) == 0
    assert capsys.readouterr().out == compare("a.json", "b.json").text() + "\n"
    assert main(["compare", "a.json", "b.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == compare("a.json", "b.json").data


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (([8.0, 12.0], [9.0, 14.0]), "That is within their 90 % intervals (8 ns to 12 ns, "),
        (([8.0, 9.0], [10.0, 14.0]), "Their 90 % intervals (8 ns to 9 ns, 10 ns to 14 ns) are"),
        ((None, [10.0, 14.0]), ""),
    ],
)
def test_a_comparison_says_whether_the_intervals_tell_two_runs_apart(
    ends: tuple[list[float] | None, list[float]], said: str
) -> None:
    sides = {side: {"name": side, "interval_ns": end} for side, end in zip("ab", ends, strict=True)}
    changed = {"makespan_ns": {"a": 10.0, "b": 12.0, "change": 2.0}}
    text = compare_words._sure({**sides, **changed})
    assert text.startswith(said) if said else text == ""
    assert compare_words._sure({**sides, "makespan_ns": {"change": 0.0}}) == ""


@pytest.mark.parametrize("gap", [-0.1, 0.0, 0.1])
def test_intervals_meet_when_they_share_a_point_whichever_is_first(gap: float) -> None:
    low, high = {"interval_ns": [8.0, 10.0]}, {"interval_ns": [10.0 + gap, 12.0]}
    meet = gap <= 0
    assert compare_words.intervals_meet(low, high) is meet
    assert compare_words.intervals_meet(high, low) is meet
    assert compare_words.intervals_meet(low, {}) is None
