"""Blocks that were built are added again under other names, and the chunk is as if built anew."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.again import Blocks
from yantra.workloads.operators.graph.operators.elementwise import norm, residual
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import Chunk, setting_of

SEQUENCE = 256
SETTING = setting_of(Plan(global_batch=1), SEQUENCE)
PLANS = {
    "whole": Plan(global_batch=1),
    "sharded": Plan(tp=2, cp=2, global_batch=2, sequence_parallel=True, recompute="selective"),
    "by operators": Plan(tp=2, global_batch=2, recompute="operators"),
    "scattered": Plan(tp=2, pp=2, global_batch=2, recompute="full", messages="scattered"),
}


MODELS = ("llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gpt3-13b")
CASES = [("mamba2-2.7b", "whole"), *((model, plan) for model in MODELS for plan in PLANS)]


@pytest.mark.parametrize(("name", "plan"), CASES)
def test_a_chunk_of_shared_blocks_is_one_built_anew(name: str, plan: str) -> None:
    model = find(name)
    setting = setting_of(PLANS[plan], SEQUENCE)
    blocks = Blocks()
    for layers, front, tail in (
        ((0, 5), True, False),
        ((3, 6), False, True),
        ((0, 2), False, False),
    ):
        alone = Chunk(model, setting, layers, front, tail)
        shared = Chunk(model, setting, layers, front, tail, blocks)
        assert shared.graph.operators == alone.graph.operators
        assert shared.graph.weights == alone.graph.weights
        assert shared.work() == alone.work()


class Counted:
    def __init__(self, outside: Tensor | None = None) -> None:
        self.built = 0
        self._outside = outside

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        self.built += 1
        return residual(g, "sum", norm(g, x, "norm", "rms"), self._outside or x)


def chain(g: Graph, block: Any, length: int) -> Graph:
    x: Tensor | None = g.tensor("input", {"tokens": 8, "hidden": 16})
    blocks = Blocks()
    for number in range(length):
        with g.unit(f"layers.{number}"):
            x = blocks.build(g, block, x)
    return g


def test_a_block_is_built_once() -> None:
    block = Counted()
    g = chain(Graph(SETTING), block, 5)
    assert block.built == 1
    assert [one.name for one in g.operators[-2:]] == ["layers.4.norm", "layers.4.sum"]
    assert [weight.unit for weight in g.weights] == [f"layers.{number}" for number in range(5)]


def test_a_block_that_uses_what_is_outside_of_it_is_built_each_time() -> None:
    g = Graph(SETTING)
    outside = g.tensor("outside", {"tokens": 8, "hidden": 16})
    block = Counted(outside)
    chain(g, block, 4)
    assert block.built == 4
    sums = [one for one in g.operators if one.name.endswith("sum")]
    assert [one.inputs[1].tensor for one in sums] == [outside] * 4
