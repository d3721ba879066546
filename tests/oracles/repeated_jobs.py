"""Random jobs that repeat: blocks of collectives, stamped again and again as micro-batches are."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

from tests.oracles.folded_jobs import KINDS, Job, TemplateBuilder, topology_of
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Device,
    RemoteMemory,
    Resources,
    Scenario,
    Topology,
    Traces,
)

WHAT = ("compute", "compute", "collective", "collective", "collective", "message", "memory")


class RepeatedJob(Job):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.random
        self.stragglers = set()
        self.before = [self._node(at) for at in range(draw.randrange(3))]
        self.block = [self._node(at) for at in range(draw.randrange(2, 9))]
        self.after = [self._node(at) for at in range(draw.randrange(3))]
        self.repeats = draw.choice((1, 2, 5, 12, 30))
        self.in_order = draw.random() < 0.5
        self.tag_step = draw.choice((0, 16))

    def _node(self, at: int) -> dict[str, Any]:
        draw = self.random
        return {
            "what": draw.choice(WHAT),
            "kind": draw.choice(KINDS),
            "axis": draw.randrange(-1, 6),
            "size": draw.choice((1, 777, 4096, 100_000)),
            "micros": draw.randrange(1, 20),
            "by": draw.choice((1, -1)),
            "tag": at,
            "after": [draw.randrange(1, 6) for _ in range(draw.choice((1, 1, 2)))],
        }

    def write(self, trace: TemplateBuilder, rank: int) -> None:
        made: list[Any] = []
        self._stamp(trace, rank, self.before, made, 0)
        for repeat in range(self.repeats):
            self._stamp(trace, rank, self.block, made, 100 + self.tag_step * repeat)
        self._stamp(trace, rank, self.after, made, 50)

    def _stamp(
        self,
        trace: TemplateBuilder,
        rank: int,
        block: list[dict[str, Any]],
        made: list[Any],
        tag: int,
    ) -> None:
        for node in block:
            back = [1] if self.in_order else node["after"]
            after = tuple(made[-by] for by in dict.fromkeys(back) if by <= len(made))
            done = self._write_node(trace, rank, node, after, tag + node["tag"])
            if done is not None:
                made.append(done)

    def _write_node(
        self, trace: TemplateBuilder, rank: int, node: dict[str, Any], after: Any, tag: int
    ) -> Any:
        axis, what = node["axis"], node["what"]
        stage = self.coordinate(rank, 2) if self.pipelined else 0
        if what == "compute":
            return trace.compute(duration_micros=node["micros"] + stage, after=after)
        if what == "memory":
            return trace.memory_load(node["size"], after=after)
        if what == "collective" and axis < 0:
            return trace.collective(node["kind"], node["size"], after=after)
        if what == "collective" and rank in self.lines[axis]:
            name = f"line{axis}"
            return trace.collective(node["kind"], node["size"], group=name, after=after)
        if what == "message" and 0 <= axis < 3 and self.axes[axis] > 1:
            there, back = f"{axis}{node['by']:+}", f"{axis}{-node['by']:+}"
            return trace.message(there, back, node["size"], tag, after)
        return None


def _algorithms(draw: Random, topology: Topology, kind: str, upstream: bool) -> tuple[str, ...]:
    if upstream and draw.random() < 0.1:
        one = draw.choice(("oneRing", "oneDirect", "oneDirect2"))
        return (one,) * len(topology.dimensions)
    names = []
    for dimension in topology.dimensions:
        choices = ["ring", "ring", "direct", "direct1", "direct2", "direct3"]
        if kind != "all_to_all" and dimension.size in (2, 4, 8, 16):
            choices += ["halvingDoubling" if upstream else "halving_doubling"] * 2
        names.append(draw.choice(choices))
    if kind == "all_to_all" and draw.random() < 0.5:
        return ("direct",) * len(names)
    return tuple(names)


def collectives_of(draw: Random, topology: Topology, upstream: bool) -> Collectives:
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    return Collectives(
        **{kind: _algorithms(draw, topology, kind, upstream) for kind in kinds},
        chunks=draw.choice((1, 1, 2, 3, 4, 7, 16)),
        active_chunks=draw.choice((1, 1, 2, 3, 4)),
        queues_per_dimension=draw.choice((1, 1, 2, 4)),
        endpoint_delay_ns=draw.choice((0, 1, 10)),
        priority=draw.choice(("lifo", "fifo")),
        all_reduce_shape=draw.choice(("local_bw_aware", "baseline")),
        inter_dimension=draw.choice(("ascending", "ascending", "round_robin")),
        intra_dimension=draw.choice(("fifo", "fifo", "rg", "smallest_first")),
    )


def repeated_case(seed: int) -> Scenario:
    job = RepeatedJob(seed)
    draw = job.random
    topology = topology_of(job)
    upstream = draw.random() < 0.5
    resources = Resources() if draw.random() < 0.5 and not upstream else ASTRA_SIM_RESOURCES
    groups = tuple(enumerate(job.groups, start=1)) if prod(job.axes) > 1 else ()
    return Scenario(
        workload=Traces(traces=job.traces(), groups=groups),
        topology=topology,
        collectives=collectives_of(draw, topology, upstream),
        semantics="astra-sim" if upstream else "yantra",
        resources=resources,
        memory=RemoteMemory(kind="per_npu", latency_ns=50, bytes_per_ns=3.0),
        device=Device(memory_bytes_per_s=draw.choice((0.0, 1e11))),
    )
