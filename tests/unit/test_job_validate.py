"""Every seeded defect of a job is found, with its code and place; clean jobs are left alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yantra.chakra import Attribute, CollectiveType, IOInfo, Kind, Node, NodeType, TraceBuilder
from yantra.cli import main
from yantra.run.trial import try_order
from yantra.tracing.inspect.validate import Report, check_job, check_traces
from yantra.tracing.inspect.validate.report import ADVICE

RANKS = 4
GROUPS = {"1": (0, 1), "2": (2, 3)}
AR, AG = CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER
Change = Callable[[list[list[Node]]], Any]


def clean() -> list[list[Node]]:
    """Four ranks: compute, an all-reduce in pairs, a ring of messages, an all-reduce of all."""
    ranks = []
    for rank in range(RANKS):
        trace = TraceBuilder(rank=rank)
        work = trace.compute("work", duration_micros=100)
        pair = trace.collective(AR, 1024, group=str(1 + rank // 2), duration_micros=10, after=work)
        sent = trace.send((rank + 1) % RANKS, 64, tag=7, after=pair)
        got = trace.recv((rank - 1) % RANKS, 64, tag=7, after=sent)
        trace.collective(AR, 4096, name="last", duration_micros=20, after=got)
        for node, start in zip(trace.nodes, (1000, 1100, 1110, 1120, 1130), strict=True):
            node.start_micros = start
        ranks.append(trace.nodes)
    return ranks


def report(change: Change | None = None, **options: Any) -> Report:
    from yantra.chakra import Trace

    ranks = clean()
    if change:
        change(ranks)
    return check_traces([Trace(nodes) for nodes in ranks], **{"groups": GROUPS, **options})


def test_a_clean_job_has_no_findings() -> None:
    found = report()
    assert found.findings == [] or {f.code for f in found.findings} == {"deadlock-under-rendezvous"}
    assert found.valid and found.exit_code == 0
    assert (found.ranks, found.nodes) == (4, 20)


def rename(node: Node, **values: Any) -> None:
    for name, value in values.items():
        node.set(name, value)


def swap(ranks: list[list[Node]]) -> None:
    pair, last = ranks[1][1], ranks[1][4]
    pair.attributes, last.attributes = last.attributes, pair.attributes


def other_tag(ranks: list[list[Node]]) -> None:
    ranks[2][2].set("comm_tag", 8)


def metadata(name: str, ranks_of: list[int]) -> Node:
    listed = json.dumps([{"pg_name": name, "ranks": ranks_of, "group_size": len(ranks_of)}])
    inputs = IOInfo(repr([listed]), "[[]]", "['String']")
    return Node(90, "## process_group:init ##", NodeType.METADATA, inputs=inputs)


def disagree(ranks: list[list[Node]]) -> None:
    ranks[0].append(metadata("1", [0, 1]))
    ranks[2].append(metadata("1", [2, 3]))


def shift(ranks: list[list[Node]]) -> None:
    for node in ranks[3]:
        node.start_micros += 5_000_000
    for nodes in ranks:  # five meetings at least
        for copy in (5, 6, 7, 8):
            node = Node(copy, "more", NodeType.COMM_COLL, 5, [copy - 1])
            node.attributes = list(nodes[4].attributes)
            node.start_micros = nodes[4].start_micros + 20 * copy
            nodes.append(node)


DEFECTS: dict[str, tuple[Change, int | None]] = {
    "collective-mismatch": (lambda r: rename(r[1][4], comm_type=AG), 4),
    "collective-size-mismatch": (lambda r: rename(r[3][1], comm_size=512), 1),
    "collective-missing": (lambda r: r[2].pop(), 4),
    "unknown-group": (lambda r: rename(r[0][1], pg_name="9"), 1),
    "rank-not-in-group": (lambda r: rename(r[0][1], pg_name="2"), 1),
    "receive-without-send": (lambda r: r[3].__setitem__(2, Node(2, "nothing")), 3),
    "send-without-receive": (lambda r: r[3].__setitem__(3, Node(3, "nothing", data_deps=[2])), 2),
    "message-size-mismatch": (lambda r: rename(r[0][2], comm_size=65), 2),
    "message-tag-mismatch": (other_tag, 2),
    "self-message": (lambda r: rename(r[0][2], comm_dst=0), 2),
    "peer-out-of-range": (lambda r: rename(r[0][2], comm_dst=4), 2),
    "wrong-own-rank": (lambda r: rename(r[0][2], comm_src=1), 2),
    "groups-disagree": (disagree, None),
    "groups-differ-from-file": (lambda r: r[0].append(metadata("1", [0, 2])), None),
    "clock-skew": (shift, None),
    "dangling-dependency": (lambda r: r[0][3].depends_on(77), 3),
    "cycle": (lambda r: r[0][0].depends_on(4), 0),
    "duplicate-id": (lambda r: r[0].append(Node(4)), 4),
    "missing-attribute": (lambda r: r[0][1].__delitem__("comm_size"), 1),
    "communication-on-cpu": (lambda r: rename(r[0][1], is_cpu_op=True), 1),
    "unsupported-collective": (
        lambda r: [rename(n[4], comm_type=CollectiveType.GATHER) for n in r],
        4,
    ),
    "upstream-refuses-collective": (
        lambda r: [rename(n[4], comm_type=CollectiveType.BROADCAST) for n in r],
        4,
    ),
    "involved-dim-empty": (lambda r: [rename(n[4], involved_dim=(False, False)) for n in r], 4),
    "attribute-type": (lambda r: r[0][1].set("comm_priority", "high", Kind.STRING), 1),
    "starts-before-dependency-ends": (lambda r: setattr(r[1][1], "start_micros", 1050), 1),
    "starts-before-dependency-starts": (
        lambda r: r[1][0].depends_on(r[1].append(Node(9, start_micros=2000)) or 9, control=True),
        0,
    ),
    "absurd-duration": (lambda r: setattr(r[0][0], "duration_micros", 2**64 - 5), 0),
    "durations-differ": (lambda r: rename(r[0][0], duration_ns=99), 0),
    "absurd-start": (lambda r: setattr(r[0][0], "start_micros", 2**63), 0),
    "absurd-bandwidth": (lambda r: [rename(n[4], comm_size=2**40) for n in r], 4),
    "nothing-to-time": (
        lambda r: [setattr(n, "duration_micros", 0) for nodes in r for n in nodes],
        None,
    ),
    "needs-remote-memory": (
        lambda r: r[0].append(Node(9, "", NodeType.MEM_LOAD, attributes={"tensor_size": 8})),
        None,
    ),
    "skipped-node-has-children": (lambda r: setattr(r[0][0], "type", NodeType.INVALID), 0),
    "upstream-refuses-node": (
        lambda r: [rename(node, comm_size=0) for nodes in r for node in nodes[2:4]],
        2,
    ),
    "no-nodes": (lambda r: [nodes.clear() for nodes in r], None),
    "negative-size": (lambda r: [rename(n[4], comm_size=-1) for n in r], 4),
    "unknown-collective": (lambda r: [rename(n[4], comm_type=33) for n in r], 4),
    "unknown-node-type": (lambda r: setattr(r[0][0], "type", 55), 0),
}


@pytest.mark.parametrize("code", DEFECTS)
def test_a_seeded_defect_is_found_where_it_is(code: str) -> None:
    change, node = DEFECTS[code]
    found = [finding for finding in report(change).findings if finding.code == code]
    assert found, report(change).text()
    assert node in {finding.node_id for finding in found}
    assert all(finding.advice for finding in found)


def test_ranks_that_enter_two_collectives_the_other_way_round_wait_for_ever() -> None:
    """Rank 0: group 1, then all; rank 1: all, then group 1."""
    ranks = []
    for rank in range(2):
        trace = TraceBuilder()
        names = ("1", None) if rank == 0 else (None, "1")
        first = trace.collective(AR, 64, group=names[0])
        trace.collective(AR, 64, group=names[1], after=first)
        ranks.append(trace.build())
    found = check_traces(ranks, groups={"1": (0, 1)})
    (finding,) = [finding for finding in found.findings if finding.severity == "error"]
    assert finding.code == "deadlock"
    assert "rank 0 runs node 0" in finding.text and "rank 1 runs node 0" in finding.text


def concurrent(ids: tuple[int, int], slow: int) -> list[Any]:
    ranks = []
    for rank in range(2):
        trace = TraceBuilder(first_id=10)
        times = (500, 5) if rank == slow else (5, 500)
        for id, group, time in zip(ids, ("1", "2"), times, strict=True):
            work = trace.compute(duration_micros=time, cpu=group == "1")
            node = trace.collective(AR, 1 << 20, group=group, after=work)
            node.id = id
        ranks.append(trace.build())
    return ranks


def test_an_order_that_timing_decides_is_tried_on_the_stated_cluster() -> None:
    groups = {"1": (0, 1), "2": (0, 1)}
    same = check_traces(concurrent((1, 2), slow=7), groups=groups)
    assert same.valid and "order-left-to-timing" in same.codes
    try_order(same)
    assert same.valid and any("the job ends on" in remark for remark in same.remarks)
    crossed = check_traces(concurrent((1, 2), slow=1), groups=groups)
    assert crossed.valid
    try_order(crossed)
    assert crossed.exit_code == 2 and "deadlock-in-trial" in crossed.codes


def test_sends_that_wait_for_their_receives_would_hang() -> None:
    """Both send before they receive: fine in ASTRA-sim, a deadlock under rendezvous."""
    assert "deadlock-under-rendezvous" in report().codes


def test_a_lone_rank_is_not_compared_with_others(tmp_path: Path) -> None:
    from yantra.chakra import Trace

    Trace(clean()[1]).write(tmp_path / "job.1.et")
    found = check_job([tmp_path / "job.1.et"], groups=GROUPS)
    assert found.valid and any("not here" in remark for remark in found.remarks)


def test_gaps_packed_and_broken_files_are_told(tmp_path: Path) -> None:
    from yantra.chakra import Trace

    for rank in (0, 2):
        Trace(clean()[rank]).write(tmp_path / f"job.{rank}.et.gz")
    (tmp_path / "job.3.et.gz").write_bytes(b"not a trace")
    found = check_job([str(tmp_path / "job.{rank}.et.gz")], groups=GROUPS)
    assert {"malformed", "rank-missing", "packed-for-astra-sim"} <= found.codes
    assert "unreadable" in check_job([tmp_path / "none.0.et"]).codes


def test_only_so_many_findings_of_a_kind_are_listed() -> None:
    def many(ranks: list[list[Node]]) -> None:
        ranks[0] += [
            Node(100 + i, "", NodeType.COMM_SEND, attributes={"comm_dst": 0}) for i in range(30)
        ]

    found = [finding for finding in report(many).findings if finding.code == "self-message"]
    assert len(found) == 20 and found[-1].left_out == 10
    assert "(and 25 more of this kind)" in report(many).text()


def test_every_code_of_the_core_has_advice() -> None:
    native = Path(__file__).parents[2] / "native" / "trace"
    text = "".join((native / name).read_text() for name in ("tools/check.cpp", "graph.cpp"))
    for code in ("dangling-dependency", "missing-attribute", "attribute-value", "no-nodes"):
        assert f'"{code}"' in text and code in ADVICE


def test_the_command_prints_text_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from yantra.chakra import Trace

    for rank, nodes in enumerate(clean()):
        Trace(nodes).write(tmp_path / f"job.{rank}.et")
    (tmp_path / "groups.json").write_text(json.dumps(GROUPS))
    names = [str(tmp_path / "job.{rank}.et"), "--groups", str(tmp_path / "groups.json")]
    assert main(["chakra", "validate", *names]) == 0
    assert "valid: 4 ranks, 20 nodes; 1 warning" in capsys.readouterr().out
    Trace(clean()[0][:-1]).write(tmp_path / "job.0.et")
    assert main(["chakra", "validate", *names, "--json"]) == 2
    form = json.loads(capsys.readouterr().out)
    assert form["valid"] is False
    (finding,) = [f for f in form["findings"] if f["severity"] == "error"]
    assert (finding["code"], finding["rank"], finding["node_id"]) == ("collective-missing", 1, 4)
    assert "rank 0 has none" in finding["text"]


@pytest.mark.parametrize(
    "arguments",
    [["{rank}/job.et"], ["job.{rank}.{rank}.et"], ["nothing.{rank}.et"], ["a.0.et", "b.0.et"]],
)
def test_arguments_that_name_no_job_are_mistakes(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chakra", "validate", *arguments]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_attributes_of_a_repeated_name_count_once() -> None:
    def twice(ranks: list[list[Node]]) -> None:
        ranks[0][1].attributes.append(Attribute("comm_size", 1))

    assert report(twice).valid


@pytest.mark.parametrize(("told_ns", "skewed"), [(-5_000_000_000, False), (5_000_000_000, True)])
def test_times_are_compared_from_the_origins_that_the_traces_tell(
    told_ns: int, skewed: bool
) -> None:
    """Rank 3's times are 5 s higher; that is its clock, or a time that begins 5 s earlier."""
    from yantra.chakra import Metadata, Trace

    ranks = clean()
    shift(ranks)
    base = Attribute("base_ns", 10**18)
    origins = [Attribute("origin_ns", 10**10 + told_ns * (rank == 3)) for rank in range(RANKS)]
    traces = [
        Trace(nodes, Metadata("", (base, origin)))
        for nodes, origin in zip(ranks, origins, strict=True)
    ]
    assert ("clock-skew" in check_traces(traces, groups=GROUPS).codes) == skewed
