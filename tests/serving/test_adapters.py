"""Low-rank adapters of weights: who may run with whom, what is shared, what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import yantra
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.serving import Linear
from yantra.serving.answer import Served
from yantra.serving.requests import Requests, load, read, write

MODEL = {"model": "llama3-8b", "cluster": "hgx-h100"}


def requests(adapters: list[int], prompt: int = 160, **more: Any) -> Requests:
    size = len(adapters)
    return Requests.of(
        np.zeros(size, np.int64), [prompt] * size, [4] * size, adapter=adapters, **more
    )


def served(of: Requests, **options: Any) -> Served:
    return yantra.serve(requests=of, cost=Linear(1e-3, 1e-6), **{"num_blocks": 4096} | options)


def starts(of: Served) -> list[int]:
    return [int(one) for one in of.ran.column("start")]


def test_an_iteration_has_at_most_so_many_adapters() -> None:
    """The third waits; the fourth, with the first's adapter, and the fifth, without, go ahead."""
    begun = starts(served(requests([1, 2, 3, 1, 0]), max_loras=2))
    assert begun[:2] + begun[3:] == [0] * 4
    assert begun[2] > 0


def test_with_room_for_all_adapters_change_nothing() -> None:
    many = requests([1, 2, 3, 1, 0])
    assert starts(served(many, max_loras=3)) == starts(served(requests([0] * 5)))


def test_equal_prompts_share_kv_under_one_adapter_alone() -> None:
    spans = ([0, 1, 2, 3], [7, 7, 7], [160, 160, 160])
    of = requests([1, 1, 2], spans=spans)
    cached = served(of, max_loras=3).ran.column("cached").tolist()
    assert cached == [0, 144, 0]


def test_adapters_are_drawn_by_session_and_as_unequally_as_asked() -> None:
    rule = "poisson:rate=1/s,count=2000,isl=9,osl=2,adapters=4,seed=3"
    even = np.bincount(load(rule).adapter, minlength=5)
    assert even[0] == 0
    assert even[1:] == pytest.approx([500] * 4, rel=0.15)
    skew = np.bincount(load(rule + ",adapters_zipf=1").adapter)[1:]
    assert skew / skew[0] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4], rel=0.2)
    talk = load("sessions:count=20,turns=5,isl=9,osl=2,adapters=4,seed=3")
    assert all(len(set(talk.adapter[talk.session == one])) == 1 for one in range(20))


def test_names_of_adapters_are_read_and_numbers_written(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("arrival_s,prompt,output,adapter\n0,9,2,sql\n0,9,2,\n0,9,2,law\n0,9,2,sql\n")
    found = read(file)
    assert found.adapter.tolist() == [1, 0, 2, 1]
    write(found, tmp_path / "out.csv")
    assert read(tmp_path / "out.csv") == found


def test_more_adapters_take_memory_and_time() -> None:
    asked = "poisson:rate=5/s,count=40,isl=500,osl=50,adapters=8,seed=1"
    plain = yantra.serve(**MODEL, requests=asked, max_loras=8)
    ranked = yantra.serve(
        **MODEL, requests=asked, max_loras=8, lora_rank=64, lora_targets="all-linear"
    )
    assert plain.rooms[0] is not None
    assert ranked.rooms[0] is not None
    # 7 targets of 32 layers: r (in + out) weights of 2 bytes, eight times
    size = 2 * 64 * 32 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336))
    assert ranked.rooms[0].weights - plain.rooms[0].weights == 8 * size
    assert ranked.tpot.at(50.0) > 1.02 * plain.tpot.at(50.0)


def test_each_adapter_more_is_read_once_an_iteration() -> None:
    (pool,) = yantra.serve(**MODEL, requests="constant:rate=1/s,count=2,isl=9,osl=2").fleet.pools
    of = pool.cost.tables
    more = pool.cost.with_adapters(4, 3_000_000, 1e12).tables.dense_ns - of.dense_ns
    assert more == pytest.approx(3000.0 * (np.minimum(of.dense_tokens, 4) - 1), abs=1e-3)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="lora_rank: sglang has no adapters here; vllm has"):
        yantra.serve(
            **MODEL, requests="constant:rate=1/s,count=2,isl=9,osl=2", engine="sglang", lora_rank=8
        )
    with pytest.raises(ConfigError, match="lora_targets: adapts nothing without lora_rank"):
        yantra.serve(
            **MODEL, requests="constant:rate=1/s,count=2,isl=9,osl=2", lora_targets="up_proj"
        )
