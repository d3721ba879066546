"""Serving engines' own all-reduces: where they run, what they take, what they put on links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.collectives.charges import charges
from yantra.collectives.custom_all_reduce import ENGINES, limit, timed
from yantra.collectives.selection import FIELD, selection_of
from yantra.collectives.selection.measured import fits
from yantra.collectives.selection.selection import Group, Timed
from yantra.collectives.terms import Faster
from yantra.explore.closed_form.machine import Machine
from yantra.run.simulate import simulate
from yantra.scenario import load as load_scenario
from yantra.workloads.serving import InferencePlan, infer

NODE = (("switch", 8),)


def chosen(kind: str, ranks: int, **options: Any) -> Timed:
    given = {"kind": "measured", "options": {"system": "h100", **options}}
    first, *_ = selection_of(FIELD.read(given, "", "")).choices(
        kind, Group(ranks, NODE, (0,), 0, ranks)
    )
    assert isinstance(first.algorithms, Timed)
    return first.algorithms


def test_limits_are_those_of_the_engines() -> None:
    assert limit("vllm", "h100", 8) == 256 << 10
    assert limit("vllm", "gb200", 4) == 2 << 20
    assert limit("vllm", "a100", 8) == limit("sglang", "h100", 8) == 8 << 20
    assert limit("sglang", "mi300x", 8) == 16 << 20
    assert limit("trtllm", "h100", 2) == 16_000_000
    assert limit("vllm", "h100", 3) == limit("vllm", "h100", 16) == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_an_engine_never_takes_longer_than_nccl_and_runs_it_beyond_its_limit(
    engine: str, ranks: int
) -> None:
    usual, own = (
        dict(chosen("all_reduce", ranks).points),
        chosen("all_reduce", ranks, engine=engine),
    )
    last = limit(engine, "h100", ranks)
    for size, ns in own.points:
        if size in usual:
            assert ns <= usual[size] * (1 + 1e-9)
            assert size <= last or ns == usual[size]
    assert own.points != tuple(usual.items()) and engine in own.basis
    assert own.interval >= 0.45


def test_two_passes_send_less_and_one_waits_for_fewer_flags() -> None:
    terms = fits()["a100", "all_reduce", "node"].terms
    [(small, one), (large, two)] = timed("vllm", terms, 8, [1024, 8 << 20], Faster())
    assert (one, two) == ("OneShot", "TwoShot")
    reached = max(term.bytes_per_us for term in terms)
    assert large - small == pytest.approx(
        terms[0].step_us + (2 * 7 / 8 * (8 << 20) - 7 * 1024) / reached
    )


def test_shots_put_on_links_what_ranks_read() -> None:
    assert sum(one.share for one in charges("OneShot", "all_reduce", 8, 8)) == 7
    assert sum(one.share for one in charges("TwoShot", "all_reduce", 8, 8)) == pytest.approx(7 / 4)


def test_other_collectives_and_other_kernels_are_as_before() -> None:
    assert chosen("all_gather", 8, engine="vllm") == chosen("all_gather", 8)
    with pytest.raises(ConfigError, match="engine"):
        chosen("all_reduce", 8, engine="vlm")


def test_a_machine_serves_with_an_engine() -> None:
    machine = Machine("hgx-b200", 8, stack="unknown")
    before = float(machine.collective_ns(CollectiveType.ALL_REDUCE, 8, 1, 65536))
    machine.serve_with("vllm")
    assert float(machine.collective_ns(CollectiveType.ALL_REDUCE, 8, 1, 65536)) < 0.8 * before


def test_a_run_of_an_iteration_takes_the_engine_beside_a_named_cluster(tmp_path: Path) -> None:
    path = tmp_path / "decode.yw"
    infer("llama3-8b", InferencePlan(tp=8), phase="decode", batch=8, context=1000).save(path)
    changes: dict[str, str] = {"collectives.selection.options.engine": "vllm"}
    usual, own = (
        simulate(load_scenario(path, cluster="hgx-b200", settings=one)) for one in ({}, changes)
    )
    assert own.makespan_ns < usual.makespan_ns
    assert any("vllm's own kernels" in text for text in own.model.rests_on)
