"""All stages of a replica: their forward passes in order, one template per class of ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from yantra.workloads.operators.products import Products, products_of
from yantra.workloads.serving.iterations import batch_of
from yantra.workloads.serving.lanes import Play
from yantra.workloads.serving.passes import TAGS, Block, Ends, block_of
from yantra.workloads.serving.stages import Stages
from yantra.workloads.serving.timeline import Timeline
from yantra.workloads.templates import Edge

_KEPT = 16
"""Blocks kept for lanes with equal batches."""


class Links(Protocol):
    def before(self, timeline: Timeline, play: Play, block: Block) -> list[Edge]:
        """Add what a pass waits for; return its block's edges."""

    def after(self, timeline: Timeline, play: Play, block: Block, first: int) -> None:
        """Add what leaves after a pass, whose first node has the id `first`."""


class Alone:
    """The links of a single grid: none."""

    def before(self, timeline: Timeline, play: Play, block: Block) -> list[Edge]:
        return []

    def after(self, timeline: Timeline, play: Play, block: Block, first: int) -> None:
        """Send nothing."""


class Engine:
    """The passes of every replica of one grid."""

    def __init__(self, stages: Stages, plays: Sequence[Play], lanes: int) -> None:
        self.stages = stages
        self.plays = tuple(plays)
        self.lanes = lanes
        self._blocks: dict[tuple[object, ...], Block] = {}

    @property
    def last_stage(self) -> int:
        return self.stages.plan.pp - 1

    def timelines(self, stage: int, classes: Sequence[Links] = (Alone(),)) -> list[Timeline]:
        made = [Timeline() for _ in classes]
        chosen: list[dict[int, int]] = [{} for _ in classes]
        for play in self.plays:
            block = self.block(stage, play)
            for timeline, links, tokens in zip(made, classes, chosen, strict=True):
                edges = links.before(timeline, play, block)
                if self.last_stage == 0 and play.needs:
                    edges.append((block.first, tokens[play.lane], False))
                base = play.number * TAGS
                first = timeline.add(
                    block.segment, block.items, edges, number=play.number, tag_base=base
                )
                tokens[play.lane] = first + block.last
                links.after(timeline, play, block, first)
        return made

    def block(self, stage: int, play: Play) -> Block:
        batch = batch_of(play.iteration, self.stages.plan.token_multiple)
        made = self.stages.of(stage, batch)
        is_piped = self.last_stage > 0
        ends = Ends(
            tensor_in=made.input_bytes if stage else 0,
            tensor_out=made.output_bytes if stage < self.last_stage else 0,
            tokens_in=play.needs if is_piped and stage == 0 else 0,
            tokens_out=play.makes if is_piped and stage == self.last_stage else 0,
            lanes=self.lanes,
        )
        key = (stage, batch, ends)
        if key not in self._blocks:
            if len(self._blocks) > _KEPT:
                self._blocks.clear()
            self._blocks[key] = block_of(made, ends)
        return self._blocks[key]

    def products(self) -> Products:
        plan = self.stages.plan
        batches = Counter(batch_of(play.iteration, plan.token_multiple) for play in self.plays)
        total = Products()
        for batch, times in batches.items():
            for stage in range(plan.pp):
                made = products_of(self.stages.of(stage, batch).forward.operations)
                total = total.plus(made, times * (plan.ranks // plan.pp))
        return total

    def peak_bytes(self, stage: int) -> int:
        """The most bytes of activations of a pass on a stage."""
        multiple = self.stages.plan.token_multiple
        batches = {batch_of(play.iteration, multiple) for play in self.plays}
        largest = {
            max(batches, key=lambda batch: (batch.tokens, batch.past, batch.logits)),
            max(batches, key=lambda batch: (batch.prefills().context, batch.tokens)),
            max(batches, key=lambda batch: (batch.logits, batch.tokens)),
        }
        return max(self.stages.peak_bytes(stage, batch) for batch in largest)
