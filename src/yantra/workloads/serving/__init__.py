"""Iterations of a serving engine as workloads: prefill, decode, mixed and disaggregated.

| file | idea |
|---|---|
| `plan.py`, `names.py`, `legality.py` | how a model is spread over ranks; vLLM's names |
| `requests.py`, `iterations.py`, `lanes.py` | the request, and what each forward pass works on |
| `stages.py`, `passes.py` | batch -> forward pass of a pipeline stage -> block of nodes |
| `timeline.py`, `engine.py` | one rank's template; all stages of one grid |
| `kv_cache.py`, `memory.py`, `activations.py` | memory, and whether all fits |
| `transfer.py` | keys and values sent between two grids |
| `rounds.py`, `classes.py` | what is shown of it; classes of ranks -> `Workload` |
| `check.py` | messages match, collectives agree, nobody waits for ever |
| `infer.py` | the whole: model and plan -> `Workload` |
"""

from yantra.workloads.serving.infer import infer
from yantra.workloads.serving.plan import InferencePlan

__all__ = ["InferencePlan", "infer"]
