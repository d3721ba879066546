"""Every golden case of ASTRA-sim beside the checkout, to the tick.

Skipped without `../shared/golden/astra-sim`. One archive is one test:

* where upstream's master, or its rebuild with the scheduling keys of 1.0 (`ext`), completed, the
  finish tick and the exposed communication of every rank are equal;
* where upstream crashed, hung or refused, Yantra completes and its record adds up, or raises a
  YantraError that blames the input (2) or the model (3), within a few seconds;
* where upstream logged every node, the tick of each node's issue and completion is equal;
* recorded, a small case takes the same time, and its record adds up.
"""

from __future__ import annotations

import json
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import identities
from tests.archives import unpack
from yantra.astra_sim import from_files
from yantra.base.errors import YantraError
from yantra.compile import Model, compile
from yantra.run.simulate import run, run_native

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "astra-sim"
ARCHIVES = sorted(SHARED.glob("*.tar.gz"))
LONGEST_FAILURE_S = 5.0
MOST_RECORDED = 5_000  # events of a case that is recorded, too
OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "num-queues-per-dim": ("num_queues_per_dim", int),
    "injection-scale": ("injection_scale", float),
    "comm-scale": ("comm_scale", float),
    "rendezvous-protocol": ("rendezvous", lambda text: text == "true"),
}


def compiled(folder: Path, build: str, backend: str) -> Model:
    case = json.loads((folder / "case.json").read_text())
    options: dict[str, Any] = {}
    for argument in case["args"]:
        name, value = argument.removeprefix("--").split("=")
        option, convert = OPTIONS[name]
        options[option] = convert(value)
    groups = next((p for p in ("comm_group.json", "groups.json") if (folder / p).exists()), None)
    scenario, _ = from_files(
        directory=folder,
        workload=case.get("prefix", "workload"),
        system="system.json",
        network="network.yml",
        memory="memory.json",
        groups=groups,
        network_backend=f"congestion-{backend}",
        scheduling_keys="honour" if build == "ext" else "ignore",
        **options,
    )
    return compile(scenario)


def verdict(folder: Path, build: str, backend: str, said: dict[str, Any]) -> str:
    comparable = said["status"] == "ok" and not said.get("do_not_compare")
    started = time.process_time()
    try:
        model = compiled(folder, build, backend)
        outcome = run_native(model)
    except YantraError as error:
        if comparable:
            return f"wrong: refused: {error}"
        if error.exit_code not in (2, 3) or not str(error):
            return f"wrong: failed with {type(error).__name__}: {error}"
        return timely("refused, as upstream failed", started)
    if comparable and (wrong := _unlike(outcome, said)):
        return wrong
    if outcome.events <= MOST_RECORDED:
        record = run(model, fold="off", record=True)
        if record.outcome.end != outcome.end:
            return "wrong: recorded, its nodes end at other times"
        identities.hold(record, f"{folder.name} {build}/{backend}")
    if not comparable:
        return timely("completed where upstream failed", started)
    log = folder / f"trace.{build}.{backend}.json"
    return nodes(model, outcome, json.loads(log.read_text())) if log.exists() else "equal"


def _unlike(outcome: Any, said: dict[str, Any]) -> str:
    finish = outcome.finish.tolist()
    if finish != said["cycles"]:
        return f"wrong: finishes at {finish[:4]}..., upstream at {said['cycles'][:4]}..."
    busy = outcome.compute_busy.tolist()
    exposed = [(tick - compute) % 2**64 for tick, compute in zip(finish, busy, strict=True)]
    if said["exposed"] is not None and exposed != said["exposed"]:
        return f"wrong: exposes {exposed[:4]}..., upstream {said['exposed'][:4]}..."
    return ""


def timely(text: str, started: float) -> str:
    seconds = time.process_time() - started
    return text if seconds < LONGEST_FAILURE_S else f"wrong: {text} after {seconds:.1f} s"


def nodes(model: Model, outcome: Any, log: dict[str, list[Any]]) -> str:
    for rank in range(model.ranks):
        graph, first = model.graphs.of(rank), outcome.first_node[rank]
        ours = {
            graph.id[at]: [outcome.start[first + at], outcome.end[first + at]]
            for at in range(len(graph))
        }
        for node, issued, completed, name in log[str(rank)]:
            if ours[node] != [issued, completed]:
                return f"wrong: rank {rank} node {node} '{name}' runs {ours[node]}"
    return "equal, node by node"


@pytest.mark.skipif(not ARCHIVES, reason=f"no golden cases in {SHARED}")
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_every_case_equals_upstream(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(archive) as tar:
        unpack(tar, tmp_path)
    counts: Counter[str] = Counter()
    wrong = []
    for file in sorted(tmp_path.rglob("expected.json")):
        for which, said in json.loads(file.read_text()).items():
            build, backend = which.split("/")
            if build not in ("master", "ext"):
                continue
            text = verdict(file.parent, build, backend, said)
            counts[text.split(":")[0]] += 1
            if text.startswith("wrong"):
                wrong.append(f"{file.parent.name} {which}: {text}")
    with capsys.disabled():
        print(f"\n{archive.name}: {dict(counts)}")
    assert counts
    assert not wrong, "\n".join(wrong)
