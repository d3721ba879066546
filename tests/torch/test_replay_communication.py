"""Collectives and messages of a job are run again by processes over gloo, or refused clearly."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.unit.test_opened_recordings import PROFILES
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.tracing.replay.communication import replay_communication

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
KINDS = (
    CollectiveType.ALL_REDUCE, CollectiveType.REDUCE, CollectiveType.BROADCAST,
    CollectiveType.ALL_GATHER, CollectiveType.GATHER, CollectiveType.SCATTER,
    CollectiveType.REDUCE_SCATTER, CollectiveType.ALL_TO_ALL, CollectiveType.BARRIER,
)  # fmt: skip


def _traces(folder: Path, ranks: int = 2) -> str:
    """Every collective of all, one of a pair, one of a rank alone, and messages both ways."""
    for rank in range(ranks):
        step = TraceBuilder(rank=rank)
        last = step.compute("begin", duration_micros=1)
        for kind in KINDS:
            last = step.collective(kind, 4097, duration_micros=10 + rank, after=last)
        last = step.collective(KINDS[0], 64, duration_micros=5, after=last, group="1")
        last = step.collective(KINDS[0], 64, duration_micros=5, after=last, group=str(2 + rank))
        step.send(1 - rank, 1 << 16, after=last)
        step.recv(1 - rank, 1 << 16, after=last)
        step.build().write(folder / f"job.{rank}.et")
    return str(folder / "job.{rank}.et")


def test_every_kind_runs_and_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = _traces(tmp_path)
    assert main(["chakra", "replay", pattern, "--iterations", "1", "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert (form["backend"], form["ranks"], form["left_out"]) == ("gloo", 2, 2)
    rows = {(row["kind"], row["bytes"]): row for row in form["rows"]}
    assert {kind for kind, _ in rows} == {one.name.lower() for one in KINDS} | {"message"}
    for (kind, size), row in rows.items():
        assert row["reason"] == "" and row["measured_ns"] > 0, kind
        assert row["calls"] == (2 if kind == "message" else 1)
        recorded = 0 if kind == "message" else 5000 if size == 64 else 10_000
        assert row["recorded_ns"] == recorded  # of the last to arrive


def test_what_cannot_run_here_is_told(tmp_path: Path) -> None:
    _traces(tmp_path)
    both = [str(tmp_path / f"job.{rank}.et") for rank in (0, 1)]
    with pytest.raises(ConfigError, match="NCCL needs a GPU for each of 2 ranks, and here are 0"):
        replay_communication(both, device="cuda")
    with pytest.raises(ConfigError, match="expected cpu"):
        replay_communication(both, device="tpu")
    with pytest.raises(ConfigError, match="expected the traces of all 1 ranks, two or more"):
        replay_communication(both[:1])
    for rank in (0, 1):
        alone = TraceBuilder()
        alone.compute("one", duration_micros=1)
        alone.build().write(tmp_path / f"alone.{rank}.et")
    with pytest.raises(ConfigError, match="has no collective and no message"):
        replay_communication([str(tmp_path / "alone.{rank}.et")])


def test_ranks_of_one_profile_are_a_job() -> None:
    """Two ranks of one database of rocprofv3."""
    found = replay_communication([str(PROFILES / "rocpd_b" / "rocpd_b.db")], iterations=1)
    assert found.ranks == 2 and all(not row.reason for row in found.rows)
