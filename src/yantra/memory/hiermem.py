"""HierMem: a pool behind two levels of switches, for remote loads or in-switch collectives.

Groups of remote memory link to every out-node switch, these to each node's switch, that to its
GPUs. A tensor of every GPU moves in chunks over these three hops. With `lockstep` a stage lasts as
long as its slowest hop (the paper's formula); without, a hop starts when it has a chunk, and
overlapping accesses queue. Trade-off: chunks of equal ranks move together; loads and stores share
links. Source: Won et al., "ASTRA-sim2.0: Modeling Hierarchical Networks and Disaggregated Systems
for Large-model Training at Scale", ISPASS 2023, section IV-D, figures 5 to 8; fewer than two
stages, or a part of a chunk, follow the pipeline's law.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice, Flag, Quantity, Section, Whole
from yantra.base.records import Record
from yantra.memory.model import Accesses, Hop, MemoryModel, Pipeline, Speeds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

Mode = Literal["remote", "in_switch"]


class Options(Record):
    """The pool and the way to it; bandwidths are of one link and direction."""

    gpus: int
    nodes: int
    memory_groups: int
    out_switches: int
    gpu_side_bytes_per_ns: float
    in_node_bytes_per_ns: float
    chunk_bytes: int = 1 << 20
    mode: Mode = "remote"
    lockstep: bool = True


class Stage(NamedTuple):
    """Nanoseconds of a whole stage on each hop."""

    memory: float
    gpu_side: float
    in_node: float


class HierMem(MemoryModel):
    """Remote memory behind switches, in lock step or free running."""

    example: ClassVar[Mapping[str, Any]] = {
        "gpus": 256,
        "nodes": 16,
        "memory_groups": 8,
        "out_switches": 4,
        "gpu_side_bytes_per_ns": 100.0,
        "in_node_bytes_per_ns": 256.0,
    }

    options = Section(
        Options,
        {
            "gpus": ("gpus", Whole(1), "GPUs that load or store together"),
            "nodes": ("nodes", Whole(1), "nodes of these GPUs, as many GPUs in each"),
            "memory_groups": ("memory_groups", Whole(1), "groups of remote memory"),
            "out_switches": ("out_switches", Whole(1), "each linked to every group and node"),
            "gpu_side": (
                "gpu_side_bytes_per_ns",
                Quantity("bandwidth", "B/ns", above=0),
                "of the link from an out-node switch to a node",
            ),
            "in_node": (
                "in_node_bytes_per_ns",
                Quantity("bandwidth", "B/ns", above=0),
                "of the link from a node's switch to a GPU",
            ),
            "chunk": (
                "chunk_bytes",
                Quantity("size", "B", whole=True, at_least=1),
                "what moves at once on the link of a group and an out-node switch",
            ),
            "mode": ("mode", Choice(Mode), "plain accesses, or gathered and reduced in switches"),
            "lockstep": ("lockstep", Flag(), "stages wait for each other, as in the paper"),
        },
    )

    def access(self, accesses: Accesses, speeds: Speeds) -> Reals:
        import numpy as np

        chunks = accesses.bytes.astype(np.float64) / self._share()
        stage = self.stage(speeds.bytes_per_ns)
        return speeds.latency_ns + pipelined(chunks, stage, lockstep=self.given.lockstep)

    def pipeline(self, speeds: Speeds) -> Pipeline | None:
        """The three hops, None in lock step."""
        given: Options = self.given
        if given.lockstep:
            return None
        if given.gpus % given.nodes:
            problem = f"expected a divisor of the {given.gpus} gpus, got {given.nodes}"
            raise ConfigError("cluster.memory.options.nodes", problem)
        switches = given.out_switches
        again_node, again_gpu = (given.nodes, given.gpus) if given.mode == "in_switch" else (1, 1)
        return Pipeline(
            chunk_bytes=self._share(),
            hops=(
                Hop("pool", given.memory_groups * switches * speeds.bytes_per_ns),
                Hop("node", switches * given.gpu_side_bytes_per_ns / again_node),
                Hop("rank", given.in_node_bytes_per_ns / again_gpu),
            ),
            ranks_per_node=given.gpus // given.nodes,
        )

    def stage(self, memory_bytes_per_ns: float) -> Stage:
        """c / memory link, R c / (N x GPU-side link) and R S c / (G x in-node link); without N and
        G for in-switch collectives, which send all to every node and GPU.
        """
        given: Options = self.given
        nodes, gpus = (1, 1) if given.mode == "in_switch" else (given.nodes, given.gpus)
        chunk, groups = given.chunk_bytes, given.memory_groups
        return Stage(
            chunk / memory_bytes_per_ns,
            groups * chunk / (nodes * given.gpu_side_bytes_per_ns),
            groups * given.out_switches * chunk / (gpus * given.in_node_bytes_per_ns),
        )

    def _share(self) -> float:
        given: Options = self.given
        return given.memory_groups * given.out_switches * given.chunk_bytes / given.gpus


def pipelined(chunks: Reals, stage: Stage, *, lockstep: bool) -> Reals:
    """In lock step n whole chunks take t1 + max(t1, t2) + (n - 2) max(t1, t2, t3) + max(t2, t3) +
    t3. Free running: t1 + t2 + t3 + (n - 1) max(t1, t2, t3), which is never more.
    """
    import numpy as np

    whole = np.maximum(np.ceil(chunks) - 1.0, 0.0)
    part = chunks - whole
    if lockstep:
        return _in_step(whole, part, stage)
    slowest = left = 0.0
    last: Reals = whole * 0.0
    for hop in stage:
        slowest, left = max(slowest, hop), left + hop
        passed = np.where(whole > 0, left + (whole - 1.0) * slowest, 0.0)
        last = np.maximum(last, passed) + part * hop
    return last


def _in_step(whole: Reals, part: Reals, stage: Stage) -> Reals:
    import numpy as np

    first, second, third = stage
    largest = np.maximum
    one = part * (first + second + third)
    two = (
        first + largest(part * first, second) + largest(part * second, third) + part * third
    )  # of a whole chunk and a part
    more = (
        first
        + max(first, second)
        + (whole - 2.0) * max(first, second, third)
        + largest(part * first, max(second, third))
        + largest(part * second, third)
        + part * third
    )
    result: Reals = np.where(whole == 0, one, np.where(whole == 1, two, more))
    return result


PLUGIN = HierMem
