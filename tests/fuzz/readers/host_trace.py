"""Host traces of PyTorch, both layouts, linked with nothing and made a graph."""

from __future__ import annotations

import json

from tests.oracles import gpu_program
from tests.oracles.small_traces import host_trace, node
from yantra.tracing.pytorch import host
from yantra.tracing.pytorch.graph import build
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.pytorch.link import link

FORM = "json"

_FLAT = """{"schema": "1.0.1", "pid": 3, "time": "t", "start_ts": 5, "nodes": [
  {"name": "aten::mm", "id": 12, "rf_id": 4, "parent": 1, "fw_parent": 0, "seq_id": 9, "scope": 1,
   "tid": 1, "fw_tid": 2, "op_schema": "s", "inputs": [[5, 6, 0, 4, 4, "cuda:0"]],
   "input_shapes": [[2, 2]], "input_types": ["Tensor(float)"], "outputs": [1.5],
   "output_shapes": [[]], "output_types": ["Double"]},
  {"name": "[pytorch|profiler|execution_graph|process]", "id": 1, "parent": 1}], "finish_ts": 6}"""


def seeds() -> list[bytes]:
    groups = json.dumps([{"pg_name": "0", "pg_desc": "d", "ranks": [], "group_size": 4}])
    comms = [[5, 6, 0, 8, 4, "cuda:0"]], 3, ["0", "d"], 0, "allreduce"
    nodes = (
        node(4, "## process_group:init ##", 2, values=[groups]),
        node(6, "record_param_comms", 2, values=list(comms)),
    )
    program = gpu_program.run(1, 10).host_json()
    return [_FLAT.encode(), *(json.dumps(t).encode() for t in (host_trace(*nodes), program))]


def read(data: bytes) -> object:
    trace = host.parse(data, "host.json")
    nothing = KinetoTrace(cpu=[], calls=[], device=[], syncs=[], forward=[], backward=[])
    return build(link(trace, nothing))
