"""Random jobs in which nothing waits for its turn, so that delays add up and nothing else."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

from tests.cases import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, cluster, scenario
from yantra.chakra import TraceBuilder
from yantra.scenario import Collectives, Device, Resources, Scenario

KINDS = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
MANY = 1000


class SlackJob:
    """A job of a seed; `scenario(longer)` makes kernels, named (rank, number), take longer."""

    def __init__(self, seed: int) -> None:
        draw = Random(seed)
        sizes = draw.choice(((2,), (3,), (4,), (6,), (2, 2), (3, 2), (2, 4)))
        self.ranks = prod(sizes)
        self.steps = [self._step(draw) for _ in range(draw.randrange(2, 14))]
        self.kernels = [0] * self.ranks
        self.topology = cluster(
            *(
                (
                    draw.choice(("ring", "fully_connected", "switch")),
                    size,
                    draw.choice((0.7, 8.0, 53.6870912)),
                    draw.choice((0.0, 12.25, 500.0)),
                )
                for size in sizes
            )
        )
        algorithm = draw.choice(("ring", "direct", "double_binary_tree"))
        self.parts: dict[str, Any] = {
            "collectives": Collectives(
                all_reduce=(algorithm,) * len(sizes),
                **dict.fromkeys(
                    ("all_gather", "reduce_scatter", "all_to_all"),
                    ("direct" if algorithm == "direct" else "ring",) * len(sizes),
                ),
                all_reduce_shape="baseline" if "tree" in algorithm else "local_bw_aware",
                chunks=draw.randrange(1, 4),
                endpoint_delay_ns=draw.choice((0, 10)),
            ),
            "resources": Resources(cpu_slots=MANY, compute_streams=MANY),
            "device": Device(memory_bytes_per_s=draw.choice((0.0, 1e11))),
        }

    def _step(self, draw: Random) -> dict[str, Any]:
        source = draw.randrange(self.ranks)
        return {
            "what": draw.choice(("kernel", "kernel", "kernel", "message", "collective")),
            "rank": source,
            "peer": (source + draw.randrange(1, self.ranks)) % self.ranks,
            "kind": draw.choice(KINDS),
            "size": draw.choice((1, 777, 4096, 100_000)),
            "micros": draw.randrange(1, 20),
            "back": [draw.randrange(1, 4) for _ in range(2)],
        }

    def scenario(self, longer: dict[tuple[int, int], int], **parts: Any) -> Scenario:
        """Return the scenario, with kernels longer by so many microseconds."""
        return scenario(
            self.topology,
            lambda trace, rank: self._write(trace, rank, longer),
            **(self.parts | parts),
        )

    def _write(self, trace: TraceBuilder, rank: int, longer: dict[tuple[int, int], int]) -> None:
        made: list[Any] = []
        talked: list[Any] = []
        self.kernels[rank] = 0
        for tag, step in enumerate(self.steps):
            backs = {back for back in step["back"] if back <= len(made)}
            after = [made[-back] for back in sorted(backs)]
            ordered = [*after, *(node for node in talked if node not in after)]
            what = step["what"]
            if what == "kernel" and step["rank"] == rank:
                micros = step["micros"] + longer.get((rank, self.kernels[rank]), 0)
                name = f"kernel {self.kernels[rank]}"
                self.kernels[rank] += 1
                made.append(trace.compute(name, duration_micros=micros, after=after))
            elif what == "collective":
                made.append(trace.collective(step["kind"], step["size"], after=ordered))
                talked = [made[-1]]
            elif what == "message" and rank == step["rank"]:
                made.append(trace.send(step["peer"], step["size"], tag=tag, after=ordered))
                talked = [made[-1]]
            elif what == "message" and rank == step["peer"]:
                made.append(trace.recv(step["rank"], step["size"], tag=tag, after=ordered))
                talked = [made[-1]]
