"""Traces made from MSCCL programs: their nodes, and what a simulation of them takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import cluster, run
from tests.oracles.msccl_writer import random_program, ring_allreduce
from yantra import _core, chakra
from yantra.base.errors import DeadlockError, TraceError
from yantra.chakra import CollectiveType, Trace, TraceBuilder
from yantra.cli import main
from yantra.collectives.msccl import Sizes, parse_program, prove, traces
from yantra.collectives.msccl.traces import share, write
from yantra.scenario import Collectives, Custom, Device

N = 4
MIB = 1 << 20
MEMORY_BYTES_PER_NS = 64.0


def made(xml: str, sizes: Sizes | None = None) -> list[Trace]:
    return traces(prove(parse_program(xml.encode())), sizes or Sizes())


def edges(trace: Trace) -> list[tuple[str, list[int]]]:
    return [(node.name, node.data_deps) for node in trace]


def test_fused_steps_become_their_parts() -> None:
    kinds = [node.type.name for node in made(ring_allreduce(N))[0]]  # type: ignore[union-attr]
    fused = ["COMM_RECV", "COMP", "COMM_SEND"] * 3 + ["COMM_RECV", "COMM_SEND"] * 2
    assert kinds == ["COMM_SEND", *fused, "COMM_RECV"]
    names = edges(made(ring_allreduce(N))[0])
    assert names[:4] == [
        ("COMM_SEND_NODE_tb0_step0", []),
        ("COMM_RECV_NODE_tb0_step1", [0]),
        ("COMP_NODE_tb0_step1", [1]),
        ("COMM_SEND_NODE_tb0_step1", [2]),
    ]
    assert [deps for _, deps in names[1:]] == [[id] for id in range(len(names) - 1)]


def test_fused_and_single_steps_make_the_same_traces_but_for_names() -> None:
    for one, other in zip(
        made(ring_allreduce(N)), made(ring_allreduce(N, split=True)), strict=True
    ):
        for node, same in zip(one, other, strict=True):
            assert (node.type, node.data_deps) == (same.type, same.data_deps)
            assert node.get("comm_tag") == same.get("comm_tag")


def test_a_nop_is_no_node_and_its_dependencies_are_kept() -> None:
    none = 'depid="-1" deps="-1"'

    def step(s: int, kind: str, at: int, rest: str) -> str:
        return (
            f'<step s="{s}" type="{kind}" srcbuf="i" srcoff="{at}" dstbuf="i" dstoff="{at}" '
            f'cnt="{0 if kind == "nop" else 1}" {rest}/>'
        )

    xml = f"""<algo name="a" ngpus="2" coll="custom" inplace="1">
    <gpu id="0" i_chunks="3" o_chunks="0" s_chunks="0">
      <tb id="0" send="-1" recv="1" chan="0">{step(0, "r", 0, none + ' hasdep="1"')}</tb>
      <tb id="1" send="-1" recv="1" chan="1">{step(0, "r", 1, none + ' hasdep="1"')}</tb>
      <tb id="2" send="1" recv="-1" chan="0">
        {step(0, "nop", -1, 'depid="0" deps="0" hasdep="1"')}
        {step(1, "nop", -1, 'depid="1" deps="0" hasdep="0"')}
        {step(2, "s", 0, none + ' hasdep="0"')}
      </tb>
      <tb id="3" send="1" recv="-1" chan="1">
        {step(0, "s", 1, 'depid="2" deps="0" hasdep="0"')}
      </tb>
    </gpu>
    <gpu id="1" i_chunks="3" o_chunks="0" s_chunks="0">
      <tb id="0" send="0" recv="0" chan="0">
        {step(0, "s", 0, none + ' hasdep="0"')}{step(1, "r", 0, none + ' hasdep="0"')}
      </tb>
      <tb id="1" send="0" recv="0" chan="1">
        {step(0, "s", 1, none + ' hasdep="0"')}{step(1, "r", 1, none + ' hasdep="0"')}
      </tb>
    </gpu></algo>"""
    with pytest.raises(Exception, match="a data race"):  # tb 3 sends what tb 1 receives
        made(xml)
    right = xml.replace('depid="2" deps="0" hasdep="0"', 'depid="1" deps="0" hasdep="0"')
    assert edges(made(right)[0]) == [
        ("COMM_RECV_NODE_tb0_step0", []),
        ("COMM_RECV_NODE_tb1_step0", []),
        ("COMM_SEND_NODE_tb2_step2", [0, 1]),
        ("COMM_SEND_NODE_tb3_step0", [1]),
    ]


def test_the_first_message_on_a_channel_has_the_channel_as_its_tag() -> None:
    trace = made(ring_allreduce(3, channels=2))[0]
    tags = [node["comm_tag"] for node in trace if "comm_dst" in node]
    assert tags == [0, 2, 4, 6, 1, 3, 5, 7]


def test_shares_are_rounded_up_and_exact_for_any_size() -> None:
    assert [share(10, count, 4) for count in range(5)] == [0, 3, 5, 8, 10]
    assert share(2**62 - 1, 3, 4) == 3 * 2**60


def ticks(folder: Path, traces: list[Trace], size: int, memory: float = 0.0) -> list[float]:
    """Finish times in ns of ranks that run the traces as an all-reduce of `size`."""
    write(traces, str(folder / "c"))
    network = cluster(("fully_connected", len(traces), 8.0, 100.0))
    outcome = run(
        network,
        lambda trace, rank: trace.collective(CollectiveType.ALL_REDUCE, size),
        collectives=Collectives(all_reduce=Custom(prefix=str(folder / "c"))),
        device=Device(memory_bytes_per_s=memory * 1e9),
    )
    return [float(time) for time in outcome.finish]


@pytest.mark.parametrize("memory", [0.0, MEMORY_BYTES_PER_NS])
def test_a_ring_takes_what_its_chain_of_messages_and_reductions_takes(
    memory: float, tmp_path: Path
) -> None:
    """2 (n - 1) messages of a chunk, n - 1 reductions of one write and two reads of it."""
    chunk = MIB // N
    message = 100 + chunk / 8
    reduction = 3 * chunk / memory if memory else 0
    expected = 2 * (N - 1) * message + (N - 1) * reduction
    assert ticks(tmp_path, made(ring_allreduce(N)), MIB, memory) == [expected] * N


def test_with_a_size_reductions_take_the_time_in_the_trace(tmp_path: Path) -> None:
    chunk = MIB // N
    reduction = round(3 * chunk / 50)
    assert (reduction, round(reduction / 1000)) == (15729, 16)
    nodes = [node for node in made(ring_allreduce(N), Sizes(MIB))[0] if "duration_ns" in node]
    assert [(n.duration_micros, n["duration_ns"]) for n in nodes] == [(16, 15729)] * (N - 1)
    expected = 2 * (N - 1) * (100 + chunk / 8) + (N - 1) * reduction
    assert ticks(tmp_path, made(ring_allreduce(N), Sizes(MIB)), 1, 999.0) == [expected] * N


@pytest.mark.parametrize("size", [MIB, MIB + 5, 7, 1])
@pytest.mark.parametrize("seed", range(12))
def test_both_forms_take_equally_long(seed: int, size: int, tmp_path: Path) -> None:
    xml = random_program(seed)
    (tmp_path / "sized").mkdir()
    sized = ticks(tmp_path / "sized", made(xml, Sizes(size, 0)), 12345)
    assert ticks(tmp_path, made(xml), size) == sized


def test_a_group_runs_the_program_among_its_members(tmp_path: Path) -> None:
    write(made(ring_allreduce(2)), str(tmp_path / "c"))
    network = cluster(("fully_connected", 4, 8.0, 100.0))

    def enter(trace: TraceBuilder, rank: int) -> None:
        if rank in (1, 3):
            trace.collective(CollectiveType.ALL_REDUCE, 1600, group="1")

    outcome = run(
        network,
        enter,
        collectives=Collectives(all_reduce=Custom(prefix=str(tmp_path / "c"))),
        groups=((1, (1, 3)),),
    )
    assert [float(time) for time in outcome.finish] == [0, 400, 0, 400]


BAD_CHUNKS = {
    (1, 0): "are 1 and 0; expected 0 or more chunks of 1 or more",
    (-1, 4): "are -1 and 4; expected 0 or more chunks of 1 or more",
    (1, None): "attribute 'total_chunk_cnt' is missing or not an integer",
    (None, 4): "attribute 'msg_chunk_cnt' is missing or not an integer",
    (None, None): "attribute 'comm_size' is missing or not an integer",
    ("1", 4): "attribute 'msg_chunk_cnt' is missing or not an integer",
}


@pytest.mark.parametrize(("chunks", "total"), BAD_CHUNKS)
def test_chunks_that_give_no_size_are_refused(
    chunks: int | str | None, total: int | None, tmp_path: Path
) -> None:
    for rank in range(2):
        trace = TraceBuilder(rank=rank)
        for node in (trace.send(1 - rank, 1), trace.recv(1 - rank, 1)):
            del node["comm_size"]
            if chunks is not None:
                node["msg_chunk_cnt"] = chunks
            if total is not None:
                node["total_chunk_cnt"] = total
        trace.build().write(tmp_path / f"c.{rank}.et")
    with pytest.raises(TraceError) as caught:
        ticks(tmp_path, [chakra.read(tmp_path / f"c.{rank}.et") for rank in range(2)], 8)
    assert BAD_CHUNKS[chunks, total] in str(caught.value)


def test_a_message_without_partner_says_its_bytes(tmp_path: Path) -> None:
    one, other = made(ring_allreduce(2))
    for node in (alone := list(other)):
        if "comm_dst" in node:
            node["comm_tag"] = 77
    with pytest.raises(DeadlockError, match=r"waits for a message from rank 1 \(tag 0, 800 B\)"):
        ticks(tmp_path, [one, Trace(alone)], 1600)


def test_a_trace_without_sizes_is_valid_as_a_trace_of_a_collective() -> None:
    for trace in made(ring_allreduce(N)):
        assert chakra.validate(trace) == []
        assert _core.check_custom(trace.graph(), N, False) == []
        assert chakra.validate(Trace.from_bytes(trace.to_bytes())) == []


@pytest.fixture
def xml(tmp_path: Path) -> str:
    path = tmp_path / "ring.xml"
    path.write_text(ring_allreduce(N))
    return str(path)


def test_the_command_proves_and_writes(
    xml: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = str(tmp_path / "new" / "ar")
    assert main(["chakra", "convert", "msccl", xml, "-o", prefix]) == 0
    assert capsys.readouterr().out == (
        "ring: allreduce over 4 GPUs\n"
        "messages: all 24 have a sender and a receiver, over 4 connections\n"
        "deadlock: none; the longest chain has 7 of 28 steps\n"
        "memory: no step leaves its buffers or reads what nothing has written\n"
        "races: none; every order of the steps gives the same data\n"
        "result: every GPU holds the sum of all inputs, called in place\n"
        f"wrote: {prefix}.0.et to {prefix}.3.et, 60 nodes\n"
    )
    assert chakra.read(f"{prefix}.3.et") == made(ring_allreduce(N))[3]


def test_nothing_is_written_when_only_checked_or_wrong(
    xml: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chakra", "convert", "msccl", xml, "--check-only"]) == 0
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(ring_allreduce(N).replace('type="rrcs"', 'type="rcs"', 1))
    out = str(tmp_path / "out")
    assert main(["chakra", "convert", "msccl", str(wrong), "-o", out]) == 2
    assert "at the end of allreduce" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ring.xml", "wrong.xml"]


BAD_OPTIONS = {
    (): "expected either -o OUTPUT or --check-only",
    ("-o", "x", "--check-only"): "expected either -o OUTPUT or --check-only",
    ("-o", "x", "--size", "12"): "--size: ",
    ("-o", "x", "--size", "1 b"): "--size: expected whole bytes, 1 or more, got '1 b'",
    ("-o", "x", "--size", "0 B"): "--size: expected whole bytes, 1 or more, got '0 B'",
    ("-o", "x", "--memory-bandwidth", "1GB/s"): "--memory-bandwidth goes with --size",
    ("-o", "x", "--size", "1 B", "--memory-bandwidth", "1e-300 B/s"): "expected 0 or at least 1",
    ("-o", "x", "--size", "1 B", "--memory-bandwidth", "-1 B/s"): "--memory-bandwidth: ",
    ("-o", "x", "--compat", "upstream-sized"): "--compat upstream-sized needs a --size",
    ("-o", "x", "--compat", "upstream-head", "--size", "1 B"): "writes no sizes",
    ("--check-only", "--collective", "allgathr"): "did you mean 'allgather'?",
}


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=" ".join)
def test_options_that_make_no_sense_are_refused(
    options: tuple[str, ...], xml: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chakra", "convert", "msccl", xml, *options]) == 2
    assert BAD_OPTIONS[options] in capsys.readouterr().err


def test_compat_writes_what_is_not_proven_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(ring_allreduce(2, split=True).replace('type="rrc"', 'type="r"', 1))
    prefix = str(tmp_path / "up")
    command = ["chakra", "convert", "msccl", str(wrong), "-o", prefix]
    assert main([*command, "--compat", "upstream-head"]) == 0
    assert "warning: not proven: " in capsys.readouterr().err
    assert len(chakra.read(f"{prefix}.0.et")) == 4


def test_compat_refuses_what_upstream_cannot_convert(
    xml: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["chakra", "convert", "msccl", xml, "-o", str(tmp_path / "up")]
    assert main([*command, "--compat", "upstream-head"]) == 3
    assert "leave --compat out" in capsys.readouterr().err


def test_the_traces_run_with_the_inputs_of_astra_sim(
    xml: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """14 nodes a message after the other as in the ring of eight, here six of 262144 bytes."""
    monkeypatch.chdir(tmp_path)
    assert main(["chakra", "convert", "msccl", xml, "-o", "ar"]) == 0
    step = TraceBuilder()
    step.collective(CollectiveType.ALL_REDUCE, MIB)
    for rank in range(N):
        step.build().write(f"step.{rank}.et")
    system = {
        "all-reduce-implementation-custom": ["ar"],
        "scheduling-policy": "LIFO",
        "preferred-dataset-splits": 1,
        "local-mem-bw": 50,
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 1,
    }
    Path("system.json").write_text(json.dumps(system))
    Path("network.yml").write_text(
        "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n"
    )
    Path("memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    capsys.readouterr()
    status = main(
        [
            "astra-sim",
            "--workload-configuration=step",
            "--system-configuration=system.json",
            "--network-configuration=network.yml",
            "--remote-memory-configuration=memory.json",
        ]
    )
    captured = capsys.readouterr()
    assert status == 0, captured.err
    message = int(500 + 262144 / (50 * 1073741824 / 1e9))
    expected = 6 * message + 3 * 3 * int(262144 / 50)
    assert captured.out.count(f"finished, {expected} cycles") == N
