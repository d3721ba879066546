"""The process of one configuration: `python -P -m yantra.service.job`.

The kernel limits its memory, processor time and written bytes, the server its wall time.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

from yantra.base.children import end_with
from yantra.base.errors import YantraError, internal_error
from yantra.base.memory import limited
from yantra.base.notes import notes_to
from yantra.base.trust import close_store
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.export import astra_sim_log
from yantra.run.simulate import run
from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Dimension,
    Scenario,
    Topology,
    Traces,
)
from yantra.service import flow_times, folders, scenarios

LOG = "simulation.log"
RANKS = "ranks.csv"
_MOST_WRITTEN = 4 << 30
_GRACE_S = 5  # processor time beyond the wall limit, for start-up


def main() -> int:
    close_store()
    end_with(os.getppid())
    _warm_up()
    text = sys.stdin.readline()
    if not text:
        return 0
    order = json.loads(text)
    root = order["root"]
    os.chdir(order["results"])
    log = os.open(LOG, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_WRITTEN, _MOST_WRITTEN))
    seconds = int(order["time_limit_s"]) + _GRACE_S
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        with (
            limited(order["memory_limit"]),
            notes_to(lambda text: sys.stdout.write(f"warning: {folders.shown(text, root)}\n")),
        ):
            _run(order, root)
    except YantraError as error:
        return _failed(error, root)
    except Exception as error:
        return _failed(internal_error(error), root)
    return 0


def _warm_up() -> None:
    step = TraceBuilder()
    step.collective("all_reduce", 1)
    link = Dimension(kind="ring", size=2, bytes_per_ns=1.0, latency_ns=1.0)
    scenario = Scenario(
        workload=Traces(traces=(step.build(),) * 2),
        topology=Topology(dimensions=(link,)),
        collectives=Collectives(all_reduce=("ring",)),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )
    result = run(compile(scenario), fold="off", record=True)
    list(astra_sim_log.lines(result))
    result.to_csv(os.devnull, "ranks")


def _failed(error: YantraError, root: str) -> int:
    sys.stdout.write(f"error: {folders.shown(str(error), root)}\n")
    sys.stdout.flush()
    return error.exit_code


def _run(order: dict[str, Any], root: str) -> None:
    scenario, warnings = scenarios.read(order["backend"], order["options"])
    model = compile(scenario)
    for text in (*order["warnings"], *warnings, *model.warnings):
        sys.stdout.write(f"warning: {folders.shown(text, root)}\n")
    records = order["backend"] == "ns3"
    # As `yantra astra-sim`: the log shows which rank finishes first within a tick.
    result = run(model, fold="off", record=records)
    now = astra_sim_log.stamp()
    for line in astra_sim_log.lines(result):
        if line.level != "debug":
            sys.stdout.write(f"{line.text(now)}\n")
    if scenario.track_local_memory:
        from yantra.export.local_memory_trace import write_traces

        write_traces(result)
    result.to_csv(RANKS, "ranks")
    if records:
        flow_times.write(result, flow_times.NAME)


if __name__ == "__main__":
    sys.exit(main())
