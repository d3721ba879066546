"""A job's traces drawn anew: who computes how long on which lane between which communications.

Kept: all sums, the time of a run on the cluster of `times` within a piece, and how much of each
call is beside work. Lost: operators, single kernels, how many calls of a layer there are, and order
within a piece.
"""

from __future__ import annotations

from collections.abc import Mapping

from yantra.chakra.schema import NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.obfuscate.renumber import canonical_tag
from yantra.tracing.share.calls import Rank, calls_of
from yantra.tracing.share.pieces import Drawn
from yantra.tracing.share.writing import Names, Writer

CUTS = 64
"""Into how many parts of about equal time each lane is cut."""


def redraw(
    ranks: Mapping[int, Rank], keyed: Keyed, groups: Mapping[str, str], most: int = 16
) -> dict[int, Trace]:
    """New traces of a job, by rank, with `most` calls for a run of calls.

    `groups`: new names of groups, by the old.

    Raises TraceError where ranks of a group make different calls.
    """
    by_rank = {rank: one.columns for rank, one in ranks.items()}
    calls = calls_of(by_rank, {rank: one.times for rank, one in ranks.items()}, most, keyed)
    until = max((max(one.times.end, default=0.0) for one in ranks.values()), default=0.0)
    cuts = [until * (at + keyed.number("cut", at) / (1 << 128)) / CUTS for at in range(1, CUTS)]
    tags = {canonical_tag(tag) for one in by_rank.values() for tag in _tags(one)}
    names = Names(groups, keyed.permuted("tag", tags), keyed)
    return {
        rank: Writer(Drawn(rank, one, calls, cuts, keyed), names).trace()
        for rank, one in ranks.items()
    }


def _tags(columns: Columns) -> list[int]:
    messages = (NodeType.COMM_SEND, NodeType.COMM_RECV)
    return [
        tag
        for tag, type in zip(columns.integers("comm_tag"), columns.type, strict=True)
        if tag is not None and type in messages
    ]
