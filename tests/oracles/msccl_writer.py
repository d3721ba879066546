"""Writes correct MSCCL programs: random trees, rings and direct exchanges, as XML.

`Writer` takes transfers in an order in which they could run one by one, puts each on the thread
blocks of its connection, and adds the dependencies (with nops where a step needs several) that keep
every access to a chunk in that order. So its programs have no deadlock and no race.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

Place = tuple[str, int]  # buffer, offset
StepId = tuple[int, int]  # thread block, step

COLLECTIVES = (
    *("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "alltonext"),
)


class Block:
    def __init__(self, id: int, send: int, recv: int, channel: int) -> None:
        self.id, self.send, self.recv, self.channel = id, send, recv, channel
        self.steps: list[dict[str, Any]] = []

    def add(self, kind: str, src: Place, dst: Place, count: int, needs: set[StepId]) -> StepId:
        others = sorted(need for need in needs if need[0] != self.id)
        for need in others[1:]:
            self._append("nop", ("i", -1), ("o", -1), 0, need)
        self._append(kind, src, dst, count, others[0] if others else (-1, -1))
        return self.id, len(self.steps) - 1

    def _append(self, kind: str, src: Place, dst: Place, count: int, need: StepId) -> None:
        self.steps.append(
            {
                "s": len(self.steps),
                "type": kind,
                "srcbuf": src[0],
                "srcoff": src[1],
                "dstbuf": dst[0],
                "dstoff": dst[1],
                "cnt": count,
                "depid": need[0],
                "deps": need[1],
                "hasdep": 0,
            }
        )


class Writer:
    """Collects the steps of all GPUs. `merged`: sends and receives of a peer share a block."""

    def __init__(self, gpus: int, *, merged: bool = False, fused: bool = False) -> None:
        self.gpus = gpus
        self.merged = merged
        self.fused = fused
        self.blocks: list[dict[Any, Block]] = [{} for _ in range(gpus)]
        self.written: dict[tuple[int, str, int], StepId] = {}
        self.read: dict[tuple[int, str, int], set[StepId]] = {}

    def transfer(
        self, src: int, dst: int, channel: int, of: Place, to: Place, count: int, kind: str = "r"
    ) -> None:
        """Send chunks from one GPU to another, which keeps (`r`) or adds (`rrc`) them."""
        self._send(src, dst, channel, of, to, count)
        block = self._block(dst, "recv", src, channel)
        reads = [to] if kind == "rrc" else []
        needs = self._needs(dst, reads, [to], count)
        step = block.add(kind, to if kind == "rrc" else of, to, count, needs)
        self._note(dst, step, reads, [to], count)

    def local(self, gpu: int, kind: str, of: Place, to: Place, count: int) -> None:
        """Copy (`cpy`) or add (`re`) chunks within a GPU."""
        channel = 0 if self.merged else -1
        block = self.blocks[gpu].setdefault("local", Block(self._id(gpu), -1, -1, channel))
        reads = [of, to] if kind == "re" else [of]
        step = block.add(kind, of, to, count, self._needs(gpu, reads, [to], count))
        self._note(gpu, step, reads, [to], count)

    def xml(
        self, collective: str, in_place: bool, sizes: Callable[[int], tuple[int, int, int]]
    ) -> str:
        """Return the program; `sizes(gpu)` gives the input, output and scratch chunks."""
        lines = [
            f'<algo name="own" proto="Simple" nchannels="{self._channels()}" nchunksperloop="1" '
            f'ngpus="{self.gpus}" coll="{collective}" inplace="{int(in_place)}" '
            f'outofplace="{int(not in_place)}" minBytes="0" maxBytes="0">'
        ]
        for gpu, blocks in enumerate(self.blocks):
            chunks = "".join(
                f' {name}_chunks="{count}"' for name, count in zip("ios", sizes(gpu), strict=True)
            )
            lines.append(f'  <gpu id="{gpu}"{chunks}>')
            self._mark(blocks)
            distinct = {block.id: block for block in blocks.values()}
            for _, block in sorted(distinct.items()):
                lines.append(
                    f'    <tb id="{block.id}" send="{block.send}" recv="{block.recv}" '
                    f'chan="{block.channel}">'
                )
                for step in block.steps:
                    text = " ".join(f'{key}="{value}"' for key, value in step.items())
                    lines.append(f"      <step {text}/>")
                lines.append("    </tb>")
            lines.append("  </gpu>")
        return "\n".join([*lines, "</algo>"]) + "\n"

    def _send(self, src: int, dst: int, channel: int, of: Place, to: Place, count: int) -> None:
        block = self._block(src, "send", dst, channel)
        needs = self._needs(src, [of], [], count)
        if self.fused and block.steps:
            last, at = block.steps[-1], (block.id, len(block.steps) - 1)
            same = (last["dstbuf"], last["dstoff"], last["cnt"]) == (*of, count)
            if same and needs == {at} and last["type"] in ("r", "rrc"):
                last["type"] = {"r": "rcs", "rrc": "rrcs"}[last["type"]]
                return
        self._note(src, block.add("s", of, to, count, needs), [of], [], count)

    def _block(self, gpu: int, way: str, peer: int, channel: int) -> Block:
        blocks = self.blocks[gpu]
        if (way, peer, channel) in blocks:
            return blocks[way, peer, channel]
        free = [b for b in blocks.values() if b.channel == channel and getattr(b, way) < 0]
        if self.merged and free and free[0] is not blocks.get("local"):
            setattr(free[0], way, peer)
            blocks[way, peer, channel] = free[0]
            return free[0]
        made = Block(self._id(gpu), *((peer, -1) if way == "send" else (-1, peer)), channel)
        blocks[way, peer, channel] = made
        return made

    def _id(self, gpu: int) -> int:
        return len({block.id for block in self.blocks[gpu].values()})

    def _needs(self, gpu: int, reads: list[Place], writes: list[Place], count: int) -> set[StepId]:
        spots = [(gpu, b, o + k) for b, o in chain(reads, writes) for k in range(count)]
        needs = {self.written[spot] for spot in spots if spot in self.written}
        for buffer, offset in writes:
            for k in range(count):
                needs |= self.read.get((gpu, buffer, offset + k), set())
        return needs

    def _note(
        self, gpu: int, step: StepId, reads: list[Place], writes: list[Place], count: int
    ) -> None:
        for buffer, offset in reads:
            for k in range(count):
                self.read.setdefault((gpu, buffer, offset + k), set()).add(step)
        for buffer, offset in writes:
            for k in range(count):
                self.written[gpu, buffer, offset + k] = step
                self.read[gpu, buffer, offset + k] = set()

    def _channels(self) -> int:
        return 1 + max(b.channel for blocks in self.blocks for b in blocks.values())

    def _mark(self, blocks: dict[Any, Block]) -> None:
        by_id = {block.id: block for block in blocks.values()}
        for block in by_id.values():
            for step in block.steps:
                if step["depid"] >= 0:
                    by_id[step["depid"]].steps[step["deps"]]["hasdep"] = 1


def ring_allreduce(gpus: int, *, channels: int = 1, split: bool = False) -> str:
    """The ring with fused steps: s, rrs ..., rrcs, rcs ..., r; `split`: s, rrc, s ... as pairs."""
    lines = [
        f'<algo name="ring" nchannels="{channels}" ngpus="{gpus}" coll="allreduce" inplace="1">'
    ]
    kinds = ["s", *["rrs"] * (gpus - 2), "rrcs", *["rcs"] * (gpus - 2), "r"]
    for gpu in range(gpus):
        lines.append(f'<gpu id="{gpu}" i_chunks="{gpus * channels}" o_chunks="0" s_chunks="0">')
        for channel in range(channels):
            lines.append(
                f'<tb id="{channel}" send="{(gpu + 1) % gpus}" recv="{(gpu - 1) % gpus}" '
                f'chan="{channel}">'
            )
            steps = [
                (kind, ((gpu - at) % gpus) * channels + channel)
                for at, kind in enumerate(kinds)
                for kind in (
                    {"rrs": ("rrc", "s"), "rrcs": ("rrc", "s"), "rcs": ("r", "s")}.get(
                        kind, (kind,)
                    )
                    if split
                    else (kind,)
                )
            ]
            lines += [
                f'<step s="{s}" type="{kind}" srcbuf="i" srcoff="{at}" dstbuf="i" dstoff="{at}" '
                'cnt="1" depid="-1" deps="-1" hasdep="0"/>'
                for s, (kind, at) in enumerate(steps)
            ]
            lines.append("</tb>")
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"]) + "\n"


def random_program(seed: int) -> str:
    draw = random.Random(seed)
    collective = draw.choice(COLLECTIVES)
    gpus, each = draw.randint(2, 5), draw.randint(1, 3)
    in_place = draw.random() < 0.5 and collective not in ("alltoall", "alltonext")
    merged = draw.random() < 0.5
    writer = Writer(gpus, merged=merged, fused=merged and draw.random() < 0.7)
    make = _Random(writer, draw, each, in_place)
    sizes = getattr(make, collective)()
    return writer.xml(collective, in_place, sizes)


Sizes = Callable[[int], tuple[int, int, int]]


class _Random:
    def __init__(self, writer: Writer, draw: random.Random, each: int, in_place: bool) -> None:
        self.writer, self.draw, self.each, self.in_place = writer, draw, each, in_place
        self.n = writer.gpus
        self.scratch = 0
        self.bulk = draw.random() < 0.4
        self.channels = draw.randint(1, 3)

    def allreduce(self) -> Sizes:
        chunks = self.n * self.each
        buffer = "i" if self.in_place else "o"
        self._copy_all("i", "o", chunks)
        works = []
        for at, count in self._pieces(chunks):
            parents = self._tree(self.draw.randrange(self.n))
            works.append(
                chain(
                    self._up(parents, buffer, lambda _, at=at: at, count),
                    self._down(parents, buffer, lambda _, at=at: at, count),
                )
            )
        self._interleave(works)
        return lambda gpu: (chunks, 0 if self.in_place else chunks, self.scratch)

    def allgather(self) -> Sizes:
        chunks = self.n * self.each
        if not self.in_place:
            for gpu in range(self.n):
                self.writer.local(gpu, "cpy", ("i", 0), ("o", gpu * self.each), self.each)
        works = []
        for owner in range(self.n):
            for at, count in self._pieces(self.each):
                place = owner * self.each + at
                parents = self._tree(owner)
                works.append(self._down(parents, "o", lambda _, place=place: place, count))
        self._interleave(works)
        return lambda gpu: (0 if self.in_place else self.each, chunks, 0)

    def reducescatter(self) -> Sizes:
        chunks = self.n * self.each
        buffer = "i"
        if not self.in_place:
            buffer, self.scratch = "s", chunks
            self._copy_all("i", "s", chunks)
        works = []
        for owner in range(self.n):
            for at, count in self._pieces(self.each):
                place = owner * self.each + at
                parents = self._tree(owner)
                works.append(self._up(parents, buffer, lambda _, place=place: place, count))
        self._interleave(works)
        if not self.in_place:
            for gpu in range(self.n):
                self.writer.local(gpu, "cpy", ("s", gpu * self.each), ("o", 0), self.each)
        return lambda gpu: (chunks, 0 if self.in_place else self.each, self.scratch)

    def alltoall(self) -> Sizes:
        pairs = [(a, b) for a in range(self.n) for b in range(self.n)]
        self.draw.shuffle(pairs)
        for a, b in pairs:
            of, to = ("i", b * self.each), ("o", a * self.each)
            if a == b:
                self.writer.local(a, "cpy", of, to, self.each)
                continue
            others = [gpu for gpu in range(self.n) if gpu not in (a, b)]
            if others and self.draw.random() < 0.3:  # by way of a third GPU's scratch
                via = self.draw.choice(others)
                relay = ("s", self.scratch)
                self.scratch += self.each
                self.writer.transfer(a, via, self._channel(), of, relay, self.each)
                a, of = via, relay
            self.writer.transfer(a, b, self._channel(), of, to, self.each)
        return lambda gpu: (self.n * self.each, self.n * self.each, self.scratch)

    def broadcast(self) -> Sizes:
        root = self.draw.randrange(self.n)
        buffer = "i" if self.in_place else "o"
        if not self.in_place:
            self.writer.local(root, "cpy", ("i", 0), ("o", 0), self.each)
        self._interleave(
            [
                self._down(self._tree(root), buffer, lambda _, at=at: at, count)
                for at, count in self._pieces(self.each)
            ]
        )
        return lambda gpu: (self.each, 0 if self.in_place else self.each, 0)

    def reduce(self) -> Sizes:
        root = self.draw.randrange(self.n)
        buffer = "i"
        if not self.in_place:
            buffer = "o"
            self._copy_all("i", "o", self.each)
        self._interleave(
            [
                self._up(self._tree(root), buffer, lambda _, at=at: at, count)
                for at, count in self._pieces(self.each)
            ]
        )
        return lambda gpu: (self.each, 0 if self.in_place else self.each, self.scratch)

    def alltonext(self) -> Sizes:
        for gpu in self.draw.sample(range(self.n - 1), self.n - 1):
            for at, count in self._pieces(self.each):
                self.writer.transfer(gpu, gpu + 1, self._channel(), ("i", at), ("o", at), count)
        return lambda gpu: (self.each, self.each, 0)

    def _channel(self) -> int:
        return self.draw.randrange(self.channels)

    def _pieces(self, chunks: int) -> list[tuple[int, int]]:
        return [(0, chunks)] if self.bulk else [(at, 1) for at in range(chunks)]

    def _tree(self, root: int) -> list[tuple[int, int]]:
        """Pairs of GPU and parent, each GPU after its parent."""
        others = [gpu for gpu in range(self.n) if gpu != root]
        self.draw.shuffle(others)
        placed = [root]
        pairs = []
        for gpu in others:
            pairs.append((gpu, self.draw.choice(placed)))
            placed.append(gpu)
        return pairs

    def _down(
        self, tree: list[tuple[int, int]], buffer: str, at: Callable[[int], int], count: int
    ) -> Iterator[None]:
        for gpu, parent in tree:
            of, to = (buffer, at(parent)), (buffer, at(gpu))
            self.writer.transfer(parent, gpu, self._channel(), of, to, count)
            yield

    def _up(
        self, tree: list[tuple[int, int]], buffer: str, at: Callable[[int], int], count: int
    ) -> Iterator[None]:
        for gpu, parent in reversed(tree):
            of, to = (buffer, at(gpu)), (buffer, at(parent))
            if self.draw.random() < 0.3:  # received into scratch, then added
                slot = ("s", self.scratch)
                self.scratch += count
                self.writer.transfer(gpu, parent, self._channel(), of, slot, count)
                self.writer.local(parent, "re", slot, to, count)
            else:
                self.writer.transfer(gpu, parent, self._channel(), of, to, count, "rrc")
            yield

    def _interleave(self, works: list[Iterator[None]]) -> None:
        left = list(works)
        while left:
            work = self.draw.choice(left)
            if next(work, self) is self:
                left.remove(work)

    def _copy_all(self, of: str, to: str, chunks: int) -> None:
        if not self.in_place:
            for gpu in range(self.n):
                self.writer.local(gpu, "cpy", (of, 0), (to, 0), chunks)
