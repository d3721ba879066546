"""Workloads of STG and STAGE: models as spreadsheets of symbolic tensors.

    sheets.py, builtin/   modules: from spreadsheets, or in our own words
    assembly.py           modules to the graph of one micro-batch of a model
    weights.py, micro_batches.py, updates.py, stages.py    passes over the graph
    resharding.py, nodes.py, units.py, emission.py         the graph to Chakra nodes

Trade-off: it makes what STG makes, defects included (docs/reference/stg.md); units `yantra` have a
simulator's operations and sizes. `yantra workload train` has none of the defects.

Source: STAGE, "Scalable Synthesis of Distributed LLM Workloads through Symbolic Tensor Graphs",
arXiv 2511.10480; astra-sim/stage@9ec6c02.
"""

from yantra.workloads.importers.stg.settings import Settings
from yantra.workloads.importers.stg.workload import from_stg

__all__ = ["Settings", "from_stg"]
