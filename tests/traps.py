"""Files of a stranger: each names code that leaves a mark when it runs, by another key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from yantra.chakra import TraceBuilder
from yantra.run.simulate import simulate

MARK = "RAN"
SCENARIO: dict[str, Any] = {
    "workload": {"traces": "step.{rank}.et"},
    "cluster": {
        "topology": [{"kind": "ring", "size": 4, "bandwidth": "50 GB/s", "latency": "500 ns"}],
        "device": {"peak": "1 TFLOP/s", "memory_bandwidth": "1 TB/s"},
    },
    "collectives": {"all_reduce": ["ring"]},
}
STEP = {"model": "llama3-8b", "plan": {"tp": 2, "dp": 2, "global_batch": 4}}
KEYS: dict[str, Mapping[str, Any]] = {
    "network": {"network": "./evil.py"},
    "network.kind": {"network": {"kind": "./evil.py", "options": {"x": 1}}},
    "network.options.command": {
        "network": {"kind": "external", "options": {"command": ["touch", MARK]}}
    },
    "network.options.command of a file": {
        "network": {"kind": "external", "options": {"command": "./evil.sh"}}
    },
    "network.options.command of a shell": {
        "network": {"kind": "external", "options": {"command": ["sh", "-c", f"touch {MARK}"]}}
    },
    "network.options.command with a script": {
        "network": {"kind": "external", "options": {"command": ["python3", "evil.py"]}}
    },
    "cluster.topology.kind": {"cluster.topology": {"kind": "./evil.py"}},
    "cluster.topology.kind with a number": {"cluster.topology": {"kind": "./evil.py:4"}},
    "cluster.fabric": {"cluster.fabric": "./evil.py"},
    "cluster.fabric.kind": {"cluster.fabric": {"kind": "./evil.py", "k": 4}},
    "cluster.device.compute": {"cluster.device.compute": "./evil.py"},
    "cluster.device.compute.kind": {"cluster.device.compute": {"kind": "./evil.py"}},
    "cluster.devices.device.compute": {
        "cluster.devices": [{"ranks": "0-1", "device": {"compute": "./evil.py"}}]
    },
    "cluster.memory.kind": {"cluster.memory": {"kind": "./evil.py", "bandwidth": "1 GB/s"}},
    "collectives.all_reduce": {"collectives": {"all_reduce": ["./evil.py"]}},
    "collectives.all_gather": {
        "collectives": {"all_reduce": ["ring"], "all_gather": ["./evil.py:2"]}
    },
    "collectives.selection": {"collectives": {"all_reduce": ["ring"], "selection": "./evil.py"}},
    "collectives.selection.kind": {
        "collectives": {"all_reduce": ["ring"], "selection": {"kind": "./evil.py"}}
    },
    "scheduler": {"scheduler": "./evil.py"},
    "scheduler.kind": {"scheduler": {"kind": "./evil.py", "options": {"x": 1}}},
    "background.kind": {"background": {"kind": "./evil.py", "size": "1 MB"}},
    "background[0].kind": {"background": [{"kind": "./evil.py", "at": "1 us"}]},
    "workload.model": {"workload": STEP | {"model": "./evil.py"}},
    "workload.model of several": {"workload": STEP | {"model": "./evil.py:small"}},
    "workload.model.file": {"workload": STEP | {"model": {"file": "./evil.py"}}},
    "workload.model.name": {"workload": STEP | {"model": {"name": "evil.py"}}},
    "workload.plan.schedule": {
        "workload": STEP | {"plan": {"pp": 4, "global_batch": 4, "schedule": "./evil.py"}}
    },
}
"""What a scenario has beside `SCENARIO` or in its place, by the key that names code."""


def scenario(key: str) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(json.dumps(SCENARIO))
    for path, value in KEYS[key].items():
        *above, last = path.split(".")
        at = tree
        for name in above:
            at = at[name]
        if path == "cluster.topology":
            at = at[last][0]
            at.update(value)
        else:
            at[last] = value
    return tree


def result(key: str) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(_result())
    del whole["sealed"]  # as what has changed since it was written is not read
    return whole | {"scenario": scenario(key), "inputs": {}}


@cache
def _result() -> str:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_traces(folder)
        file = folder / "step.yaml"
        file.write_text(json.dumps(SCENARIO))
        simulate(file, record=True).export("json", folder / "result.json")
        return (folder / "result.json").read_text()


def lay(folder: Path) -> None:
    mark = folder / MARK
    arm(folder)
    program = folder / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    _write_traces(folder)


def arm(folder: Path, text: str = "") -> None:
    """Write `text` into the Python file anew: Yantra runs a known file only once."""
    mark = folder / MARK
    (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w').write({text!r})\n")


def _write_traces(folder: Path) -> None:
    step = TraceBuilder()
    step.collective("all_reduce", 1_000_000)
    for rank in range(4):
        step.build().write(folder / f"step.{rank}.et")
