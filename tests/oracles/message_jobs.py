"""Random jobs of dependent sends and receives, with kernels between them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from yantra.base.fields import PluginChoice
from yantra.chakra import Node, NodeType, Trace
from yantra.scenario import Dimension, Scenario, Topology, Traces

SIZES = (1, 64, 1000, 4096, 30_000, 200_000)

Job = list[list[Node]]
"""The nodes of each rank."""


def message_job(random: Random, ranks: int, items: int, *, kernels: bool) -> Job:
    job: Job = [[] for _ in range(ranks)]

    def add(rank: int, type: NodeType, duration: int = 0, **attributes: int) -> None:
        nodes = job[rank]
        earlier = [node.id for node in nodes[-4:]]
        parents = random.sample(earlier, min(len(earlier), random.choice((0, 1, 1, 1, 2))))
        name = f"n{len(nodes)}"
        nodes.append(Node(len(nodes), name, type, duration, sorted(parents), attributes=attributes))

    for tag in range(items):
        if kernels and random.random() < 0.3:
            add(random.randrange(ranks), NodeType.COMP, random.choice((0, 1, 7, 40)))
            continue
        source = random.randrange(ranks)
        target = (source + random.randint(1, ranks - 1)) % ranks
        size = random.choice((*SIZES, random.randint(1, 50_000)))
        fields = {"comm_tag": tag, "comm_size": size}
        add(source, NodeType.COMM_SEND, comm_dst=target, **fields)
        add(target, NodeType.COMM_RECV, comm_src=source, **fields)
    return job


def renumbered(job: Job, number_of: Sequence[int]) -> Job:
    made: Job = [[] for _ in job]
    for rank, nodes in enumerate(job):
        for node in nodes:
            attributes = {each.name: each.value for each in node.attributes}
            for peer in ("comm_dst", "comm_src"):
                if peer in attributes:
                    attributes[peer] = number_of[attributes[peer]]
            again = Node(
                node.id,
                node.name,
                node.type,
                node.duration_micros,
                tuple(node.data_deps),
                attributes=attributes,
            )
            made[number_of[rank]].append(again)
    return made


def on_network(
    job: Job, network: PluginChoice, *dimensions: tuple[str, int, float, float]
) -> Scenario:
    """Return a job on a network over (kind, size, bytes per ns, latency in ns)."""
    made = tuple(
        Dimension(kind=kind, size=size, bytes_per_ns=rate, latency_ns=latency)  # type: ignore[arg-type]
        for kind, size, rate, latency in dimensions
    )
    return Scenario(
        workload=Traces(traces=tuple(Trace(nodes) for nodes in job)),
        topology=Topology(dimensions=made),
        network=network,
    )
