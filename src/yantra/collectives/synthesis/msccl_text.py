"""A synthesised collective as an MSCCL program: one thread block for each connection and direction.

Trade-off: a GPU has fewer thread blocks than this may need.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from xml.sax.saxutils import quoteattr

from yantra import _core
from yantra.base.errors import UnsupportedError
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.steps import NOTHING, steps_of
from yantra.collectives.synthesis.transfers import Plan

_NAMES = {
    Kind.ALL_GATHER: "allgather",
    Kind.REDUCE_SCATTER: "reducescatter",
    Kind.ALL_REDUCE: "allreduce",
}
_KINDS = ("s", "r", "rrc", "nop")  # as the core numbers them


def program_text(plan: Plan, name: str, steps: _core.SynthesisedSteps | None = None) -> str:
    """The program of a plan, or of its steps, called `name`.

    Raises UnsupportedError for other kinds.
    """
    if plan.kind not in _NAMES:
        raise UnsupportedError(f"no MSCCL program of a synthesised {plan.kind} is written")
    return "\n".join(_lines(plan, name, steps or steps_of(plan))) + "\n"


def _lines(plan: Plan, name: str, steps: _core.SynthesisedSteps) -> Iterator[str]:
    gathers = plan.kind is Kind.ALL_GATHER
    inputs, outputs = (0, plan.blocks) if gathers else (plan.blocks, 0)
    yield (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="1" ngpus="{plan.ranks}" '
        f'coll="{_NAMES[plan.kind]}" inplace="1" outofplace="0">'
    )
    ranks, peers, sends = list(steps.rank), list(steps.peer), list(steps.sends)
    spans = list(pairwise(steps.begin))
    text = _step_texts(steps, spans, "o" if gathers else "i")
    for number, lanes in groupby(range(len(ranks)), key=ranks.__getitem__):
        yield f'  <gpu id="{number}" i_chunks="{inputs}" o_chunks="{outputs}" s_chunks="0">'
        for at, lane in enumerate(lanes):
            peer = peers[lane]
            ends = f'send="{peer}" recv="-1"' if sends[lane] else f'send="-1" recv="{peer}"'
            yield f'    <tb id="{at}" {ends} chan="0">'
            yield from text[slice(*spans[lane])]
            yield "    </tb>"
        yield "  </gpu>"
    yield "</algo>"


def _step_texts(
    steps: _core.SynthesisedSteps, spans: list[tuple[int, int]], buffer: str
) -> list[str]:
    lane_of = [lane for lane, (begin, end) in enumerate(spans) for _ in range(begin, end)]
    ranks = list(steps.rank)
    first_lane = {rank: lane for lane, rank in reversed(list(enumerate(ranks)))}
    needs = list(steps.needs)
    awaited = set(needs)
    rows = zip(steps.kind, steps.first, steps.count, needs, lane_of, strict=True)
    made = []
    for at, (kind, first, count, need, lane) in enumerate(rows):
        offset = first if count else -1
        block, of = -1, -1
        if need != NOTHING:
            other = lane_of[need]
            block, of = other - first_lane[ranks[other]], need - spans[other][0]
        made.append(
            f'      <step s="{at - spans[lane][0]}" type="{_KINDS[kind]}" '
            f'srcbuf="{buffer}" srcoff="{offset}" dstbuf="{buffer}" dstoff="{offset}" '
            f'cnt="{count}" depid="{block}" deps="{of}" hasdep="{int(at in awaited)}"/>'
        )
    return made
