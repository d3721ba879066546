"""A synthesised collective as an MSCCL program: one thread block for each connection and way.

All blocks lie in one buffer, at the place of their number: the output of an all-gather, else the
input, as calls in place have it. A step waits for the last step that wrote its blocks, and one that
writes also for those that read them since; a nop carries each dependency but the first.

Trade-off: as many thread blocks as a rank has neighbours, each way. The simulator takes any number;
a GPU has only so many.

Source: the format of MSCCL programs, as docs/reference/msccl.md describes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from yantra.base.errors import UnsupportedError
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.transfers import Plan, Transfer

_NAMES = {
    Kind.ALL_GATHER: "allgather",
    Kind.REDUCE_SCATTER: "reducescatter",
    Kind.ALL_REDUCE: "allreduce",
}
_StepId = tuple[int, int]  # thread block, step


class _Step(NamedTuple):
    kind: str
    offset: int
    chunks: int
    needs: _StepId | None


class _Gpu:
    """The thread blocks of a rank, and which steps touch each block of data."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, int], int] = {}  # send or recv, and the peer
        self.steps: list[list[_Step]] = []
        self.writer: dict[int, _StepId] = {}
        self.readers: dict[int, set[_StepId]] = defaultdict(set)
        self.awaited: set[_StepId] = set()

    def send(self, each: Transfer) -> None:
        needs = {self.writer[block] for block in each.blocks if block in self.writer}
        step = self._add(("send", each.dst), "s", each.blocks, needs)
        for block in each.blocks:
            self.readers[block].add(step)

    def receive(self, each: Transfer) -> None:
        needs = {self.writer[block] for block in each.blocks if block in self.writer}
        needs = needs.union(*(self.readers.pop(block, ()) for block in each.blocks))
        step = self._add(("recv", each.src), "rrc" if each.reduce else "r", each.blocks, needs)
        for block in each.blocks:
            self.writer[block] = step

    def _add(
        self, connection: tuple[str, int], kind: str, blocks: range, needs: set[_StepId]
    ) -> _StepId:
        at = self.blocks.setdefault(connection, len(self.blocks))
        if at == len(self.steps):
            self.steps.append([])
        # Of a thread block that comes earlier anyway, the last step says it all.
        last: dict[int, int] = {}
        for other, step in needs:
            if other != at:
                last[other] = max(step, last.get(other, 0))
        ordered = sorted(last.items())
        self.awaited.update(ordered)
        for need in ordered[1:]:
            self.steps[at].append(_Step("nop", -1, 0, need))
        first = ordered[0] if ordered else None
        self.steps[at].append(_Step(kind, blocks.start, len(blocks), first))
        return at, len(self.steps[at]) - 1


def program_text(plan: Plan, name: str) -> str:
    """Return the program of a plan, called `name`. Raises UnsupportedError for other kinds."""
    if plan.kind not in _NAMES:
        raise UnsupportedError(f"no MSCCL program of a synthesised {plan.kind} is written")
    gpus = [_Gpu() for _ in range(plan.ranks)]
    for each in plan.transfers:
        gpus[each.src].send(each)
        gpus[each.dst].receive(each)
    return "\n".join(_lines(plan, name, gpus)) + "\n"


def _lines(plan: Plan, name: str, gpus: list[_Gpu]) -> Iterator[str]:
    gathers = plan.kind is Kind.ALL_GATHER
    buffer = "o" if gathers else "i"
    chunks = {
        Kind.ALL_GATHER: (0, plan.blocks),
        Kind.REDUCE_SCATTER: (plan.blocks, 0),
        Kind.ALL_REDUCE: (plan.blocks, 0),
    }[plan.kind]
    yield (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="1" ngpus="{plan.ranks}" '
        f'coll="{_NAMES[plan.kind]}" inplace="1" outofplace="0">'
    )
    for number, gpu in enumerate(gpus):
        yield f'  <gpu id="{number}" i_chunks="{chunks[0]}" o_chunks="{chunks[1]}" s_chunks="0">'
        for (way, peer), at in gpu.blocks.items():
            ends = f'send="{peer}" recv="-1"' if way == "send" else f'send="-1" recv="{peer}"'
            yield f'    <tb id="{at}" {ends} chan="0">'
            for count, step in enumerate(gpu.steps[at]):
                yield "      " + _step(step, count, buffer, (at, count) in gpu.awaited)
            yield "    </tb>"
        yield "  </gpu>"
    yield "</algo>"


def _step(step: _Step, number: int, buffer: str, is_awaited: bool) -> str:
    place = f'srcbuf="{buffer}" srcoff="{step.offset}" dstbuf="{buffer}" dstoff="{step.offset}"'
    block, of = step.needs or (-1, -1)
    return (
        f'<step s="{number}" type="{step.kind}" {place} cnt="{step.chunks}" '
        f'depid="{block}" deps="{of}" hasdep="{int(is_awaited)}"/>'
    )
