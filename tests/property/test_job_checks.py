"""What `validate` says of a job, and what a run of it does, agree.

Random jobs of several ranks with computations, collectives over groups and messages, first put
together so that they can run one node after the other, then damaged: swapped, dropped, changed.

* No finding that matters: the job runs to the end on every cluster of one dimension, at any speed.
* A certain deadlock, and nothing else: no cluster runs it to the end.
* Every seeded defect is found, with its code.
"""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.cases import cluster, collectives
from yantra.chakra import CollectiveType, Node, NodeType, Trace
from yantra.chakra.inspect.validate import check_traces
from yantra.compile import compile
from yantra.errors import DeadlockError
from yantra.scenario import ASTRA_SIM_RESOURCES, Scenario, Traces
from yantra.simulate import run_native

RANKS = 4
GROUPS = {"1": (0, 1), "2": (2, 3), "3": (0, 2), "4": (1, 3), "5": (0, 1, 2), "6": (3,)}
KINDS = [
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL,
]
LEFT_TO_TIMING = {"order-left-to-timing", "skipped-node-has-children"}
Job = list[list[Node]]


@st.composite
def jobs(draw: st.DrawFn, chained: bool = False, most: int = 12) -> Job:
    """A job that could run in the order in which it is drawn; ids follow it or not."""
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
        what = draw(st.sampled_from(["compute", "collective", "collective", "message"]))
        if what == "compute":
            rank, cpu = draw(st.integers(0, RANKS - 1)), draw(st.booleans())
            add(rank, NodeType.COMP, draw(st.integers(0, 40)), is_cpu_op=cpu)
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


sizes = st.sampled_from([64, 4096, 1 << 20])


def traces(job: Job) -> tuple[Trace, ...]:
    return tuple(Trace(nodes) for nodes in job)


def ends(job: Job, bandwidth: float, latency: float) -> bool:
    scenario = Scenario(
        workload=Traces(
            traces=traces(job), groups=tuple((int(name), GROUPS[name]) for name in GROUPS)
        ),
        topology=cluster(("ring", RANKS, bandwidth, latency)),
        collectives=collectives(),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )
    try:
        run_native(compile(scenario))
    except DeadlockError:
        return False
    return True


speeds = st.tuples(st.sampled_from([0.01, 1.0, 500.0]), st.sampled_from([0.0, 30.0, 1e6]))


@settings(max_examples=150)
@given(jobs(), st.lists(speeds, min_size=2, max_size=2, unique=True))
def test_what_is_free_of_findings_runs_to_the_end(job: Job, clusters: list[Any]) -> None:
    report = check_traces(traces(job), groups=GROUPS)
    assume(report.valid and not LEFT_TO_TIMING & report.codes)
    assert all(ends(job, *speed) for speed in clusters)


@settings(max_examples=60)
@given(jobs(chained=True))
def test_a_job_in_one_order_is_called_valid_and_runs(job: Job) -> None:
    report = check_traces(traces(job), groups=GROUPS)
    assert report.valid and not LEFT_TO_TIMING & report.codes, report.text()
    assert ends(job, 1.0, 30.0)


@settings(max_examples=150)
@given(jobs(chained=True, most=8), st.data())
def test_a_certain_deadlock_ends_on_no_cluster(job: Job, data: st.DataObject) -> None:
    """Swap what two nodes of a rank do: if that closes a circle of waiting, no run ends."""
    rank = data.draw(st.sampled_from([r for r in range(RANKS) if len(job[r]) > 1] or [0]))
    assume(len(job[rank]) > 1)
    at = data.draw(st.integers(0, len(job[rank]) - 2))
    first, second = job[rank][at : at + 2]
    first.type, second.type = second.type, first.type
    first.attributes, second.attributes = second.attributes, first.attributes
    report = check_traces(traces(job), groups=GROUPS)
    found = {finding.code for finding in report.findings if finding.severity == "error"}
    if found == {"deadlock"}:
        assert not ends(job, *data.draw(speeds))
    elif not found:
        assert ends(job, *data.draw(speeds))
