"""Execution plans of MSCCL++: read them from JSON, prove them, turn them into Chakra traces.

plan = prove(read_plan("allreduce.json"))
for gpu, trace in enumerate(traces(plan, Sizes(size_bytes=2**20))):
    trace.write(f"allreduce.{gpu}.et")
"""

from yantra.collectives.mscclpp.plan import Plan
from yantra.collectives.mscclpp.proof import Proof, prove
from yantra.collectives.mscclpp.reader import is_plan, parse_plan, read_plan
from yantra.collectives.mscclpp.traces import traces

__all__ = ["Plan", "Proof", "is_plan", "parse_plan", "prove", "read_plan", "traces"]
