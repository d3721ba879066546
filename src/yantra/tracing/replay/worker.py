"""One rank of a replay of communication: a process of its own, started by `communication.py`.

    python -m yantra.tracing.replay.worker PROGRAM.json

The program holds kinds, groups, bytes and peers and no names, so nothing of a trace decides what
code runs. Before each collective its members meet in a barrier, so that waiting for a late rank is
not measured; messages that follow each other are posted together and awaited in order.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from statistics import median
from time import perf_counter_ns
from typing import Any

_SUMS = ("all_reduce", "reduce", "reduce_scatter")
_LONGEST_REASON = 200
_PATIENCE = timedelta(seconds=60)


class _Rank:
    def __init__(self, program: dict[str, Any]) -> None:
        import torch
        from torch import distributed

        torch.set_num_threads(1)
        self.torch, self.dist = torch, distributed
        self.rank, self.calls = program["rank"], program["calls"]
        self.device = f"cuda:{self.rank}" if program["backend"] == "nccl" else "cpu"
        if self.device != "cpu":
            torch.cuda.set_device(self.rank)
        distributed.init_process_group(
            program["backend"],
            init_method=f"file://{program['store']}",
            rank=self.rank,
            world_size=program["ranks"],
            timeout=_PATIENCE,
        )
        self.members = program["groups"]
        self.groups = [distributed.new_group(one, timeout=_PATIENCE) for one in self.members]
        self.reasons: dict[int, str] = {}

    def run(self, iterations: int) -> list[Any]:
        times: list[list[int]] = [[] for _ in self.calls]
        for turn in range(iterations + 1):
            at = 0
            while at < len(self.calls):
                end = self._messages(at)
                for place, taken in self._batch(at, end) if end > at else [(at, self._once(at))]:
                    if turn and taken is not None:
                        times[place].append(taken)
                at = max(end, at + 1)
        self.dist.barrier()
        return [
            self.reasons.get(at, "no time") if not one else round(median(one))
            for at, one in enumerate(times)
        ]

    def _messages(self, at: int) -> int:
        while at < len(self.calls) and self.calls[at][0] in ("send", "recv"):
            at += 1
        return at

    def _batch(self, begin: int, end: int) -> list[tuple[int, int]]:
        posted = []
        for at in range(begin, end):
            kind, _, size, peer = self.calls[at]
            tensor = self.torch.ones(max(1, size), dtype=self.torch.uint8, device=self.device)
            act = self.dist.isend if kind == "send" else self.dist.irecv
            posted.append((at, perf_counter_ns(), act(tensor, peer)))
        found = []
        for at, start, work in posted:
            work.wait()
            self._finish()
            found.append((at, perf_counter_ns() - start))
        return found

    def _once(self, at: int) -> int | None:
        if at in self.reasons:
            return None
        kind, group, size, _ = self.calls[at]
        made = self._made(kind, size, len(self.members[group]))
        self.dist.barrier(group=self.groups[group])
        start = perf_counter_ns()
        try:
            self._collective(kind, group, made)
        except (RuntimeError, NotImplementedError, ValueError) as error:  # alike on all ranks
            self.reasons[at] = str(error).split("\n", 1)[0][:_LONGEST_REASON]
            return None
        self._finish()
        return perf_counter_ns() - start

    def _finish(self) -> None:
        if self.device != "cpu":
            self.torch.cuda.synchronize()

    def _made(self, kind: str, size: int, ranks: int) -> tuple[Any, Any]:
        """Input and output of a call; sizes that do not divide are rounded up."""
        torch = self.torch
        dtype = torch.float32 if kind in _SUMS else torch.uint8
        count = max(1, -(-size // dtype.itemsize))
        if kind in ("reduce_scatter", "all_to_all", "scatter"):
            count = -(-count // ranks) * ranks
        given = torch.ones(count, dtype=dtype, device=self.device)
        wide = {"all_gather": count * ranks, "gather": count * ranks, "all_to_all": count}
        got = wide.get(kind, count // ranks if kind in ("reduce_scatter", "scatter") else 0)
        return given, torch.empty(got, dtype=dtype, device=self.device)

    def _collective(self, kind: str, at: int, made: tuple[Any, Any]) -> None:
        dist, group = self.dist, self.groups[at]
        given, got = made
        root = self.members[at][0]
        parts = len(self.members[at])
        is_root = self.rank == root
        if kind == "all_reduce":
            dist.all_reduce(given, group=group)
        elif kind == "reduce":
            dist.reduce(given, root, group=group)
        elif kind == "broadcast":
            dist.broadcast(given, root, group=group)
        elif kind == "all_gather":
            dist.all_gather(list(got.chunk(parts)), given, group=group)
        elif kind == "gather":
            dist.gather(given, list(got.chunk(parts)) if is_root else None, root, group=group)
        elif kind == "scatter":
            dist.scatter(got, list(given.chunk(parts)) if is_root else None, root, group=group)
        elif kind == "reduce_scatter":
            dist.reduce_scatter_tensor(got, given, group=group)
        elif kind == "all_to_all":
            dist.all_to_all_single(got, given, group=group)
        else:
            dist.barrier(group=group)


def main() -> int:
    """Run the program that the first argument names; write times in ns, or reasons."""
    with open(sys.argv[1], encoding="utf-8") as file:
        program = json.load(file)
    rank = _Rank(program)
    found = rank.run(program["iterations"])
    with open(program["output"], "w", encoding="utf-8") as file:
        json.dump(found, file)
    rank.dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
