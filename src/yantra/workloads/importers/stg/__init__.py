"""Workloads of STG and STAGE: models as spreadsheets of symbolic tensors.

Trade-off: it makes what STG makes, defects included (docs/reference/stg.md); units `yantra` have a
simulator's operations and sizes. `yantra workload train` has none of the defects.

Source: STAGE, "Scalable Synthesis of Distributed LLM Workloads through Symbolic Tensor Graphs",
arXiv 2511.10480; astra-sim/stage@9ec6c02.
"""

from yantra.workloads.importers.stg.settings import Settings
from yantra.workloads.importers.stg.workload import from_stg

__all__ = ["Settings", "from_stg"]
