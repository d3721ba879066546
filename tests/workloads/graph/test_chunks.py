"""Chunks share the graphs of settings that differ in what is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import norm
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import Chunk, Chunks, setting_of

AGAIN: tuple[Any, ...] = ("none", "selective", "operators", "full")
SEQUENCE = 512


@pytest.mark.parametrize("name", ["llama3-8b", "mixtral-8x7b", "deepseek-v3"])
def test_works_by_shared_graphs_are_those_of_graphs_of_their_own(name: str) -> None:
    model = find(name)
    count = len(model.layers)
    chunks = Chunks(model)
    plan = Plan(tp=2, ep=1, micro_batch=2, global_batch=2)
    for recompute in AGAIN:
        setting = setting_of(plan.replace(recompute=recompute), SEQUENCE)
        for layers, front, tail in (((0, 0), True, False), ((0, 2), False, False)):
            alone = Chunk(model, setting, layers, front, tail).work()
            assert chunks.work(setting, layers, front=front, tail=tail) == alone
        alone = Chunk(model, setting, (count, count), False, True).work()
        assert chunks.work(setting, (count, count), tail=True) == alone


class _Asks(Block):
    hidden: int = 64

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        made = norm(g, x, "first", "rms")
        return norm(g, made, "second", "rms") if g.setting.recompute == "full" else made

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}


class _Model(NamedTuple):
    front: Any
    layers: Sequence[Block]
    tail: Any


def test_a_block_that_asks_is_built_for_each_setting() -> None:
    chunks = Chunks(_Model(None, (_Asks(),), None))
    settings = [setting_of(Plan(recompute=one), SEQUENCE) for one in ("none", "full")]
    once, twice = (chunks.work(one, (0, 1)).forward.operations for one in settings)
    assert 2 * len(once) == len(twice)
