"""MSCCL programs: read them from XML, prove them, turn them into Chakra traces.

proof = prove(read_program("ring.xml"))
for gpu, trace in enumerate(traces(proof, Sizes(size_bytes=2**20))):
    trace.write(f"ring.{gpu}.et")
"""

from yantra.chakra.msccl.parser import parse_program, read_program
from yantra.chakra.msccl.program import Program
from yantra.chakra.msccl.proof import Proof, prove
from yantra.chakra.msccl.traces import Sizes, traces
from yantra.chakra.msccl.upstream import upstream_traces

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
