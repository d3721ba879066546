"""Random pipelines: stages that pass micro-batches on and back, with collectives in each stage."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.oracles.folded_jobs import KINDS, Job, TemplateBuilder, topology_of
from tests.oracles.repeated_jobs import collectives_of
from yantra.chakra import NodeType
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Device,
    RemoteMemory,
    Resources,
    Scenario,
    Traces,
)


class PipelinedJob(Job):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.random
        self.pipelined = True
        self.stragglers = set()
        self.batches = draw.choice((3, 8, 20, 40))
        self.ahead = draw.choice((0, 1, 2, 100))  # micro-batches a stage works on beyond its depth
        self.returns = draw.random() < 0.6
        self.early = draw.choice((0, 1, 3))  # micro-batches that a receive is posted before
        self.tag_step = draw.choice((0, 1, 16))
        self.bytes = draw.choice((1, 1000, 100_000))
        self.slower = draw.choice((0, 0, 1, 3))  # micros a stage takes more than the one before
        self.forward = [self._work() for _ in range(draw.randrange(1, 4))]
        self.backward = [self._work() for _ in range(draw.randrange(1, 4))]
        self.last = [self._work() for _ in range(draw.randrange(3))]
        self.prioritised = draw.random() < 0.3
        self.every = draw.choice((1, 1, 2, 3))  # micro-batches that share collectives

    def _axes(self) -> list[int]:
        draw = self.random
        return [draw.choice((2, 2, 3, 4)), draw.choice((1, 1, 2)), draw.choice((1, 2, 2, 3, 4))]

    def _work(self) -> dict[str, Any]:
        draw = self.random
        return {
            "what": draw.choice(("compute", "compute", "collective", "collective", "memory")),
            "kind": draw.choice(KINDS),
            "axis": draw.choice((0, 0, 1, 1, 3)),
            "size": draw.choice((1, 777, 4096, 100_000)),
            "micros": draw.randrange(1, 20),
            "apart": draw.random() < 0.3,  # nothing waits for it
            "priority": draw.randrange(3),
        }

    def write(self, trace: TemplateBuilder, rank: int) -> None:
        stage, stages = self.coordinate(rank, 2), self.axes[2]
        warm = min(self.batches, stages - 1 - stage + self.ahead)
        order = [("forward", at) for at in range(warm)]
        for at in range(self.batches):
            if at + warm < self.batches:
                order.append(("forward", at + warm))
            order.append(("backward", at))
        ends: dict[str, list[Any]] = {"forward": [], "backward": []}
        last: Any = ()
        for way, at in order:
            if way == "forward" or self.returns:
                last = self._batch(trace, stage, way, at, last, ends[way])
        for work in self.last:
            last = self._done(trace, stage, work, last) or last

    def _batch(
        self, trace: TemplateBuilder, stage: int, way: str, at: int, last: Any, ends: list[Any]
    ) -> Any:
        by = 1 if way == "forward" else -1
        tag = self.tag_step * at + (7 if way == "backward" else 0)
        after = [last] if last else []
        if 0 <= stage - by < self.axes[2]:
            since = ends[-1 - self.early :][:1] if self.early else after
            got = trace.end(NodeType.COMM_RECV, f"2{-by:+}", self.bytes, tag, since)
            after.append(got)
        done: Any = after
        for work in self.forward if way == "forward" else self.backward:
            if work["what"] == "collective" and at % self.every:
                continue
            made = self._done(trace, stage, work, done)
            done = done if made is None or work["apart"] else [made]
        if 0 <= stage + by < self.axes[2]:
            trace.end(NodeType.COMM_SEND, f"2{by:+}", self.bytes, tag, done)
        ends.append(done[-1] if done else ())
        return done[-1] if done else ()

    def _done(self, trace: TemplateBuilder, stage: int, work: dict[str, Any], after: Any) -> Any:
        if work["what"] == "compute":
            return trace.compute(duration_micros=work["micros"] + self.slower * stage, after=after)
        if work["what"] == "memory":
            return trace.memory_load(work["size"], after=after)
        axis = work["axis"]
        if not self.lines[axis]:
            return None
        priority = work["priority"] if self.prioritised else None
        return trace.collective(
            work["kind"], work["size"], group=f"line{axis}", priority=priority, after=after
        )


def settings_of(job: Job, draw: Random) -> dict[str, Any]:
    job.random = draw
    topology = topology_of(job)
    upstream = draw.random() < 0.5
    own_slots = draw.random() < 0.5 and not upstream
    collectives = collectives_of(draw, topology, upstream)
    if getattr(job, "prioritised", False) and draw.random() < 0.7:
        collectives = collectives.replace(priority="explicit")
    return {
        "topology": topology,
        "semantics": "astra-sim" if upstream else "yantra",
        "resources": Resources() if own_slots else ASTRA_SIM_RESOURCES,
        "collectives": collectives,
        "memory": RemoteMemory(kind="per_npu", latency_ns=50, bytes_per_ns=3.0),
        "device": Device(memory_bytes_per_s=draw.choice((0.0, 1e11))),
    }


def pipelined_cases(seed: int, count: int = 1) -> list[Scenario]:
    job = PipelinedJob(seed)
    workload = Traces(traces=job.traces(), groups=tuple(enumerate(job.groups, start=1)))
    settings = [settings_of(job, Random(f"{seed} {at}")) for at in range(count)]
    return [Scenario(workload=workload, **parts) for parts in settings]


def pipelined_case(seed: int) -> Scenario:
    return pipelined_cases(seed)[0]
