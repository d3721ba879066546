"""NCCL's protocols on the wire: what a message carries beside its data, and what a step waits for.

| | a line | of it data | a step waits beyond LL | | --- | --- | --- | --- | | LL | 8 B | 4 B, the
rest is the flag that says they are there | 0 | | LL128 | 128 B | 120 B | 1.3 us | | Simple | 1 B |
1 B; flags are apart, and both ends fence and poll for whole slices | 2.8 us |

Source: Hu et al., arXiv 2507.04786 (2025), table I; NCCL 2.30.7, src/graph/tuning.cc.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.collectives.names import ProtocolName
from yantra.collectives.program import GraphProgram, Op


class Line(NamedTuple):
    """A line's bytes, its data, and a step's wait beyond LL."""

    bytes: int
    data: int
    step_ns: float


LINES: dict[ProtocolName, Line] = {
    "ll": Line(8, 4, 0.0),
    "ll128": Line(128, 120, 1300.0),
    "simple": Line(1, 1, 2800.0),
}


def on_the_wire(program: GraphProgram, protocol: ProtocolName) -> GraphProgram:
    line = LINES[protocol]
    ops = tuple(tuple(_in_lines(op, line) for op in of_one) for of_one in program.ops)
    return program._replace(ops=ops)


def _in_lines(op: Op, line: Line) -> Op:
    if op.kind == "local":
        return op
    return op._replace(num=op.num * line.bytes, den=op.den * line.data)
