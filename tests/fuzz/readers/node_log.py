"""Node logs of simulators, read and turned into both kinds of timeline."""

from __future__ import annotations

from yantra.tracing.inspect.timeline import log_timeline, parse_log
from yantra.tracing.inspect.timeline.upstream import upstream_json

FORM = "text"

_LOG = b"""[2025-01-26 22:50:05.669] [workload] [debug] issue,sys->id=0, tick=0, node->id=1, \
node->name=COMP_NODE_a, node->type=4
issue,sys->id=1, tick=10, node->id=2, node->name=MEM_LOAD_NODE_LOCAL_MEMORY
[2025-01-26 22:50:05.669] [system] [info] an issue, of no interest
callback,sys->id=0, tick=1500, node->id=1, node->name=COMP_NODE_a
callback,sys->id=1, tick=1500, node->id=2, node->name=MEM_LOAD_NODE_LOCAL_MEMORY
"""


def seeds() -> list[bytes]:
    return [_LOG]


def read(data: bytes) -> object:
    executions = parse_log(data)
    return log_timeline(executions), upstream_json(executions, 2, 1500.0, milliseconds=False)
