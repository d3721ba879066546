"""Recordings of training jobs with known truth, as Kineto traces of each rank.

Every rank runs kernels, then a collective of its pair and one of all; each ends for all members
when the last has come and the bytes have moved. `Plan` says what is wrong and with which clocks.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

HOST, COMPUTE, NETWORK = 7, 7, 20  # thread, streams
LAUNCH_US = 4.0
LOAD = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
US_OF_ALL = 120.0  # of a collective of all ranks, once all have come
BYTES = 16 << 20


class Plan(NamedTuple):
    """A job. `late`: (kind, rank, from step, factor or us), kind one of kernels, host, loader,
    gap (nothing recorded), stall (the same, before a batch).
    `slow_pair`: (pair, factor, from step). `apart_ns`: how far clocks are apart; `drift`: how they
    drift.
    """

    ranks: int = 4
    steps: int = 3
    layers: int = 3
    seed: int = 0
    late: tuple[str, int, int, float] | None = None
    slow_pair: tuple[int, float, int] | None = None
    slow_all: float = 1.0
    apart_ns: int = 0
    drift: float = 0.0


class _Rank:
    def __init__(self, plan: Plan, rank: int, draw: random.Random) -> None:
        self.plan, self.rank, self.draw = plan, rank, draw
        self.events: list[dict[str, Any]] = []
        self.now = draw.uniform(0.0, 50.0)  # us of the true clock
        self.free = {COMPUTE: 0.0, NETWORK: 0.0}
        self.number = 0
        self.offset_us = draw.uniform(-plan.apart_ns, plan.apart_ns) / 1000
        self.rate = 1.0 + draw.uniform(-plan.drift, plan.drift)

    def add(self, cat: str, name: str, start: float, dur: float, tid: int, **args: Any) -> None:
        start, dur = self.clock(start), max(0.001, dur)
        self.events.append(
            {
                "ph": "X",
                "cat": cat,
                "name": name,
                "pid": 0 if cat == "kernel" else HOST,
                "tid": tid,
                "ts": round(start, 3),
                "dur": round(dur, 3),
                "args": args,
            }
        )

    def clock(self, us: float) -> float:
        return 1e8 + us * self.rate + self.offset_us

    def host(self, name: str, dur: float) -> None:
        self.number += 1
        self.add("cpu_op", name, self.now, dur, HOST, **{"Record function id": self.number})
        self.now += dur + 1.0

    def launch(self, name: str, kernel: str, dur: float, stream: int, ready: float) -> float:
        """Launch a kernel from an operator; return when it starts."""
        self.number += 1
        number = self.number
        args = {"Record function id": number, "External id": number}
        self.add("cpu_op", name, self.now, 3 * LAUNCH_US, HOST, **args)
        at = self.now + LAUNCH_US
        self.add("cuda_runtime", "cudaLaunchKernel", at, LAUNCH_US, HOST, correlation=number)
        start = max(at + 2 * LAUNCH_US, self.free[stream], ready)
        self.now += 3 * LAUNCH_US + 1.0
        if dur:
            self.kernel(kernel, start, dur, stream, number)
        return start

    def kernel(
        self, name: str, start: float, dur: float, stream: int, number: int, **args: Any
    ) -> None:
        self.free[stream] = start + dur
        args |= {"device": 0, "stream": stream, "correlation": number}
        self.add("kernel", name, start, dur, stream, **args)

    def factor(self, kind: str, step: int) -> float:
        late = self.plan.late
        is_late = late and late[:2] == (kind, self.rank) and step >= late[2]
        return late[3] if late and is_late else 0.0


def job(plan: Plan) -> list[dict[str, Any]]:
    """Return the recording of each rank as a Kineto trace."""
    draw = random.Random(plan.seed)
    ranks = [_Rank(plan, rank, random.Random(draw.random())) for rank in range(plan.ranks)]
    for step in range(plan.steps):
        began = [one.now for one in ranks]
        for one in ranks:
            noise = one.draw.lognormvariate(0.0, 0.05)
            one.now += one.factor("stall", step)
            one.host(LOAD, 40.0 * noise + one.factor("loader", step))
        for layer in range(plan.layers):
            for one in ranks:
                _layer(one, step, layer)
            for pair in range(plan.ranks // 2):
                members = ranks[2 * pair : 2 * pair + 2]
                _meet(plan, members, f"{1 + pair}", draw, _slower(plan, pair, step))
            if layer == plan.layers - 1:
                _meet(plan, ranks, "0", draw, plan.slow_all)
        for one, begin in zip(ranks, began, strict=True):
            _end(one, step, begin)
    return [_form(one, ranks) for one in ranks]


def write(plan: Plan, folder: Path) -> str:
    """Write a job's recordings; return their pattern."""
    for rank, form in enumerate(job(plan)):
        (folder / f"rank{rank}.json").write_text(json.dumps(form))
    return str(folder / "rank{rank}.json")


