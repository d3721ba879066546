"""Replays the communication of a job: a local process a rank, over gloo or, on GPUs, NCCL.

Trade-off: all ranks run on this machine, so times are those of its memory or its links between
GPUs; a recording of several machines shows what a network adds. Sizes are the recorded bytes, sums
are of float32, and the first member of a group is the root.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError, expected_got
from yantra.base.memory import free_bytes
from yantra.base.pytorch import torch_for
from yantra.base.text import count
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns, collective_name
from yantra.tracing.inspect.groups import WORLD, Groups, declared_groups, inferred_groups
from yantra.tracing.pytorch.in_memory import are_recordings, converted_job, job_of

WHERE = "yantra.tracing.replay.communication"
_MOST_RANKS = 64
_FULL = 0.5  # of free memory
_PATIENCE_S = 600
_MESSAGES = {NodeType.COMM_SEND: "send", NodeType.COMM_RECV: "recv"}


class _Call(NamedTuple):
    kind: str
    group: str
    bytes: int
    peer: int
    recorded_ns: int


class Row(NamedTuple):
    """Calls of a kind, size and number of ranks; mean ns, recorded from the last arrival on."""

    kind: str
    ranks: int
    bytes: int
    calls: int
    recorded_ns: float
    measured_ns: float
    reason: str

    @property
    def ratio(self) -> float | None:
        """Measured over recorded; None where either is missing."""
        return None if self.reason or not self.recorded_ns else self.measured_ns / self.recorded_ns


class Replayed(NamedTuple):
    """A replay of communication. `left_out`: calls of groups of one rank.

    `problems`: what may be wrong with the recordings.
    """

    backend: str
    ranks: int
    iterations: int
    rows: list[Row]
    left_out: int
    problems: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [row._asdict() | {"ratio": row.ratio} for row in self.rows]
        return self._asdict() | {"rows": rows}


def replay_communication(
    arguments: Sequence[str], *, iterations: int = 3, device: str = "cpu"
) -> Replayed:
    """Replay the collectives and messages of all ranks of a job, recorded or as Chakra traces.

    Raises ConfigError without all ranks or without their GPUs, UnsupportedError for more ranks or
    bytes than fit this machine.
    """
    calls, groups, problems = _calls(arguments)
    ranks = len(calls)
    torch = torch_for(WHERE)
    if not torch.distributed.is_available():
        raise ConfigError(WHERE, "this PyTorch has no torch.distributed; install one that has")
    backend = _backend(torch, device, ranks)
    largest = [max((one.bytes for one in some), default=0) for some in calls]
    needs = sum(size * (ranks + 1) for size in largest)
    if backend == "gloo" and needs > _FULL * free_bytes():
        raise UnsupportedError(f"{WHERE}: the buffers of {ranks} ranks take {needs / 1e9:.1f} GB")
    kept = [[one for one in some if one.peer >= 0 or len(groups[one.group]) > 1] for some in calls]
    times = _run(kept, groups, backend, iterations)
    left_out = sum(map(len, calls)) - sum(map(len, kept))
    return Replayed(backend, ranks, iterations, _rows(kept, times, groups), left_out, problems)


def _backend(torch: Any, device: str, ranks: int) -> str:
    if device == "cpu":
        return "gloo"
    if device != "cuda":
        raise ConfigError("device", expected_got("cpu (gloo) or cuda (NCCL)", device))
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if there < ranks:
        problem = f"NCCL needs a GPU for each of {ranks} ranks, and here are {there}; take cpu"
        raise ConfigError("device", problem)
    return "nccl"


def _calls(arguments: Sequence[str]) -> tuple[list[list[_Call]], Groups, list[str]]:
    groups: Groups = {}
    if are_recordings(arguments):
        made = converted_job(arguments)
        job, groups, problems = made.traces, dict(made.groups), made.problems
    else:
        job, problems = job_of(arguments)
    ranks = [one.rank for one in job]
    worlds = [int(value) for one in job for name, _, value, _ in one.trace.native.metadata
              if name == "world_size" and isinstance(value, int)]  # fmt: skip
    world = max([*worlds, len(job)])
    if ranks != list(range(world)) or world < 2:
        problem = (
            f"expected the traces of all {world} ranks, two or more, got {count(len(job), 'trace')}"
        )
        raise ConfigError(str(arguments[0]), problem)
    if world > _MOST_RANKS:
        raise UnsupportedError(f"{WHERE}: {world} ranks on one machine; expected at most 64")
    columns = {one.rank: Columns(one.trace) for one in job}
    groups = inferred_groups(columns) | groups
    for one in columns.values():
        groups |= {found.name: found.ranks for found in declared_groups(one)}
    groups[WORLD] = tuple(range(world))
    found = [_of_rank(columns[rank]) for rank in range(world)]
    if not any(found):
        raise ConfigError(str(arguments[0]), "has no collective and no message of known size")
    return found, groups, problems


def _of_rank(columns: Columns) -> list[_Call]:
    nodes = [
        node for node, kind in enumerate(columns.type)
        if kind == NodeType.COMM_COLL or kind in _MESSAGES
    ]  # fmt: skip
    extra = columns.extra
    nodes.sort(key=lambda node: (extra[node].start_ns or 0, columns.id[node]))
    return [_call(columns, node) for node in nodes]


def _call(columns: Columns, node: int) -> _Call:
    exact = columns.extra[node].duration_ns
    ns = columns.duration[node] * 1000 if exact is None else exact
    size = columns.comm_size[node] or 0
    kind = NodeType(columns.type[node])
    if kind == NodeType.COMM_COLL:
        name = collective_name(columns.comm_type[node]).lower()
        return _Call(name, columns.group[node], size, -1, ns)
    name = "comm_dst" if kind == NodeType.COMM_SEND else "comm_src"
    peer = columns.integers(name)[node]
    return _Call(_MESSAGES[kind], "", size, -1 if peer is None else peer, ns)


def _run(
    calls: list[list[_Call]], groups: Groups, backend: str, iterations: int
) -> list[list[Any]]:
    names = sorted({one.group for some in calls for one in some if one.group})
    place = {name: at for at, name in enumerate(names)}
    with TemporaryDirectory() as made:
        folder = Path(made)
        for rank, some in enumerate(calls):
            rows = [[one.kind, place.get(one.group, -1), one.bytes, one.peer] for one in some]
            program = {"backend": backend, "rank": rank, "ranks": len(calls), "calls": rows}
            program |= {"groups": [list(groups[name]) for name in names], "iterations": iterations}
            program |= {"store": str(folder / "store"), "output": str(folder / f"out.{rank}")}
            (folder / f"{rank}.json").write_text(json.dumps(program), encoding="utf-8")
        _wait(folder, len(calls))
        return [json.loads((folder / f"out.{rank}").read_text()) for rank in range(len(calls))]


def _wait(folder: Path, ranks: int) -> None:
    module = [sys.executable, "-m", "yantra.tracing.replay.worker"]
    children = []
    try:
        for rank in range(ranks):
            said = open(folder / f"{rank}.err", "wb")  # noqa: SIM115
            children.append(
                subprocess.Popen([*module, str(folder / f"{rank}.json")], stdout=said, stderr=said)
            )
            said.close()
        for rank, child in enumerate(children):
            if child.wait(timeout=_PATIENCE_S):
                lines = (folder / f"{rank}.err").read_text(errors="replace").strip().splitlines()
                why = lines[-1] if lines else f"status {child.returncode}"
                raise ConfigError(f"rank {rank}", f"its process ended: {why}")
    except subprocess.TimeoutExpired:
        problem = f"did not end in {_PATIENCE_S} s; the calls of the ranks may not fit together"
        raise ConfigError("replay", f"{problem} (yantra chakra validate)") from None
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
                child.wait()


def _rows(calls: list[list[_Call]], times: list[list[Any]], groups: Groups) -> list[Row]:
    """The k-th call of a group is one call of all members: shortest recorded, longest measured."""
    same: dict[tuple[str, str, int], list[tuple[_Call, Any]]] = defaultdict(list)
    for rank, some in enumerate(calls):
        seen: dict[tuple[str, str], int] = defaultdict(int)
        for one, measured in zip(some, times[rank], strict=True):
            ends = (rank, one.peer) if one.kind == "send" else (one.peer, rank)
            where = one.group or "{}-{}".format(*ends)
            name = "message" if one.peer >= 0 else one.kind
            same[name, where, seen[name, where]].append((one, measured))
            seen[name, where] += 1
    found: dict[tuple[str, int, int, str], list[tuple[int, int]]] = defaultdict(list)
    for (name, group, _), both in same.items():
        reason = next((said for _, said in both if isinstance(said, str)), "")
        measured = 0 if reason else max(ns for _, ns in both)
        ranks = len(groups[group]) if group in groups else 2
        key = name, ranks, max(one.bytes for one, _ in both), reason
        found[key].append((min(one.recorded_ns for one, _ in both), measured))
    rows = []
    for (name, ranks, size, reason), pairs in found.items():
        recorded = sum(pair[0] for pair in pairs) / len(pairs)
        measured = sum(pair[1] for pair in pairs) / len(pairs)
        rows.append(Row(name, ranks, size, len(pairs), recorded, measured, reason))
    return sorted(rows, key=lambda row: -row.recorded_ns * row.calls)
