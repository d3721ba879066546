"""NCCL's tuner: which algorithm and protocol it takes for a collective, and the time it expects.

Trade-off: it chooses, not predicts: its times are off by tens of percent. Source: NVIDIA NCCL
2.30.7 (commit 5067397), src/graph/tuning.cc and src/enqueue.cc.
"""

from yantra.collectives.nccl.system import Graph, System
from yantra.collectives.nccl.table import Expected, Table, tuner_table
from yantra.collectives.nccl.tuner import Chosen, chosen, segments

__all__ = ["Chosen", "Expected", "Graph", "System", "Table", "chosen", "segments", "tuner_table"]
