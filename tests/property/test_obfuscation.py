"""The laws of hiding, on random jobs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.jobs import GROUPS, Job, jobs, makespan, speeds, traces
from yantra.chakra import Node, NodeType, Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.paths import critical_path
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.validate import check_traces
from yantra.tracing.obfuscate import Obfuscated, obfuscate
from yantra.tracing.obfuscate.coarsen import coarsened, reduced_parents
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.obfuscate.quantise import bucket, lane_of, middle, scaled

LEVELS = st.integers(1, 4)
KEYS = st.binary(min_size=1, max_size=8)
COMMUNICATION = (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)


def obfuscated(
    job: Job, level: int, key: bytes = b"key", epsilon: float | None = None
) -> Obfuscated:
    ranks = [RankTrace(rank, f"{rank}.et", trace) for rank, trace in enumerate(traces(job))]
    return obfuscate(ranks, level=level, key=key, groups=GROUPS, epsilon=epsilon)


def of(hidden: Obfuscated) -> tuple[Trace, ...]:
    return tuple(hidden.traces[rank] for rank in sorted(hidden.traces))


@settings(max_examples=60)
@given(jobs(), LEVELS, KEYS)
def test_a_valid_job_stays_valid(job: Job, level: int, key: bytes) -> None:
    assume(check_traces(traces(job), groups=GROUPS).valid)
    hidden = obfuscated(job, level, key)
    report = check_traces(of(hidden), groups=hidden.groups)
    assert report.valid, report.text()


@settings(max_examples=60)
@given(jobs(), st.integers(1, 2), KEYS, speeds)
def test_levels_1_and_2_run_in_exactly_the_same_time(
    job: Job, level: int, key: bytes, speed: Any
) -> None:
    hidden = obfuscated(job, level, key)
    assert makespan(of(hidden), hidden.groups, *speed) == makespan(traces(job), GROUPS, *speed)


@given(jobs(), LEVELS, KEYS)
def test_the_topology_of_communication_stays(job: Job, level: int, key: bytes) -> None:
    hidden = obfuscated(job, level, key)

    def calls(nodes: Any, groups: Any) -> Counter[Any]:
        found: Counter[Any] = Counter()
        for node in nodes:
            if node.type in COMMUNICATION:
                members = groups.get(node.get("pg_name") or "", "all")
                found[node.type, node.get("comm_type"), members, *ends_of(node)] += 1
        return found

    for rank, nodes in enumerate(job):
        assert calls(hidden.traces[rank], hidden.groups) == calls(nodes, GROUPS)
    assert sorted(hidden.groups.values()) == sorted(GROUPS.values())


def ends_of(node: Node) -> tuple[Any, Any]:
    return node.get("comm_src"), node.get("comm_dst")


@given(jobs(), LEVELS, KEYS)
def test_the_key_alone_decides(job: Job, level: int, key: bytes) -> None:
    once, again = obfuscated(job, level, key), obfuscated(job, level, key)
    assert of(once) == of(again) and once.groups == again.groups


@given(jobs(), st.integers(2, 4))
def test_other_keys_number_otherwise(job: Job, level: int) -> None:
    assume(any(job))
    assert of(obfuscated(job, level, b"one")) != of(obfuscated(job, level, b"two"))


@given(st.sets(st.integers(), max_size=40), KEYS)
def test_a_keyed_permutation_is_a_bijection(values: set[int], key: bytes) -> None:
    permuted = Keyed(key).permuted("x", values, first=3)
    assert permuted.keys() == values
    assert sorted(permuted.values()) == list(range(3, 3 + len(values)))


@given(jobs(), st.none() | st.floats(0.01, 100))
def test_level_3_keeps_the_total_of_every_lane(job: Job, epsilon: float | None) -> None:
    hidden, renumbered = obfuscated(job, 3, epsilon=epsilon), obfuscated(job, 2)
    for rank in hidden.traces:
        assert totals(hidden.traces[rank]) == totals(renumbered.traces[rank])


def totals(trace: Trace) -> Counter[Any]:
    sums: Counter[Any] = Counter()
    for node in trace:
        sums[lane_of(node)] += node.duration_micros
    return sums


@given(jobs())
def test_level_3_keeps_bytes_within_one_a_call(job: Job) -> None:
    def sums(trace: Trace) -> tuple[Counter[Any], Counter[Any]]:
        calls: Counter[Any] = Counter()
        sizes: Counter[Any] = Counter()
        for node in trace:
            if node.type in COMMUNICATION:
                lane = node.get("pg_name"), ends_of(node), node.type
                calls[lane] += 1
                sizes[lane] += node["comm_size"]  # type: ignore[operator]
        return calls, sizes

    hidden, renumbered = obfuscated(job, 3), obfuscated(job, 2)
    for rank in hidden.traces:
        calls, after = sums(hidden.traces[rank])
        _, before = sums(renumbered.traces[rank])
        collectives = {lane for lane in calls if lane[2] == NodeType.COMM_COLL}
        assert all(abs(after[lane] - before[lane]) <= calls[lane] for lane in collectives)


@given(jobs(), KEYS)
def test_level_4_keeps_the_critical_path_of_level_3(job: Job, key: bytes) -> None:
    fine, coarse = obfuscated(job, 3, key), obfuscated(job, 4, key)
    for rank in fine.traces:
        paths = [critical_path(Columns(form.traces[rank])) for form in (fine, coarse)]
        assert paths[0].length == paths[1].length
        assert len(coarse.traces[rank]) <= len(fine.traces[rank])


@given(jobs(most=20))
def test_coarsening_keeps_every_way_between_communications(job: Job) -> None:
    for nodes in job:
        before = longest_ways(Trace(nodes))
        assert longest_ways(Trace(coarsened(list(Trace(nodes))))) == before


def longest_ways(trace: Trace) -> dict[tuple[int, int], int]:
    nodes = {node.id: node for node in trace}
    ways: dict[tuple[int, int], int] = {}
    for start in nodes.values():
        if start.type in COMMUNICATION:
            for end in nodes.values():
                if end.type in COMMUNICATION and end.id != start.id:
                    way = longest(nodes, end.id, start.id)
                    if way is not None:
                        ways[start.id, end.id] = way
    return ways


def longest(nodes: dict[int, Node], end: int, start: int) -> int | None:
    if end == start:
        return 0
    ways = [longest(nodes, p, start) for p in (*nodes[end].data_deps, *nodes[end].ctrl_deps)]
    known = [way for way in ways if way is not None]
    return max(known) + nodes[end].duration_micros if known else None


@given(jobs(most=20))
def test_the_reduction_is_the_smallest_graph_with_the_same_ancestors(job: Job) -> None:
    for trace in traces(job):
        columns = Columns(trace)
        reduced = reduced_parents(columns)

        def ancestors(node: int, parents: list[list[int]]) -> set[int]:
            found = set(parents[node])
            for parent in parents[node]:
                found |= ancestors(parent, parents)
            return found

        given_parents = [columns.parents(node) for node in range(columns.count)]
        for node in range(columns.count):
            assert ancestors(node, reduced) == ancestors(node, given_parents)
            for parent in reduced[node]:
                others = [other for other in reduced[node] if other != parent]
                assert all(parent not in ancestors(other, reduced) for other in others)


@given(st.lists(st.integers(0, 10**12), max_size=30))
def test_scaling_keeps_the_sum_and_the_zeros(values: list[int]) -> None:
    new = scaled(values)
    assert sum(new) == sum(values) and all(value >= 0 for value in new)
    assert all(not after for before, after in zip(values, new, strict=True) if not before)


@given(st.integers(1, 2**63))
def test_a_bucket_is_an_eighth_of_an_octave(value: int) -> None:
    assert 2**-0.0626 <= middle(bucket(value)) / value <= 2**0.0626


@given(jobs())
def test_noise_of_no_size_changes_nothing(job: Job) -> None:
    assert of(obfuscated(job, 3, epsilon=1e12)) == of(obfuscated(job, 3))


TEXT = st.text("abcdefghijklmnopqrstuvwxyz/_.-", min_size=6, max_size=16).map(lambda t: f"zq{t}")


@st.composite
def secrets(draw: st.DrawFn) -> tuple[list[Node], list[str]]:
    found: list[str] = []

    def text() -> str:
        found.append(draw(TEXT))
        return found[-1]

    nodes = []
    for id in range(draw(st.integers(1, 4))):
        node = Node(id, text(), draw(st.sampled_from([NodeType.COMP, NodeType.METADATA])))
        for name in ("op_schema", "kernel_file", "comm_name", "hostname", "stream", text()):
            node.attributes.append(attribute(name, text(), text()))
        node.attributes.append(attribute("inputs", (text(), "64"), ""))
        node.inputs = io(text(), text(), text())
        nodes.append(node)
    return nodes, found


def attribute(name: str, value: Any, doc: str) -> Any:
    from yantra.chakra import Attribute

    return Attribute(name, value, None, doc)


def io(*texts: str) -> Any:
    from yantra.chakra import IOInfo

    return IOInfo(*texts)


@given(secrets(), LEVELS)
def test_no_text_of_the_original_remains(case: tuple[list[Node], list[str]], level: int) -> None:
    from yantra.chakra import Metadata

    nodes, found = case
    about = Metadata("zqversion", (attribute("pid", 123456789, "zqdoc"), attribute("h", "zqh", "")))
    trace = Trace(nodes, about)
    (hidden,) = obfuscate([RankTrace(0, "", trace)], level=level, key=b"k").traces.values()
    content = hidden.to_bytes()
    assert b"zq" in trace.to_bytes() and b"zq" not in content
    assert not any(text.encode() in content for text in found)