def _layer(one: _Rank, step: int, layer: int) -> None:
    if layer == 0:
        one.now += one.factor("gap", step)
    if held := one.factor("host", step):
        one.host("aten::unique", held)
    took = 150.0 * one.draw.lognormvariate(0.0, 0.01) * (1.0 + one.factor("kernels", step))
    one.launch("aten::mm", "ampere_sgemm_128x64_tn", took, COMPUTE, 0.0)
    one.launch("aten::relu", "elementwise_kernel<relu>", 20.0, COMPUTE, 0.0)


def _slower(plan: Plan, pair: int, step: int) -> float:
    slow, factor, since = plan.slow_pair or (-1, 1.0, 0)
    return factor if pair == slow and step >= since else 1.0


def _meet(plan: Plan, members: list[_Rank], group: str, draw: random.Random, slower: float) -> None:
    took = (US_OF_ALL if group == "0" else 60.0) * slower
    name = (
        f"ncclDevKernel_{'AllReduce_Sum_f32_RING_LL128' if group == '0' else 'AllGather_RING_LL'}"
    )
    took *= draw.lognormvariate(0.0, 0.02)
    starts = [
        one.launch(f"nccl:{'all_reduce' if group == '0' else 'all_gather'}", name, 0.0, NETWORK,
                   one.free[COMPUTE])
        for one in members
    ]  # fmt: skip
    end = max(starts) + took
    for one, start in zip(members, starts, strict=True):
        left = end + draw.uniform(0.0, 3.0)
        one.kernel(f"{name}(ncclDevComm*)", start, left - start, NETWORK, one.number,
                   **_about(group, members))  # fmt: skip
        one.free[COMPUTE] = max(one.free[COMPUTE], one.free[NETWORK])


def _about(group: str, members: list[_Rank]) -> dict[str, Any]:
    nelems = BYTES // 4
    is_all = group == "0"
    return {
        "Collective name": "allreduce" if is_all else "allgather",
        "In msg nelems": nelems,
        "Out msg nelems": nelems if is_all else nelems * len(members),
        "dtype": "Float",
        "Group size": len(members),
        "Process Group Name": group,
        "Process Group Ranks": str([one.rank for one in members]),
    }


def _end(one: _Rank, step: int, begin: float) -> None:
    one.number += 1
    until = max(one.now + 2.0, one.free[NETWORK] + 1.0, one.free[COMPUTE] + 1.0)
    one.add(
        "cuda_runtime", "cudaDeviceSynchronize", one.now, until - one.now, HOST,
        correlation=one.number,
    )  # fmt: skip
    one.now = until + 2.0
    one.add("user_annotation", f"ProfilerStep#{step}", begin, one.now - begin, HOST,
            **{"Record function id": 10_000_000 + step})  # fmt: skip
    one.now += 3.0


def _form(one: _Rank, ranks: list[_Rank]) -> dict[str, Any]:
    groups = {"0": list(range(len(ranks)))}
    groups |= {f"{1 + at}": [2 * at, 2 * at + 1] for at in range(len(ranks) // 2)}
    config = [
        {"pg_name": name, "pg_desc": "", "backend_config": "nccl", "pg_size": len(members),
         "ranks": members}
        for name, members in groups.items()
    ]  # fmt: skip
    return {
        "deviceProperties": [{"id": 0, "name": "Test GPU"}],
        "distributedInfo": {
            "backend": "nccl",
            "rank": one.rank,
            "world_size": len(ranks),
            "pg_config": config,
        },
        "baseTimeNanoseconds": 0,
        "traceEvents": one.events,
    }
