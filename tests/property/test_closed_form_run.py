"""The closed form of plans equals the run to the tick: a byte moves in 1 ns, without latency, so
only the gradients' norm is no whole ns.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from yantra.base.documents import parse_yaml
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import COLUMNS, PlanSpace
from yantra.fabric.clusters.reader import cluster_of
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.training.train import train

CLUSTER = """
title: Whole numbers
sources: {test: a machine whose times are whole ns}
device:
  name: device
  dtype: bf16
  peak: {bf16: {value: 1024 GFLOP/s, source: test}}
  memory: {value: 64 GiB, source: test}
  memory_bandwidth: {value: 1 GB/s, source: test}
host:
  bandwidth: {value: 1 GB/s, source: test}
  latency: {value: 1 ns, source: test}
network:
- name: links
  kind: switch
  members: {value: 64, source: test}
  links: {value: 1, source: test}
  bandwidth: {value: 1 GB/s, source: test}
  latency: {value: 1 ns, source: test}
  algorithms: {all_reduce: ring, reduce_scatter: ring, all_gather: ring, all_to_all: direct}
collectives: {inter_dimension: ascending}
"""
NO_LATENCY = Scale(latency=2.0**60)
TICK = 1.0  # ns, or a billionth, as slopes of lines are read off times in ticks
HERE: dict[str, Any] = {"overlap": (False,), "vpp": (1,)}
SIZES = {"hidden_size": 1024, "num_attention_heads": 8, "ffn_hidden_size": 2048}


def space_of(**given: Any) -> PlanSpace:
    exact = {"zero": (0, 1), "recompute": ("none", "selective", "full"), "cp": (1,), "etp": (1,)}
    return PlanSpace(**(exact | given))  # type: ignore[arg-type]


@cache
def machine(ranks: int) -> Machine:
    return Machine(cluster_of(parse_yaml(CLUSTER, "whole.yaml"), "whole.yaml"), ranks, NO_LATENCY)


def model(layers: int, **more: Any) -> Any:
    sizes = {**SIZES, "vocab_size": 4096, "seq_length": 512, "num_layers": layers}
    return model_of(Transformer(name="small", source="test", **(sizes | more)))


def both(of: Any, space: PlanSpace) -> dict[tuple[int, ...], tuple[float, int]]:
    on, columns = machine(space.ranks), space.columns(of)
    closed = ClosedForm(of, on).judge(columns, space.global_batch).time_ns
    found = {}
    for row, plan in enumerate(zip(*(columns[name] for name in COLUMNS), strict=True)):
        workload = Templates(workload=train(of, space.plan(columns, row)))
        run = simulate(Scenario(workload=workload, **on.parts))
        found[tuple(map(int, plan))] = float(closed[row]), run.makespan_ns
    return found


def assert_equal(of: Any, space: PlanSpace, plans: int, late: int = 0) -> None:
    times = both(of, space)
    assert len(times) == 2 * plans
    for plan, (closed, run) in times.items():
        known = dict(zip(COLUMNS, plan, strict=True))
        narrow = known["gradient_dtype"] > 0  # its shards and chunks are cut to whole bytes
        left_out, off = (late / 2, 8 * TICK) if narrow else (late, TICK)
        assert abs(closed + left_out - run) < max(off, run / 1e9), known


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    ("layers", "ranks", "plans"), [(1, 1, 9), (1, 2, 24), (1, 4, 12), (3, 2, 24)]
)
def test_replicas_of_one_stage(layers: int, ranks: int, plans: int, tied: bool) -> None:
    space = space_of(ranks=ranks, global_batch=4, tp=(1,), pp=(1,), overlap=(True, False))
    assert_equal(model(layers, tie_word_embeddings=tied), space, plans)


def test_rings_of_keys_and_values_of_one_stage() -> None:
    space = space_of(ranks=4, global_batch=4, cp=(2, 4), tp=(1,), pp=(1,), recompute=("none",))
    assert_equal(model(1), space, 10)


@pytest.mark.parametrize("ep", [1, 2, 4])
def test_experts_of_one_stage(ep: int) -> None:
    of = model(1, num_experts=4, moe_router_topk=2, moe_ffn_hidden_size=1024)
    space = space_of(ranks=4, global_batch=8, tp=(1,), ep=(ep,), pp=(1,), zero=(0,), **HERE)
    assert_equal(of, space, 6)


@pytest.mark.parametrize(
    ("stages", "copies", "batch", "tied", "plans"),
    [
        (2, 1, 8, False, 12),
        (2, 1, 1, True, 3),
        (3, 1, 5, True, 6),
        (4, 1, 3, False, 6),
        (4, 1, 16, True, 15),
        (2, 2, 4, False, 12),
        (3, 2, 10, False, 12),
    ],
)
def test_pipelines(stages: int, copies: int, batch: int, tied: bool, plans: int) -> None:
    space = space_of(ranks=stages * copies, global_batch=batch, tp=(1,), pp=(stages,), **HERE)
    assert_equal(
        model(2 * stages, tie_word_embeddings=tied), space, plans, tied * 4 * SIZES["hidden_size"]
    )


@pytest.mark.parametrize("tp", [2, 4])
def test_a_further_layer_on_a_group_takes_as_long_as_the_one_before(tp: int) -> None:
    more: dict[str, Any] = {"sequence_parallel": (False,), "zero": (0,)}
    space = space_of(ranks=4, global_batch=4, tp=(tp,), pp=(1,), micro_batch=(1,), **HERE, **more)
    first, second, third = (np.array(list(both(model(n), space).values())) for n in (1, 2, 3))
    assert first.shape == (6, 2)
    for added in (second - first, third - second):
        assert (np.abs(added[:, 0] - added[:, 1]) < TICK).all()
