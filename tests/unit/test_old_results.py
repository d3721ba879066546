"""Files of older versions of the form are read as they were; `old_results` has one of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import ALL_REDUCE, cluster, scenario, write_result
from tests.clusters import dimension
from tests.clusters import scenario as of_traces
from yantra import load_result
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.explain import compare, explain
from yantra.result import Result
from yantra.result.table_names import TABLES
from yantra.run.simulate import simulate
from yantra.scenario.quirks import Quirk

OLD = Path(__file__).with_name("old_results") / "1.json"


def step(builder: TraceBuilder, rank: int) -> None:
    kernel = builder.compute("forward", duration_micros=20 + 10 * (rank == 3))
    builder.collective(ALL_REDUCE, 1 << 20, name="gradients", after=kernel)


def today() -> Result:
    ring = cluster(("ring", 4, 50.0, 500.0))
    return simulate(scenario(ring, step, quirks=[Quirk.LINKS_CARRY_ANYTHING]), record=True)


def switched() -> Result:
    sender, receiver = TraceBuilder(), TraceBuilder()
    sender.send(1, 4096)
    receiver.recv(0, 4096)
    pair = dimension("switch", 2)
    return simulate(of_traces([sender, receiver], pair, network="store_and_forward"))


def test_version_1_has_the_tables_of_a_run_of_today() -> None:
    old, result = load_result(OLD), today()
    assert json.loads(OLD.read_text())["version"] == 1
    assert old.tables == TABLES
    for name in TABLES:
        table, now = old.table(name), result.table(name)
        assert set(now.columns) - set(table.columns) <= {
            "unexplained_device_ns",
            "unexplained_host_ns",
            "waiting_ns",
            "buffer_bytes",
            "bus_bandwidth_gb_per_s",
        }  # came later
        assert [*map(table.kind, table.columns)] == [*map(now.kind, table.columns)]
        for column in table.columns:
            if column.startswith("algorithm_bandwidth"):  # a quotient, which may round otherwise
                assert table.values(column) == pytest.approx(now.values(column), rel=1e-15)
            elif not column.endswith("communication_ns"):
                assert table.values(column) == now.values(column), column
    ranks, now = old.table("ranks"), result.table("ranks")
    both = zip(now.values("exposed_communication_ns"), now.values("waiting_ns"), strict=True)
    assert ranks.values("exposed_communication_ns") == pytest.approx([sum(pair) for pair in both])


def test_version_1_is_compared_and_explained_as_ever() -> None:
    names = ("old", "new")
    data = compare(OLD, today(), names).data
    assert data["makespan_ns"]["change"] == 0 and data["missing"] == []
    assert data["nodes"]["rows"] == data["collectives"]["rows"] == data["by_rank"] == []
    assert explain(OLD, runs=False).text().startswith("The run takes")


@pytest.fixture
def all_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yantra.export.json.MOST_ROWS_IN_FULL", 0)


@pytest.mark.usefixtures("all_packed")
def test_packed_whole_numbers_with_gaps_were_called_real(tmp_path: Path) -> None:
    result = switched()
    assert result.links.kind("source") == "whole" and None in result.links.values("source")
    result.to_json(tmp_path / "r.json", ["links"])
    form = json.loads((tmp_path / "r.json").read_text())
    for name in ("source", "destination"):
        form["packed"]["links"]["columns"][name]["kind"] = "real"
    write_result(tmp_path / "old.json", form)
    for name in ("r.json", "old.json"):
        links = load_result(tmp_path / name).links
        assert [*map(links.kind, links.columns)] == [*map(result.links.kind, links.columns)]
        assert links.as_dict() == result.links.as_dict()


@pytest.mark.usefixtures("all_packed")
def test_a_column_that_is_not_whole_is_refused_where_ranks_are(tmp_path: Path) -> None:
    switched().to_json(tmp_path / "r.json", ["links"])
    form = json.loads((tmp_path / "r.json").read_text())
    columns = form["packed"]["links"]["columns"]
    columns["source"] = columns["source"] | {"kind": "real", "values": [0.5, None]}
    write_result(tmp_path / "r.json", form)
    links = load_result(tmp_path / "r.json").links
    with pytest.raises(ConfigError, match=r"links\.columns\.source\.values: 0\.5 is no value"):
        links.values("source")


def test_a_workload_is_no_result_and_the_error_says_what_makes_one(tmp_path: Path) -> None:
    (tmp_path / "step.yw").write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(ConfigError, match=r"step\.yw: not a result in JSON; yantra run"):
        load_result(tmp_path / "step.yw")
