"""A stream serves as the whole does, request by request, and refuses what it cannot."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError, DeadlockError, UnsupportedError
from yantra.serving import batching, stream
from yantra.serving.fleet import Fleet, FullError, Linear, Pool
from yantra.serving.links import Line
from yantra.serving.requests import Requests, load, pieces, write
from yantra.serving.requests.pieces import Pieces, sliced
from yantra.serving.serve import serve

COST = Linear(4e-3, 16e-6, 16e-9)
ASKED = "poisson:rate=60/s,count=300,isl=lognormal:200:900,osl=lognormal:40:200,system=64,seed=3"
SMALL = {
    "num_blocks": 220, "block_size": 16, "max_num_seqs": 16, "max_batch_size": 16,
    "max_running_requests": 16, "kv_tokens": 3520, "max_num_batched_tokens": 4096,
    "chunk_size": 128, "max_tokens": 1536, "max_num_tokens": 1024, "chunked_prefill_size": 256,
}  # fmt: skip
COLUMNS = (
    "arrival", "start", "first_token", "second_token", "moved", "finish", "restarts", "emissions",
    "cached", "recomputed", "target", "spent", "behind",
)  # fmt: skip
TOTALS = ("end", "tokens", "emitted", "evicted", "finished")


def pool(engine: str, replicas: int = 1, **more: Any) -> Pool:
    known = {option.name for option in batching.built_in()[engine].options}
    given = {name: value for name, value in (SMALL | more).items() if name in known}
    return Pool(engine, given, COST, replicas)


def assert_the_same(fleet: Fleet, asked: Requests, *, size: int = 40, places: int = 290) -> None:
    whole = fleet.run(asked)
    parts = list(fleet.stream(sliced(asked, size), places))
    rows = np.concatenate([np.asarray(part.row) for part in parts])
    assert sorted(rows.tolist()) == list(range(len(asked)))
    for name in COLUMNS:
        found = np.concatenate([np.asarray(getattr(part, name)) for part in parts])
        expected = whole.column(name).reshape(len(asked), -1)[rows]
        assert (found.reshape(len(asked), -1) == expected).all(), name
    for name in TOTALS:
        assert getattr(parts[-1], name) == getattr(whole.core, name), name
    gaps = sum(int((np.asarray(p.gap_count) * np.asarray(p.gap_sequences)).sum()) for p in parts)
    assert gaps == (asked.output - 1).sum()


@pytest.mark.parametrize("engine", batching.built_in())
def test_a_stream_serves_as_the_whole_does(engine: str) -> None:
    assert_the_same(Fleet((pool(engine),)), load(ASKED))


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_places_are_left_though_caches_know_who_was_there(engine: str) -> None:
    asked = load(ASKED).scaled(0.2)
    fleet = Fleet((pool(engine, 2, overlap=1.0, schedule_policy=4.0),), "prefix_aware")
    assert_the_same(fleet, asked, size=7, places=120)
    with pytest.raises(FullError):
        list(fleet.stream(sliced(asked, 7), 2))


def test_kv_that_moves_and_replicas_that_fail_are_as_in_the_whole() -> None:
    pools = [pool("vllm"), pool("vllm")]
    prefill, decode = (
        Pool(one.engine, one.options, COST, role=role)  # type: ignore[arg-type]
        for one, role in zip(pools, ("prefill", "decode"), strict=True)
    )
    assert_the_same(Fleet((prefill, decode), line=Line(1000, 1e9)), load(ASKED))
    failing = Pool("vllm", pools[0].options, COST, 2, ends_s=(2.0,))
    assert_the_same(Fleet((failing,), "round_robin"), load(ASKED))


def test_a_files_rows_and_figures_are_those_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "requests.csv.gz"
    write(load(ASKED), path)
    monkeypatch.setattr(pieces, "_ROWS", 37)
    monkeypatch.setattr(stream, "PLACES", (8, 300))
    fields = {"cost": COST, **{name: SMALL[name] for name in ("num_blocks", "max_num_seqs")}}
    rows = tmp_path / "rows.csv"
    told = serve(requests=str(path), stream=True, rows=rows, **fields).as_dict()
    whole = serve(requests=str(path), **fields)
    assert told.keys() == whole.as_dict().keys()
    for name, value in whole.as_dict().items():
        if name == "seconds":
            for measure, spread in value.items():
                near = 1e-9 if measure != "itl" else 6e-4
                assert told[name][measure] == pytest.approx(spread, rel=near)
        elif name in ("spent_s", "behind_s"):
            assert told[name] == pytest.approx(value)
        else:
            assert told[name] == value, name
    from yantra.serving.rows import write_rows

    write_rows(whole, tmp_path / "whole.csv")
    ours, theirs = (
        sorted(csv.reader(one.open()), key=str) for one in (rows, tmp_path / "whole.csv")
    )
    assert ours == theirs


def test_what_needs_all_requests_is_refused(tmp_path: Path) -> None:
    for rule, expected in (
        ("sessions:count=3,turns=2,isl=10,osl=5,rate=1/s", "stream=on out"),
        ("closed:users=2,count=5,isl=10,osl=5", "requests follow others"),
    ):
        with pytest.raises(UnsupportedError, match=expected):
            serve(requests=rule, stream=True, cost=COST)
    named = tmp_path / "named.csv"
    named.write_text("arrival_s,prompt,output,user\n0,10,5,ann\n1,10,5,bob\n")
    with pytest.raises(UnsupportedError, match="user: names are numbered over the whole file"):
        list(Pieces(named))
    with pytest.raises(UnsupportedError, match="drafts do not stream"):
        serve(requests=ASKED, stream=True, cost=COST, num_speculative_tokens=2)
    with pytest.raises(DeadlockError, match="can never end"):
        serve(
            requests="constant:rate=1/s,count=3,isl=600,osl=5", stream=True, cost=COST,
            max_num_batched_tokens=64, enable_chunked_prefill="off",
        )  # fmt: skip


def test_a_bad_row_is_named_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_ROWS", 2)
    path = tmp_path / "bad.csv"
    for third, expected in (("x,10,5", r"bad.csv, line 5: arrival_s"), ("0.5,10,5", "line 5")):
        path.write_text(f"arrival_s,prompt,output\n0,10,5\n1,10,5\n2,10,5\n{third}\n")
        with pytest.raises(ConfigError, match=expected):
            list(Pieces(path))
