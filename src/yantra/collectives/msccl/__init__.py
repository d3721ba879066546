"""MSCCL programs: read them from XML, prove them, turn them into Chakra traces.

proof = prove(read_program("ring.xml"))
for gpu, trace in enumerate(traces(proof, Sizes(size_bytes=2**20))):
    trace.write(f"ring.{gpu}.et")
"""

from yantra.collectives.msccl.parser import parse_program, read_program
from yantra.collectives.msccl.program import Program
from yantra.collectives.msccl.proof import Proof, prove
from yantra.collectives.msccl.traces import Sizes, traces
from yantra.collectives.msccl.upstream import upstream_traces

__all__ = [
    "Program",
    "Proof",
    "Sizes",
    "parse_program",
    "prove",
    "read_program",
    "traces",
    "upstream_traces",
]
