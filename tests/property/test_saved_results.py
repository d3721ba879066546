"""Saved results: what a file gives back, and what of it is the same every time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import jobs
from tests.cases import cluster, collectives
from tests.oracles.folded_jobs import folded_case
from tests.oracles.folded_runs import cases
from tests.property.test_damaged_results import damaged
from tests.property.test_tables import some_tables
from tests.property.test_what_if import templated
from yantra import load_result
from yantra.base.errors import ConfigError, DeadlockError, UnsupportedError
from yantra.compile import Model, compile
from yantra.explain import compare, explain
from yantra.export import stored
from yantra.export.packed import numbers_form, table_pieces
from yantra.export.stored import StoredResult
from yantra.export.unpacked import numbers_of, table_of
from yantra.result import Result, Table
from yantra.result.table_names import ALL_TABLES, TABLES
from yantra.run.simulate import run
from yantra.scenario import RemoteMemory, Scenario, Traces

NETWORKS = ("congestion_unaware", "congestion_aware")
Files = dict[bool, Path]


@pytest.fixture(autouse=True)
def nothing_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yantra.export.json.MOST_ROWS_IN_FULL", 0)
    monkeypatch.setattr("yantra.export.packed._ROWS_OF_A_PART", 3)
    monkeypatch.setattr("yantra.export.packed._MOST_NUMBERS_IN_FULL", 2)


@cache
def validator() -> Any:
    schema = stored._schema()
    return jsonschema.validators.validator_for(schema)(schema)


def held(result: Result) -> tuple[str, ...]:
    return ALL_TABLES if result.recorded else TABLES


def same(before: Table, after: Table, where: str) -> None:
    assert after.columns == before.columns, where
    assert list(map(after.kind, after.columns)) == list(map(before.kind, before.columns)), where
    assert len(after) == len(before), where
    told = [(type(value), value) for row in before.rows() for value in row]
    assert [(type(value), value) for row in after.rows() for value in row] == told, where


def keeps_all(result: Result, folder: Path, where: str = "") -> None:
    result.to_json(folder / "r.json", held(result))
    validator().validate(json.loads((folder / "r.json").read_text()))
    back = load_result(folder / "r.json")
    assert back.tables == held(result), where
    for name in back.tables:
        same(result.table(name), back.table(name), f"{where}: {name}")
    assert back.summary() == result.summary()
    assert (back.makespan_ns, back.bound_by) == (result.makespan_ns, result.bound_by)
    assert (back.events, back.messages) == (result.events, result.messages)
    assert (back.warnings, back.recorded) == (result.warnings, result.recorded)


def runs_of(model: Model) -> Iterator[Result]:
    for record in (False, True):
        yield run(model, fold="off", record=record)
        try:
            yield run(model, fold="require", record=record)
        except UnsupportedError:
            continue


@pytest.mark.parametrize("network", NETWORKS)
def test_every_table_comes_back_row_by_row_folded_or_not(network: str, tmp_path: Path) -> None:
    for seed in range(10):
        model = compile(folded_case(seed).replace(network=network))
        for result in runs_of(model):
            keeps_all(result, tmp_path, f"case {seed}")


def test_runs_that_were_forwarded_come_back_too(tmp_path: Path) -> None:
    for name, scenario in cases("repeated", range(3)):
        for result in runs_of(compile(scenario)):
            keeps_all(result, tmp_path, name)


def test_templates_come_back_with_the_groups_of_every_rank(tmp_path: Path) -> None:
    for seed, shape in product(range(2), [(2, 4, 2), (4, 2, 2), (3, 3, 2)]):
        for result in runs_of(compile(templated(seed, *shape))):
            keeps_all(result, tmp_path, f"case {seed} of {shape}")


@settings(max_examples=25)
@given(jobs.jobs(), jobs.speeds, st.booleans(), st.sampled_from(NETWORKS))
def test_every_table_of_any_job_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    job: jobs.Job,
    speed: tuple[float, float],
    record: bool,
    network: Any,
) -> None:
    groups = tuple(sorted((int(name), ranks) for name, ranks in jobs.GROUPS.items()))
    scenario = Scenario(
        workload=Traces(traces=jobs.traces(job), groups=groups),
        topology=cluster(("ring", jobs.RANKS, *speed)),
        memory=RemoteMemory(kind="per_npu", latency_ns=20, bytes_per_ns=7.0),
        collectives=collectives(),
        network=network,
    )
    try:
        result = run(compile(scenario), record=record)
    except DeadlockError:
        assume(False)
    keeps_all(result, tmp_path_factory.mktemp("saved"))


@given(some_tables())
def test_a_table_of_columns_of_any_make_comes_back(
    drawn: tuple[Table, dict[str, list[Any]]],
) -> None:
    table, _ = drawn
    form = json.loads("".join(table_pieces(table)))
    same(table, table_of(table.name, form, "here"), "a table")


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 300)))
def test_packed_numbers_are_what_the_schema_says(numbers: list[int]) -> None:
    import base64
    import zlib
    from array import array

    form = numbers_form(array("Q", numbers))
    assert list(numbers_of(form, "here")) == numbers
    if isinstance(form, str):
        planes = zlib.decompress(base64.b64decode(form))
        count = len(planes) // 8
        read, number = [], 0
        for at in range(count):
            folded = sum(planes[plane * count + at] << 8 * plane for plane in range(8))
            number = (number + (folded >> 1 ^ -(folded & 1))) % 2**64
            read.append(number)
        assert read == numbers


def both(folder: Path, seed: int = 4) -> tuple[Path, Path]:
    scenario = folded_case(seed)
    dimensions = tuple(
        one.replace(bytes_per_ns=2 * one.bytes_per_ns) for one in scenario.topology.dimensions
    )
    faster = scenario.replace(topology=scenario.topology.replace(dimensions=dimensions))
    paths = folder / "a.json", folder / "b.json"
    for path, one in zip(paths, (scenario, faster), strict=True):
        run(compile(one)).to_json(path)
    return paths


def in_full(path: Path) -> Path:
    result = load_result(path)
    form = result.form | {"version": 1, "tables": {}}
    for name in result.tables:
        form["tables"][name] = result.table(name).as_dict()
    old = path.with_name(f"old-{path.name}")
    old.write_text(json.dumps(form))
    return old


@pytest.mark.parametrize("seed", range(12))
def test_packed_results_compare_as_those_in_full(tmp_path: Path, seed: int) -> None:
    a, b = both(tmp_path, seed)
    names = "a", "b"
    told = compare(a, b, names).data
    assert compare(in_full(a), in_full(b), names).data == told
    assert compare(a, in_full(b), names).data == told


def test_a_packed_result_is_explained_as_one_in_full(tmp_path: Path) -> None:
    a, _ = both(tmp_path)
    assert explain(a, runs=False).data == explain(in_full(a), runs=False).data


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    for name in "ab":
        result = run(compile(folded_case(3)))
        result.to_json(tmp_path / f"{name}.json")
        result.to_json(tmp_path / f"{name}.json.gz")
        result.to_csv(tmp_path / f"{name}.csv.gz", "nodes")
    for ending in ("json", "json.gz", "csv.gz"):
        content = (tmp_path / f"a.{ending}").read_bytes()
        assert content == (tmp_path / f"b.{ending}").read_bytes()


def test_a_name_that_ends_in_gz_is_packed_and_read_as_it_is_without(tmp_path: Path) -> None:
    result = run(compile(folded_case(3)))
    result.to_json(tmp_path / "r.json")
    result.to_json(tmp_path / "r.json.gz")
    result.to_csv(tmp_path / "n.csv", "nodes")
    result.to_csv(tmp_path / "n.csv.gz", "nodes")
    for name in ("r.json", "n.csv"):
        packed = (tmp_path / f"{name}.gz").read_bytes()
        assert packed[:2] == b"\x1f\x8b"
        assert gzip.decompress(packed) == (tmp_path / name).read_bytes()
    names = "a", "b"
    told = compare(tmp_path / "r.json", tmp_path / "r.json", names).data
    assert compare(tmp_path / "r.json", tmp_path / "r.json.gz", names).data == told


def test_half_a_packed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json.gz"
    run(compile(folded_case(3))).to_json(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ConfigError, match=r"r\.json\.gz: the gzip data is truncated"):
        load_result(path)


def all_of(result: StoredResult) -> None:
    for name in result.tables:
        result.table(name).as_dict()


@settings(max_examples=150)
@given(st.integers(0, 10**9))
def test_a_damaged_packed_result_is_told_or_refused(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    folder = tmp_path_factory.getbasetemp() / "packed"
    folder.mkdir(exist_ok=True)
    whole, path = folder / "whole.json", folder / "damaged.json"
    if not whole.exists():
        run(compile(folded_case(3)), record=True).to_json(whole)
    form = json.loads(whole.read_text())
    for _ in range(random.randrange(1, 3)):
        name = random.choice(list(form["packed"]))
        form["packed"][name] = damaged({"in": form["packed"][name]}, random).get("in", 0)
    path.write_text(json.dumps(form))
    for ask in (
        lambda: explain(path, runs=False).text(),
        lambda: compare(whole, path).text(),
        lambda: compare(path, whole).text(),
        lambda: all_of(load_result(path)),
    ):
        try:
            ask()
        except ConfigError as error:
            assert str(error).startswith(str(path))


def test_a_result_is_written_part_by_part() -> None:
    from array import array

    from yantra.result.columns import Gathered

    asked: list[int] = []

    def stretch(at: int) -> array[int]:
        asked.append(at)
        return array("Q", range(at, at + 50))

    begins = array("Q", range(0, 5001, 50))
    table = Table("t", 5000, {"x": ("whole", lambda: Gathered(begins, stretch))})
    written = 0
    for piece in table_pieces(table):
        written += piece.startswith('"')
        assert len(asked) <= written + 1 or written == len(begins) - 1
    assert asked == list(range(100))
