"""Laws of converting linked traces: whatever ranks did, the traces fit together and can be run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.clusters import dimension
from tests.linked_jobs import Rank
from yantra.chakra import Trace, validate
from yantra.chakra.schema import NodeType
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario import Collectives, Device, Scenario, Topology, Traces
from yantra.scenario.types import Semantics
from yantra.tracing.pytorch.convert import ConvertOptions, Job, convert_job
from yantra.tracing.pytorch.linked import Linked, ProcessGroup
from yantra.tracing.pytorch.reduction import reduced

WORLD = 4
GROUPS = [
    ProcessGroup("0", "default_pg", "nccl", [0, 1, 2, 3]),
    ProcessGroup("1", "left", "nccl", [0, 1]),
    ProcessGroup("2", "right", "nccl", [2, 3]),
    ProcessGroup("odd", "", "nccl", [3, 1]),
]
KINDS = ("allreduce", "allgather", "reducescatter", "broadcast", "all_to_all", "reduce", "barrier")


def job(random: Random, steps: int = 12) -> list[Linked]:
    ranks = [Rank(rank, WORLD, [g for g in GROUPS if rank in g.ranks]) for rank in range(WORLD)]
    count: Counter[str] = Counter()
    for _ in range(steps):
        group = random.choice(GROUPS)
        kind = random.choice((*KINDS, "message"))
        elements = random.randint(1, 5000)
        count[group.name] += 1
        if kind == "message":
            source, target = random.sample(range(len(group.ranks)), 2)
            ends = {group.ranks[source]: ("send", target), group.ranks[target]: ("recv", source)}
        else:
            ends = dict.fromkeys(group.ranks, (kind, 0))
        for rank, (name, peer) in ends.items():
            _live(ranks[rank], random)
            ranks[rank].talk(
                name,
                group.name,
                elements,
                count[group.name],
                peer=peer,
                dur=random.randint(1, 9999),
            )
    for rank in ranks:
        _live(rank, random)
    return [rank.linked for rank in ranks]


def _live(rank: Rank, random: Random) -> None:
    for _ in range(random.randint(0, 3)):
        rank.now += random.choice((0, 300, 40_000))
        rank.compute(random.randint(600, 9000), random.randint(1, 50_000))
    if random.random() < 0.3:
        rank.synchronize()


def converted(
    linked: Sequence[Linked], options: ConvertOptions | None = None
) -> tuple[list[Trace], Job]:
    content: defaultdict[int, list[bytes]] = defaultdict(list)
    sources = [partial(msgspec.structs.replace, trace) for trace in linked]
    done = convert_job(sources, lambda rank, pieces: content[rank].extend(pieces), options)
    return [Trace.from_bytes(b"".join(content[rank])) for rank in sorted(content)], done


def above(trace: Trace) -> list[set[int]]:
    reach: list[set[int]] = []
    for node in trace:
        reach.append({id for parent in node.data_deps for id in {parent, *reach[parent]}})
    return reach


randoms = st.integers(0, 2**32 - 1).map(Random)
options = st.builds(ConvertOptions, gaps=st.booleans(), reduce=st.booleans())


@given(randoms, options)
def test_traces_are_whole(random: Random, chosen: ConvertOptions) -> None:
    traces, _ = converted(job(random), chosen)
    for trace in traces:
        assert [node.id for node in trace] == list(range(len(trace)))
        assert all(parent < node.id for node in trace for parent in node.data_deps + node.ctrl_deps)
        assert [finding for finding in validate(trace) if finding.severity == "error"] == []


@given(randoms, options)
def test_a_device_op_follows_its_stream_and_its_launch(
    random: Random, chosen: ConvertOptions
) -> None:
    linked = job(random)
    traces, _ = converted(linked, chosen)
    for trace, source in zip(traces, linked, strict=True):
        reach = above(trace)
        node_of = {node["correlation"]: node.id for node in trace if "correlation" in node}
        launchers = {node.id: node for node in trace if "rf_id" in node and node["is_cpu_op"]}
        by_id = {op.id: op for op in source.device_ops}
        for op in source.device_ops:
            mine = node_of[op.correlation]
            assert {node_of[by_id[before].correlation] for before in op.after} <= reach[mine]
            assert reach[mine] & launchers.keys()


@given(randoms)
def test_each_communicator_runs_the_same_collectives_on_all_its_ranks(random: Random) -> None:
    traces, done = converted(job(random))
    members = {0: tuple(range(WORLD)), **done.communicators.members}
    seen: defaultdict[int, dict[int, list[tuple[object, object]]]] = defaultdict(dict)
    for rank, trace in enumerate(traces):
        for node in trace:
            if node.type is NodeType.COMM_COLL:
                group = int(str(node["pg_name"]))
                row = seen[group].setdefault(rank, [])
                row.append((node["comm_type"], node["comm_size"]))
    for group, rows in seen.items():
        assert set(rows) == set(members[group])
        assert len({tuple(row) for row in rows.values()}) == 1
    assert done.report.problems == []


@given(randoms)
def test_every_send_meets_its_receive(random: Random) -> None:
    linked = job(random, 20)
    traces, _ = converted(linked)
    ends: Counter[tuple[object, ...]] = Counter()
    for rank, trace in enumerate(traces):
        for node in trace:
            if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
                own = "comm_src" if node.type is NodeType.COMM_SEND else "comm_dst"
                assert node[own] == rank
                sign = 1 if node.type is NodeType.COMM_SEND else -1
                ends[node["comm_src"], node["comm_dst"], node["comm_tag"], node["comm_size"]] += (
                    sign
                )
    assert all(count == 0 for count in ends.values())
    called = Counter(op.name for trace in linked for op in trace.operators)
    written = Counter(node.type for trace in traces for node in trace)
    assert written[NodeType.COMM_SEND] == called["nccl:send"]
    assert written[NodeType.COMM_RECV] == called["nccl:recv"]


@given(randoms)
def test_the_replay_starts_everything_when_it_was_measured(random: Random) -> None:
    traces, _ = converted(job(random))
    for trace in traces:
        end: list[int] = []
        for node in trace:
            start = max((end[parent] for parent in node.data_deps), default=0)
            end.append(start + node.duration_micros)
            if "start_time_ns" in node:
                assert start == node.start_micros


@given(randoms, st.integers(0, 40), st.integers(0, 3))
def test_a_recording_cut_short_leaves_a_job_that_still_ends(
    random: Random, lost: int, loser: int
) -> None:
    linked = job(random)
    kernels = [op for op in linked[loser].device_ops if op.name.startswith("nccl")]
    for op in kernels[len(kernels) - lost % (len(kernels) + 1) :]:
        op.name = "a kernel that does not communicate"
    simulate(*converted(linked))


@given(randoms, st.booleans())
def test_a_job_runs_to_its_end(random: Random, exact: bool) -> None:
    traces, done = converted(job(random), ConvertOptions(exact_collectives=exact))
    result = simulate(traces, done, semantics="yantra" if exact else "astra-sim")
    assert len(result.ranks) == WORLD


def simulate(traces: Sequence[Trace], done: Job, semantics: Semantics = "astra-sim") -> Result:
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    scenario = Scenario(
        workload=Traces(
            traces=tuple(traces), groups=tuple(sorted(done.communicators.members.items()))
        ),
        topology=Topology(dimensions=(dimension(size=WORLD),)),
        device=Device(memory_bytes_per_s=1e12),
        collectives=Collectives(**dict.fromkeys(kinds, ("ring",))),
        semantics=semantics,
    )
    run(compile(scenario.replace(replay_only=True)))
    return run(compile(scenario))


# ------------------------------------------------------------------------------ CPU collectives


def gloo_job(random: Random, calls: int = 8) -> list[Linked]:
    ranks = [Rank(rank, WORLD, [g for g in GROUPS if rank in g.ranks]) for rank in range(WORLD)]
    for call in range(calls):
        for rank in ranks:
            rank.now += random.randint(0, 9000)
            rank.operator("aten::mul", 1, random.randint(1, 5000))
            rank.now += 5000
            rank.gloo(
                "allreduce_",
                "all_reduce",
                [call, call, 0, 100 * (call + 1), 4, "cpu"],
                delay=random.randint(100, 60_000),
                dur=random.randint(100, 90_000),
                below=random.random() < 0.5,
                note=f"{{'op':'all_reduce','pg':'0','ranks':[0,1,2,3],'seq':{call},'id':{call}}}",
            )
    for rank in ranks:
        for call in range(calls):
            rank.now += 100_000
            rank.operator(f"chakra::wait|{{'id':{call}}}", 1, 90_000, scope=7)
            rank.now += 90_000
    return [rank.linked for rank in ranks]


@given(randoms)
def test_overlapping_cpu_collectives_keep_the_order_of_issue_in_any_what_if(random: Random) -> None:
    traces, done = converted(gloo_job(random))
    assert done.report.problems == []
    changed = []
    for trace in traces:
        sizes = [node["comm_size"] for node in trace if node.type is NodeType.COMM_COLL]
        assert sizes == [400 * (call + 1) for call in range(8)]
        nodes = list(trace)
        for node in nodes:
            if node.type is NodeType.COMP and random.random() < 0.3:
                node.duration_micros = random.randint(0, 200)
        changed.append(Trace(nodes))
    simulate(traces, done)
    simulate(changed, done)


# ------------------------------------------------------------------------------ reduction


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(0, 25))
    return [
        draw(st.lists(st.integers(0, node - 1), max_size=5)) if node else [] for node in range(size)
    ]


@given(graphs())
def test_a_reduction_keeps_the_order_and_nothing_else(deps: list[list[int]]) -> None:
    kept = reduced(deps)
    assert _closure(kept) == _closure(deps)
    for node, parents in enumerate(kept):
        for parent in parents:
            fewer = [[*row] for row in kept]
            fewer[node].remove(parent)
            assert _closure(fewer) != _closure(deps)


def _closure(deps: list[list[int]]) -> list[set[int]]:
    reach: list[set[int]] = []
    for parents in deps:
        reach.append({id for parent in parents for id in {parent, *reach[parent]}})
    return reach
