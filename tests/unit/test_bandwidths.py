"""Bandwidths of collectives follow nccl-tests, wherever they are shown."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import dimension, scenario
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.collectives.bandwidth import buffer_bytes, bus_factor, bus_rate, comm_size
from yantra.export.report.communication import rows
from yantra.export.report.run import Run
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario.types import Collectives

RING = {
    "all_reduce": CollectiveType.ALL_REDUCE,
    "all_gather": CollectiveType.ALL_GATHER,
    "reduce_scatter": CollectiveType.REDUCE_SCATTER,
}


def ran(kind: str, ranks: int, part: int, **changes: Any) -> Result:
    trace = TraceBuilder()
    trace.collective(RING[kind], comm_size(kind, ranks * part, ranks))
    chosen = Collectives(endpoint_delay_ns=0, reductions="overlapped", **{kind: ("ring",)})
    links = dimension(size=ranks, bytes_per_ns=50.0).replace(latency_ns=0.0)
    return simulate(scenario([trace] * ranks, links, collectives=chosen, **changes))


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
@pytest.mark.parametrize("kind", RING)
def test_the_bus_bandwidth_of_a_ring_without_latency_is_the_rate_of_its_links(
    kind: str, ranks: int
) -> None:
    """nccl-tests define it for that: 50 GB/s whatever the kind and the number of ranks."""
    table = ran(kind, ranks, 1 << 22).collectives
    assert table.values("bus_bandwidth_gb_per_s") == pytest.approx([50.0] * ranks, rel=1e-5)
    share = {"all_reduce": 2.0}.get(kind, 1.0) * (ranks - 1) / ranks
    assert table.values("algorithm_bandwidth_gb_per_s") == pytest.approx(
        [50.0 / share] * ranks, rel=1e-5
    )
    assert table.values("buffer_bytes") == [ranks << 22] * ranks


@pytest.mark.parametrize(
    ("kind", "size", "factor"),
    [
        ("all_reduce", 8, Fraction(14, 8)),
        ("reduce", 8, 1),
        ("broadcast", 8, 1),
        ("all_gather", 64, Fraction(7, 8)),
        ("gather", 64, Fraction(7, 8)),
        ("reduce_scatter", 8, Fraction(7, 8)),
        ("scatter", 8, Fraction(7, 8)),
        ("all_to_all", 8, Fraction(7, 8)),
        ("send", 8, 1),
        ("barrier", 8, None),
    ],
)
def test_sizes_and_factors_of_eight_ranks_are_those_of_nccl_tests(
    kind: str, size: int, factor: Any
) -> None:
    assert buffer_bytes(kind, 8, 8) == size and comm_size(kind, size, 8) == 8
    assert bus_factor(kind, 8) == factor
    assert bus_rate(kind, 8, 80, 10) == pytest.approx(
        float("nan") if factor is None else 8 * float(factor), nan_ok=True
    )


def test_a_collective_of_dimensions_counts_the_ranks_of_these() -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_GATHER, 1 << 20, involved_dim=[True, False])
    rings = (dimension(size=4), dimension(size=2))
    chosen = Collectives(all_gather=("ring", "ring"))
    table = simulate(scenario([trace] * 8, *rings, collectives=chosen)).collectives
    assert set(table.values("buffer_bytes")) == {4 << 20}


@pytest.mark.parametrize("kind", RING)
def test_the_report_and_the_timeline_say_what_the_table_says(kind: str, tmp_path: Path) -> None:
    result = ran(kind, 4, 1 << 20)
    (row,) = rows(Run(result))
    table = result.collectives
    assert (row.buffer_bytes, row.ranks) == (table.values("buffer_bytes")[0], 4)
    result.to_chrome(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    told = next(one["args"] for one in events if "bus_bandwidth_gb_per_s" in one.get("args", {}))
    for name in ("algorithm_bandwidth_gb_per_s", "bus_bandwidth_gb_per_s"):
        assert told[name] == pytest.approx(table.values(name)[0])


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather"])
def test_every_command_counts_alike(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    for where in (["--cluster", "hgx-h100"], ["switch", "--algorithms", "ring"]):
        bench = ["collective", "bench", *where, "--collective", kind, "--sizes", "64 MiB", "--json"]
        assert main(bench) == 0
        (one,) = json.loads(capsys.readouterr().out)["rows"]
        assert one["algorithm_bytes_per_ns"] == pytest.approx((1 << 26) / one["time_ns"])
        assert one["bus_bytes_per_ns"] == pytest.approx(
            bus_rate(kind, one["ranks"], 1 << 26, one["time_ns"])
        )


def test_a_measured_collective_has_its_interval_and_the_algorithm_of_its_size(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """NCCL's choice changes with size: trees for small messages, rings for large ones."""
    asked = ["collective", "bench", "--cluster", "hgx-h100", "--ranks", "16", "--json"]
    assert main([*asked, "--sizes", "1 KiB, 1 GiB"]) == 0
    found = json.loads(capsys.readouterr().out)
    small, large = found["rows"]
    assert (small["algorithm"], large["algorithm"]) == ("Tree LL", "Ring LL128")
    assert found["rests_on"].startswith("collectives over nodes")
    for row, factor in ((small, 4.994), (large, 1.407)):
        assert row["low_ns"] < row["time_ns"] < row["high_ns"]
        assert row["time_ns"] ** 2 == pytest.approx(row["low_ns"] * row["high_ns"])
        # Sites without rows: small messages within 5, large ones within 1.4 (stacks.md).
        assert row["high_ns"] / row["time_ns"] == pytest.approx(factor, rel=0.01)
    assert main([*asked, "--sizes", "1 GiB", "--stack", "roofline"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "rests_on" not in found and "low_ns" not in found["rows"][0]


def test_an_all_reduce_on_every_network_has_its_bandwidths(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["network", "compare", "--all-reduce", "1 MiB", "--ranks", "8", "--cluster", "hgx-h100"]
    assert main([*asked, "--json"]) == 0
    for row in json.loads(capsys.readouterr().out)["networks"]:
        bus = bus_rate("all_reduce", 8, 1 << 20, row["makespan_ns"])
        assert row["bus_bytes_per_ns"] == pytest.approx(bus)
    assert main(asked) == 0
    head = capsys.readouterr().out.splitlines()[1]
    assert head.split()[-2:] == ["algbw", "busbw"]


@pytest.mark.parametrize(
    ("chosen", "network"),
    [([], "analytical"), (["--network", "flow"], "flow"), (["--set", "network=flow"], "flow")],
)
def test_a_bench_on_a_cluster_names_the_network_that_ran(
    chosen: list[str], network: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["collective", "bench", "--cluster", "hgx-h100", "--sizes", "1MiB", "--json", *chosen]
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)["network"] == network
