"""Schedules of LogGOPSim (GOAL) and traces of MPI calls become the messages that they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.cli import main
from yantra.tracing import sources

GOAL = """
/* two ranks,
   one exchange */
num_ranks 2
rank 0 {
l1: calc 1000
l2: send 4096b to 1 tag 3 cpu 0
l2 requires l1
l3: recv 8b from 1 tag 4
l3 irequires l2  // posted when the send is
}
rank 1 {
r: recv 4096b from 0 tag 3
c: calc 500
c requires r
s: send 8b to 0 tag 4
s requires c
}
"""


def attributes(node: Node) -> dict[str, Any]:
    return {item.name: item.value for item in node.attributes}


def traces(folder: Path, content: str, name: str = "job") -> dict[int, Trace]:
    path = folder / name
    path.write_text(content)
    job, _ = sources.in_memory([str(path)])
    return {rank: trace for rank, _, trace in job}


def test_messages_and_calculations_of_a_schedule_keep_their_order(tmp_path: Path) -> None:
    made = traces(tmp_path, GOAL)
    calc, receive, send = (
        next(node for node in made[0] if node.type == type)
        for type in (NodeType.COMP, NodeType.COMM_RECV, NodeType.COMM_SEND)
    )
    assert attributes(calc)["duration_ns"] == 1000
    assert list(send.data_deps) == [calc.id] == list(receive.data_deps)
    said = attributes(send)
    assert (said["comm_dst"], said["comm_size"], said["comm_tag"]) == (1, 4096, 3)
    receive, calc, send = made[1]
    assert list(calc.data_deps) == [receive.id] and list(send.data_deps) == [calc.id]


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=8))
def test_a_chain_of_calculations_takes_their_sum(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int]
) -> None:
    lines = [f"l{at}: calc {length}" for at, length in enumerate(lengths)]
    lines += [f"l{at} requires l{at - 1}" for at in range(1, len(lengths))]
    text = "num_ranks 1\nrank 0 {\n" + "\n".join(reversed(lines[: len(lengths)]))
    text += "\n" + "\n".join(lines[len(lengths) :]) + "\n}\n"
    made = traces(tmp_path_factory.mktemp("goal"), text)[0]
    last = attributes(made[len(made) - 1])
    assert last["start_time_ns"] + last["duration_ns"] == sum(lengths)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("l2 requires l1", "l2 requires l9", "'l2 requires l9'"),
        ("to 1 tag", "to 7 tag", "'l2: send 4096b to 7"),
        ("rank 1 {", "rank 2 {", "a rank below num_ranks, 2"),
        ("l2 requires l1", "l2 requires l1\nl1 requires l2", "waits for itself"),
        ("calc 500", "think 500", "'c: think 500'"),
    ],
)
def test_what_is_no_schedule_is_refused_with_its_line(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match=said):
        traces(tmp_path, GOAL.replace(old, new, 1))


def test_a_message_without_its_other_end_stays_a_computation(tmp_path: Path) -> None:
    path = tmp_path / "a.goal"
    path.write_text(GOAL.replace("s: send 8b", "s: send 9b"))
    job, problems = sources.in_memory([str(path)])
    assert sum(node.type == NodeType.COMM_SEND for *_, trace in job for node in trace) == 1
    assert "2 messages without the other end" in problems[0]


def call(name: str, start: float, length: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": 0, "ts": start, "dur": length, "args": args}


def exchange(rank: int) -> list[dict[str, Any]]:
    other = 1 - rank
    double = {"count": 100, "datatype": "0x0A"}
    events = [
        call("MPI_Irecv", 0, 1, source=20 + other, tag=5, **double),
        call("MPI_Isend", 2, 1, dest=20 + other, tag=5, **double),
        call("MPI_Wait", 10, 4),
        call("MPI_Waitall", 15, 1),
        call("MPI_Allreduce", 20, 5, comm=4, count=10, datatype="MPI_FLOAT"),
        call("MPI_Alltoall", 26, 4, comm=4, count=10, datatype=0x09),
    ]
    return [{**event, "pid": 20 + rank} for event in events]


def test_calls_of_mpi_move_what_their_arguments_say(tmp_path: Path) -> None:
    made = traces(tmp_path, json.dumps([*exchange(0), *exchange(1)]))
    assert sorted(made) == [0, 1]
    for rank, trace in made.items():
        by_name = {node.name: node for node in trace if node.name != "computation"}
        assert attributes(by_name["MPI_Isend"])["comm_dst"] == 1 - rank
        assert attributes(by_name["MPI_Isend"])["comm_size"] == 800
        assert attributes(by_name["MPI_Allreduce"])["comm_size"] == 40
        exchanged = attributes(by_name["MPI_Alltoall"])
        assert exchanged["comm_type"] == CollectiveType.ALL_TO_ALL
        assert exchanged["comm_size"] == 80  # ten floats for each of two
        computed = sum(attributes(n)["duration_ns"] for n in trace if n.name == "computation")
        assert computed == (1 + 7 + 1 + 4 + 1) * 1000


def test_a_wait_is_local_and_ends_the_oldest_message(tmp_path: Path) -> None:
    trace = traces(tmp_path, json.dumps([*exchange(0), *exchange(1)]))[0]
    nodes = list(trace)
    receive = next(node for node in nodes if node.name == "MPI_Irecv")
    send = next(node for node in nodes if node.name == "MPI_Isend")
    after = [node for node in nodes if node.name == "computation"]
    assert receive.id not in send.data_deps
    first_waiting = next(node for node in after if receive.id in node.data_deps)
    assert send.id not in first_waiting.data_deps
    assert any(send.id in node.data_deps for node in after)


@pytest.mark.parametrize("content", [GOAL, json.dumps([*exchange(0), *exchange(1)])])
def test_both_run_on_a_cluster(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job").write_text(content)
    assert main(["chakra", "convert", "job", "-o", "t.{rank}.et"]) == 0
    line = ["run", "t.{rank}.et", "--cluster", "hgx-h100"]
    assert main([*line, "--set", "cluster.device.compute=recorded"]) == 0
