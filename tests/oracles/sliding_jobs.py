"""Random loops with a clock beside them, which slides the moment at which a run is looked at."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.cases import cluster
from tests.oracles.folded_jobs import KINDS, Job, TemplateBuilder
from tests.oracles.repeated_jobs import collectives_of
from yantra.chakra import NodeType
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Device,
    RemoteMemory,
    Resources,
    Scenario,
    Topology,
    Traces,
)


class SlidingJob(Job):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.random
        self.pipelined = True
        self.stragglers = set()
        self.turns = draw.choice((10, 16, 24))
        self.work = draw.randrange(1, 9)
        self.slower = draw.choice((0, 1, 1, 2, 5))  # micros that a stage works longer
        self.clock = draw.randrange(1, 30)
        self.beside = [self._thing() for _ in range(draw.randrange(1, 4))]
        self.prioritised = draw.random() < 0.3
        self.tag_step = draw.choice((0, 1, 16))
        self.held = draw.random() < 0.1  # a receive that is posted first and waits to the end

    def _axes(self) -> list[int]:
        draw = self.random
        return [draw.choice((2, 2, 3, 4)), draw.choice((1, 2, 2, 3)), draw.choice((1, 2, 2, 3))]

    def _thing(self) -> dict[str, Any]:
        draw = self.random
        return {
            "what": draw.choice(("collective", "collective", "collective", "message", "memory")),
            "kind": draw.choice(KINDS),
            "axis": draw.choice((-1, -1, 0, 1, 2, 3, 4, 5)),
            "size": draw.choice((777, 40_000, 400_000, 1_000_000)),
            "by": draw.choice((1, -1)),
            "awaited": draw.random() < 0.7,  # by the next turn
            "after": draw.random() < 0.8,  # the work of its turn
            "priority": draw.randrange(3),
        }

    def write(self, trace: TemplateBuilder, rank: int) -> None:
        stage = self.coordinate(rank, 2)
        last: list[Any] = [trace.compute(duration_micros=1)]
        if self.held:
            trace.end(NodeType.COMM_RECV, "0-1", 55, 999, ())
        for turn in range(self.turns):
            work = trace.compute(duration_micros=self.work + self.slower * stage, after=last)
            following = [trace.compute(duration_micros=self.clock, after=work)]
            for tag, thing in enumerate(self.beside):
                after = [work] if thing["after"] else last
                made = self._made(trace, rank, thing, after, tag + self.tag_step * turn)
                if made is not None and thing["awaited"]:
                    following.append(made)
            last = following
        if self.held:
            trace.end(NodeType.COMM_SEND, "0+1", 55, 999, last)

    def _made(
        self, trace: TemplateBuilder, rank: int, thing: dict[str, Any], after: Any, tag: int
    ) -> Any:
        axis, what = thing["axis"], thing["what"]
        if what == "memory":
            return trace.memory_load(thing["size"], after=after)
        if what == "message":
            axis = axis % 3
            if self.axes[axis] == 1:
                return None
            ends = f"{axis}{thing['by']:+}", f"{axis}{-thing['by']:+}"
            return trace.message(*ends, thing["size"], tag, after)
        if axis >= 0 and rank not in self.lines[axis]:
            return None
        return trace.collective(
            thing["kind"],
            thing["size"],
            group=None if axis < 0 else f"line{axis}",
            priority=thing["priority"] if self.prioritised else None,
            after=after,
        )


def _topology(job: SlidingJob, draw: Random) -> Topology:
    kinds = [(draw.choice(("ring", "fully_connected", "switch")), n) for n in job.axes if n > 1]
    return cluster(*((kind, n, draw.uniform(5, 60), draw.uniform(50, 900)) for kind, n in kinds))


def sliding_cases(seed: int, count: int = 1) -> list[Scenario]:
    job = SlidingJob(seed)
    workload = Traces(traces=job.traces(), groups=tuple(enumerate(job.groups, start=1)))
    made = []
    for at in range(count):
        draw = Random(f"{seed} {at}")
        topology = _topology(job, draw)
        upstream = draw.random() < 0.3
        collectives = collectives_of(draw, topology, upstream)
        if job.prioritised and draw.random() < 0.7:
            collectives = collectives.replace(priority="explicit")
        own_slots = draw.random() < 0.7 and not upstream
        made.append(
            Scenario(
                workload=workload,
                topology=topology,
                semantics="astra-sim" if upstream else "yantra",
                resources=Resources() if own_slots else ASTRA_SIM_RESOURCES,
                collectives=collectives,
                memory=RemoteMemory(kind="per_npu", latency_ns=50, bytes_per_ns=3.0),
                device=Device(memory_bytes_per_s=draw.choice((0.0, 1e11))),
            )
        )
    return made
