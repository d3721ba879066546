"""Random jobs with equal ranks among them: pipelines of stages, groups along axes, stragglers."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

from tests.cases import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, cluster
from yantra.chakra import Node, NodeType, Trace, TraceBuilder
from yantra.chakra.relative import Meaning, resolve
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

KINDS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
BLOCKS = ("ring", "fully_connected", "switch")
Groups = tuple[tuple[int, tuple[int, ...]], ...]


class TemplateBuilder(TraceBuilder):
    def message(self, peer: str, back: str, size: int, tag: int, after: Any) -> Node:
        self.end(NodeType.COMM_SEND, peer, size, tag, after)
        return self.end(NodeType.COMM_RECV, back, size, tag, after)

    def end(self, type: NodeType, peer: str, size: int, tag: int, after: Any) -> Node:
        names = {"comm_peer": peer, "comm_size": size, "comm_tag": tag}
        return self._new(type, type.name.lower(), after, is_cpu_op=False, **names)


class Job:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        draw = self.random
        self.axes = self._axes()
        self.ranks = prod(self.axes)
        self.groups: list[tuple[int, ...]] = []
        self.lines = [self._lines(axes) for axes in ((0,), (1,), (2,), (0, 1), (1, 2))]
        self.lines.append(self._ends())
        self.steps = [self._step() for _ in range(draw.randrange(2, 9))]
        self.stragglers = {
            rank for rank in range(self.ranks) if draw.random() < draw.choice((0.0, 0.0, 0.1))
        }
        self.pipelined = draw.random() < 0.5

    def _axes(self) -> list[int]:
        axes = [self.random.choice((1, 2, 2, 3, 4)) for _ in range(3)]
        return [4, *axes[1:]] if prod(axes) < 4 else axes

    def coordinate(self, rank: int, axis: int) -> int:
        return rank // prod(self.axes[:axis]) % self.axes[axis]

    def moved(self, rank: int, axis: int, by: int) -> int:
        stride = prod(self.axes[:axis])
        at = self.coordinate(rank, axis)
        return rank + ((at + by) % self.axes[axis] - at) * stride

    def _lines(self, axes: tuple[int, ...]) -> dict[int, int]:
        ids: dict[int, int] = {}
        for rank in range(self.ranks):
            if rank in ids or prod(self.axes[axis] for axis in axes) == 1:
                continue
            members = [rank]
            for axis in axes:
                places = range(self.axes[axis])
                members = [self.moved(member, axis, by) for by in places for member in members]
            self.groups.append(tuple(members))
            ids |= dict.fromkeys(members, len(self.groups))
        return ids

    def _ends(self) -> dict[int, int]:
        ids: dict[int, int] = {}
        last = self.axes[2] - 1
        for rank in range(self.ranks):
            if last > 0 and self.coordinate(rank, 2) == 0:
                self.groups.append((rank, self.moved(rank, 2, last)))
                ids |= dict.fromkeys(self.groups[-1], len(self.groups))
        return ids

    def _step(self) -> dict[str, Any]:
        draw = self.random
        return {
            "what": draw.choice(("compute", "collective", "collective", "message", "memory")),
            "kind": draw.choice(KINDS),
            "axis": draw.randrange(-1, 6),
            "size": draw.choice((1, 777, 4096, 100_000)),
            "micros": draw.randrange(1, 20),
            "by": draw.choice((1, -1)),
            "alone": draw.random() < 0.3,
        }

    def traces(self) -> tuple[Trace, ...]:
        templates: dict[Any, Trace] = {}
        made = []
        for rank in range(self.ranks):
            stage = self.coordinate(rank, 2) if self.pipelined else 0
            kind = stage, rank in self.stragglers, *(rank in line for line in self.lines)
            if kind not in templates:
                builder = TemplateBuilder()
                self.write(builder, rank)
                templates[kind] = builder.build()
            groups = {f"line{at}": line.get(rank, 0) for at, line in enumerate(self.lines)}
            peers = {
                f"{axis}{by:+}": self.moved(rank, axis, by) for axis in range(3) for by in (1, -1)
            }
            made.append(resolve(templates[kind], Meaning(rank, groups, peers)))
        return tuple(made)

    def write(self, trace: TemplateBuilder, rank: int) -> None:
        last: Any = ()
        stage = self.coordinate(rank, 2) if self.pipelined else 0
        for tag, step in enumerate(self.steps):
            axis, what = step["axis"], step["what"]
            after = () if step["alone"] and what == "compute" else last
            if what == "compute":
                extra = 7 if rank in self.stragglers else 0
                last = trace.compute(duration_micros=step["micros"] + stage + extra, after=after)
            elif what == "memory":
                last = trace.memory_load(step["size"], after=after)
            elif what == "collective" and axis < 0:
                last = trace.collective(step["kind"], step["size"], after=after)
            elif what == "collective" and rank in self.lines[axis]:
                name = f"line{axis}"
                last = trace.collective(step["kind"], step["size"], group=name, after=after)
            elif what == "message" and 0 <= axis < 3 and self.axes[axis] > 1:
                there, back = f"{axis}{step['by']:+}", f"{axis}{-step['by']:+}"
                last = trace.message(there, back, step["size"], tag, after)


def topology_of(job: Job) -> Topology:
    draw = job.random
    sizes = [size for size in job.axes if size > 1]
    if draw.random() < 0.3:
        sizes = [job.ranks]
    elif draw.random() < 0.3:
        draw.shuffle(sizes)
    return cluster(
        *(
            (
                draw.choice(BLOCKS if len(sizes) > 1 else (*BLOCKS, "mesh")),
                size,
                draw.choice((0.7, 8.0, 53.6870912)),
                draw.choice((0.0, 12.25, 500.0)),
            )
            for size in sizes
        )
    )


def _algorithm(draw: Random, topology: Topology, upstream: bool) -> str:
    halving = "halvingDoubling" if upstream else "halving_doubling"
    fits = all(dimension.size in (2, 4, 8, 16) for dimension in topology.dimensions)
    return draw.choice(("ring", "ring", "direct", "direct2", halving if fits else "ring"))


def folded_case(seed: int) -> Scenario:
    job = Job(seed)
    draw = job.random
    topology = topology_of(job)
    upstream = draw.random() < 0.5
    name = (_algorithm(draw, topology, upstream),) * len(topology.dimensions)
    collectives = Collectives(
        all_reduce=name,
        all_gather=name,
        reduce_scatter=name,
        all_to_all=("direct",) * len(name) if "alving" in name[0] else name,
        chunks=draw.randrange(1, 5),
        active_chunks=draw.choice((1, 1, 2, 3)),
        queues_per_dimension=draw.choice((1, 1, 2)),
        endpoint_delay_ns=draw.choice((0, 10)),
        priority=draw.choice(("lifo", "fifo")),
        all_reduce_shape=draw.choice(("local_bw_aware", "baseline")),
        inter_dimension=draw.choice(("ascending", "ascending", "round_robin")),
        intra_dimension=draw.choice(("fifo", "fifo", "rg", "smallest_first")),
    )
    resources = Resources() if draw.random() < 0.5 and not upstream else ASTRA_SIM_RESOURCES
    return Scenario(
        workload=Traces(traces=job.traces(), groups=tuple(enumerate(job.groups, start=1))),
        topology=topology,
        collectives=collectives,
        semantics="astra-sim" if upstream else "yantra",
        resources=resources,
        memory=RemoteMemory(kind="per_npu", latency_ns=50, bytes_per_ns=3.0),
        device=Device(memory_bytes_per_s=draw.choice((0.0, 1e11))),
    )
