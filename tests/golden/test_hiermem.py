"""HierMem against numbers computed independently: every stage time, and the whole, to 1e-9."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from yantra.base.fields import Plugin
from yantra.memory import model_of
from yantra.memory.hiermem import HierMem
from yantra.memory.model import Speeds, accesses

DATA = Path(__file__).parent / "data" / "hiermem.csv"
LINES = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
ROWS = list(csv.DictReader(LINES))
Row = dict[str, str]


def pool(row: Row, **options: Any) -> HierMem:
    given = {
        "gpus": int(row["gpus"]),
        "nodes": int(row["nodes"]),
        "memory_groups": int(row["remote_groups"]),
        "out_switches": int(row["out_switches"]),
        "gpu_side_bytes_per_ns": float(row["gpu_side_link_BpNs"]),
        "in_node_bytes_per_ns": float(row["in_node_link_BpNs"]),
        "chunk_bytes": int(row["chunk_bytes"]),
        "mode": row["mode"],
    }
    made = model_of(Plugin(kind="hiermem", options=tuple((given | options).items())))
    assert isinstance(made, HierMem)
    return made


def time_ns(row: Row, **options: Any) -> float:
    size, speeds = int(row["tensor_bytes_per_gpu"]), Speeds(0, float(row["mem_side_link_BpNs"]))
    load, store = pool(row, **options).access(accesses([size] * 2, [False, True]), speeds)
    assert load == store
    return float(load)


def given(row: Row) -> tuple[float, ...]:
    return float(row["t1_ns"]), float(row["t2_ns"]), float(row["t3_ns"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['mode']}-{row['stages']}")
def test_lock_step_takes_the_formula_of_the_paper(row: Row) -> None:
    stage = pool(row).stage(float(row["mem_side_link_BpNs"]))
    assert tuple(stage) == pytest.approx(given(row), rel=1e-12)
    assert time_ns(row) == pytest.approx(float(row["total_ns"]), rel=1e-9)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['mode']}-{row['stages']}")
def test_free_running_takes_every_hop_once_and_the_slowest_again(row: Row) -> None:
    times = given(row)
    free = sum(times) + (float(row["stages"]) - 1) * max(times)
    assert time_ns(row, lockstep=False) == pytest.approx(free, rel=1e-9)
    assert free <= time_ns(row) * (1 + 1e-12)
