"""Random jobs of four ranks for property tests, and whether a cluster runs one to the end."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.cases import cluster, collectives
from yantra.base.errors import DeadlockError
from yantra.chakra import CollectiveType, Node, NodeType, Trace
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import ASTRA_SIM_RESOURCES, RemoteMemory, Scenario, Traces

RANKS = 4
GROUPS = {"1": (0, 1), "2": (2, 3), "3": (0, 2), "4": (1, 3), "5": (0, 1, 2), "6": (3,)}
KINDS = [
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL,
]
WORK = ["compute", "compute", *["collective"] * 4, "message", "message", "memory", "skip"]
Job = list[list[Node]]
sizes = st.sampled_from([64, 4096, 1 << 20])
speeds = st.tuples(st.sampled_from([0.01, 1.0, 500.0]), st.sampled_from([0.0, 30.0, 1e6]))


@st.composite
def jobs(draw: st.DrawFn, chained: bool = False, most: int = 12) -> Job:
    ranks: Job = [[] for _ in range(RANKS)]
    ascending = draw(st.booleans())
    ids = [list(range(60)) if ascending else draw(st.permutations(range(60))) for _ in ranks]

    def add(rank: int, type: NodeType, duration: int = 0, **attributes: Any) -> None:
        earlier = [node.id for node in ranks[rank]]
        parents: list[int] = []
        if earlier and chained:
            parents = [earlier[-1]]
        elif earlier:
            parents = sorted(draw(st.sets(st.sampled_from(earlier[-4:]), max_size=2)))
        id = ids[rank][len(ranks[rank])]
        ranks[rank].append(Node(id, "", type, duration, parents, attributes=attributes))

    for _ in range(draw(st.integers(1, most))):
        what = draw(st.sampled_from(WORK))
        if what == "compute":
            rank, cpu = draw(st.integers(0, RANKS - 1)), draw(st.booleans())
            add(rank, NodeType.COMP, draw(st.integers(0, 40)), is_cpu_op=cpu)
        elif what == "memory":
            add(draw(st.integers(0, RANKS - 1)), NodeType.MEM_LOAD, tensor_size=draw(sizes))
        elif what == "skip":
            add(draw(st.integers(0, RANKS - 1)), NodeType.INVALID)
        elif what == "message":
            rank = draw(st.integers(0, RANKS - 1))
            peer = (rank + draw(st.integers(1, RANKS - 1))) % RANKS
            fields = {"comm_tag": draw(st.integers(0, 1)), "comm_size": draw(sizes)}
            add(rank, NodeType.COMM_SEND, comm_dst=peer, **fields)
            add(peer, NodeType.COMM_RECV, comm_src=rank, **fields)
        else:
            group = draw(st.sampled_from(["", *GROUPS]))
            kind, size = draw(st.sampled_from(KINDS)), draw(sizes)
            for rank in GROUPS.get(group, range(RANKS)):
                fields = {"comm_type": kind, "comm_size": size, "pg_name": group}
                add(rank, NodeType.COMM_COLL, **fields)
    return ranks


def traces(job: Job) -> tuple[Trace, ...]:
    return tuple(Trace(nodes) for nodes in job)


def makespan(
    traces: tuple[Trace, ...],
    groups: dict[str, tuple[int, ...]],
    bandwidth: float,
    latency: float,
) -> int | None:
    scenario = Scenario(
        workload=Traces(
            traces=traces,
            groups=tuple(sorted((int(name), ranks) for name, ranks in groups.items())),
        ),
        topology=cluster(("ring", RANKS, bandwidth, latency)),
        memory=RemoteMemory(kind="per_npu", latency_ns=20, bytes_per_ns=7.0),
        collectives=collectives(),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )
    try:
        return int(max(run_native(compile(scenario)).finish))
    except DeadlockError:
        return None


def ends(job: Job, bandwidth: float, latency: float) -> bool:
    return makespan(traces(job), GROUPS, bandwidth, latency) is not None
