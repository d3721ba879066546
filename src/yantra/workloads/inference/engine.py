"""All stages of a replica: their forward passes in order, one template for each class of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from yantra.workloads.inference.iterations import batch_of
from yantra.workloads.inference.lanes import Play
from yantra.workloads.inference.passes import TAGS, Block, Ends, block_of
from yantra.workloads.inference.stages import Stages
from yantra.workloads.inference.timeline import Timeline
from yantra.workloads.template import Edge


class Links(Protocol):
    """What ties the passes of one class of ranks to another grid."""

    def before(self, timeline: Timeline, play: Play, block: Block) -> list[Edge]:
        """Add what a pass waits for; return the edges of its block."""

    def after(self, timeline: Timeline, play: Play, block: Block, first: int) -> None:
        """Add what leaves after a pass whose first node has the id `first`."""


class Engine:
    """The passes that every replica of one grid makes."""

    def __init__(self, stages: Stages, plays: Sequence[Play], lanes: int) -> None:
        self.stages = stages
        self.plays = tuple(plays)
        self.lanes = lanes
        self._blocks: dict[tuple[object, ...], Block] = {}

    @property
    def last_stage(self) -> int:
        """The number of the last stage."""
        return self.stages.plan.pp - 1

    def timeline(self, stage: int, links: Links | None = None) -> Timeline:
        """Return the template of the ranks of a stage."""
        timeline = Timeline()
        chosen: dict[int, int] = {}
        for play in self.plays:
            block = self.block(stage, play)
            edges = links.before(timeline, play, block) if links else []
            if self.last_stage == 0 and play.needs:
                edges.append((block.first, chosen[play.lane], False))
            first = timeline.add(
                block.segment, block.items, edges, number=play.number, tag_base=play.number * TAGS
            )
            chosen[play.lane] = first + block.last
            if links:
                links.after(timeline, play, block, first)
        return timeline

    def block(self, stage: int, play: Play) -> Block:
        """Return a pass of a stage, encoded once for all that are alike."""
        batch = batch_of(play.iteration, self.stages.plan.token_multiple)
        made = self.stages.of(stage, batch)
        is_piped = self.last_stage > 0
        ends = Ends(
            tensor_in=made.work.input_bytes if stage else 0,
            tensor_out=made.work.output_bytes if stage < self.last_stage else 0,
            tokens_in=play.needs if is_piped and stage == 0 else 0,
            tokens_out=play.makes if is_piped and stage == self.last_stage else 0,
            lanes=self.lanes,
        )
        key = (stage, batch, ends)
        if key not in self._blocks:
            self._blocks[key] = block_of(made, ends)
        return self._blocks[key]

    def peak_bytes(self, stage: int) -> int:
        """Return the most bytes of activations of any pass on a stage."""
        multiple = self.stages.plan.token_multiple
        batches = {batch_of(play.iteration, multiple) for play in self.plays}
        return max(self.stages.of(stage, batch).peak_bytes for batch in batches)
