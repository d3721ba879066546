"""NCCL's tuner agrees with the compiled functions of NCCL 2.30.7.

tests/golden/data/nccl_tuner has a few recorded systems; `../shared/golden/collectives`, outside the
repository, has more.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from yantra.collectives.nccl import Graph, System, chosen, tuner_table
from yantra.collectives.nccl.constants import Gpu

DATA = Path(__file__).parent / "data" / "nccl_tuner"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "collectives"
SETS = [
    pytest.param(DATA, "", 75, id="recorded"),
    pytest.param(
        SHARED,
        "nccl_tuner_",
        800,
        id="shared",
        marks=pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there"),
    ),
]
KINDS = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
}
GPUS: dict[int, Gpu] = {70: "volta", 80: "ampere", 90: "hopper", 100: "blackwell"}


def system_of(row: dict[str, Any]) -> System:
    graphs = {
        name: Graph(
            channels=graph["n"],
            intra=graph["bi"],
            inter=graph["be"],
            nvlink=bool(graph["nvl"]),
            inter_latency_us=graph["li"],
        )
        for name, graph in row["graphs"].items()
    }
    return System(
        ranks=row["nRanks"],
        nodes=row["nNodes"],
        gpu=GPUS[row["cc"]],
        cpu=row["cpu"],
        graphs=graphs,
        channels=row["channels"],
        ll128=row["ll128"],
        nvls=bool(row.get("nvls", 0)),
        collnet=bool(row.get("collnet", 0)),
    )


def systems(folder: Path, prefix: str) -> dict[str, System]:
    given = json.loads((folder / f"{prefix}systems.json").read_text())
    return {name: system_of(row) for name, row in given.items()}


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("folder", "prefix", "least"), SETS)
def test_the_pair_is_that_of_nccl_and_the_time_within_a_ten_thousandth(
    folder: Path, prefix: str, least: int
) -> None:
    known = systems(folder, prefix)
    given = rows(folder, f"{prefix}choice.csv")
    assert len(given) >= least
    for row in given:
        ours = chosen(
            tuner_table(known[row["system"]], KINDS[row["collective"]]), int(row["bytes"])
        )
        assert ours[:2] == (row["algorithm"], row["protocol"]), row
        assert ours.time_us == pytest.approx(float(row["time_us"]), rel=1e-4), row


@pytest.mark.parametrize(("folder", "prefix", "least"), SETS)
def test_latencies_and_bandwidths_are_those_of_nccl(folder: Path, prefix: str, least: int) -> None:
    known = systems(folder, prefix)
    given = rows(folder, f"{prefix}table.csv")
    assert given
    for row in given:
        table = tuner_table(known[row["system"]], KINDS[row["collective"]])
        ours = table.expected[row["algorithm"], row["protocol"]]  # type: ignore[index]
        assert ours.latency_us == pytest.approx(float(row["latency_us"]), rel=1e-4), row
        theirs = float(row["algo_bandwidth_GBps"])
        assert ours.bandwidth == pytest.approx(theirs, rel=1e-4), row
