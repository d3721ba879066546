"""Execution plans of MSCCL++: what is proven of them, and the traces they become."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError, UnsupportedError, YantraError
from yantra.chakra import CollectiveType, NodeType, Trace, TraceBuilder
from yantra.cli import main
from yantra.collectives.msccl import Sizes
from yantra.collectives.mscclpp import Proof, parse_plan, prove, traces
from yantra.compile import compile
from yantra.run.simulate import run
from yantra.scenario import load

Op = dict[str, Any]
Tree = dict[str, Any]


def chunk(buffer: str, index: int, size: int = 1) -> Op:
    return {"type": buffer, "index": index, "size": size}


def far(number: int, index: int, size: int = 1) -> Op:
    return {"buffer_id": number, "index": index, "size": size}


class Block:
    """The operations of one thread block; channels and buffers are those of its GPU, in order."""

    def __init__(self, peers: int, group: tuple[int, int] | None = None) -> None:
        self.ops: list[Op] = []
        self.peers, self.group = peers, group

    def add(self, name: str, **fields: Any) -> Block:
        if self.group and "src_buff" in fields:
            fields["tbg_info"] = {"tb_id": self.group[0], "tbg_size": self.group[1]}
        self.ops.append({"name": name, **fields})
        return self

    def sync(self, name: str, *channels: int) -> Block:
        return self.add(name, channel_ids=list(channels), channel_type="memory")

    def tree(self, number: int) -> Tree:
        every = list(range(self.peers))
        return {
            "id": number,
            "ops": self.ops,
            "channels": [{"channel_type": "memory", "channel_ids": every}],
            "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": every}],
        }


def plan(collective: str, gpus: list[list[Block]], chunks: tuple[int, int, int], buffer: str,
         **more: Any) -> Tree:  # fmt: skip
    """Return a plan whose GPUs have a channel to each other GPU, and its buffer of one kind."""
    ranks = range(len(gpus))
    return {
        "name": "own",
        "collective": collective,
        "protocol": "Simple",
        "inplace": True,
        "gpus": [
            {
                "id": gpu,
                "input_chunks": chunks[0],
                "output_chunks": chunks[1],
                "scratch_chunks": chunks[2],
                "threadblocks": [block.tree(at) for at, block in enumerate(blocks)],
                "channels": [
                    {
                        "channel_type": "memory",
                        "connected_to": [peer for peer in ranks if peer != gpu],
                    }
                ],
                "remote_buffers": [
                    {"rank": peer, "type": buffer, "access_channel_types": ["memory"]}
                    for peer in ranks
                    if peer != gpu
                ],
                "semaphores": [{"init_value": 0}],
            }
            for gpu, blocks in enumerate(gpus)
        ],
    } | more


def gathering(ranks: int, groups: int = 1) -> Tree:
    """All-gather in place: each GPU puts its shard into the output of all others."""
    gpus = []
    for gpu in range(ranks):
        channels = range(ranks - 1)
        blocks = []
        for part in range(groups):
            block = Block(ranks - 1, (part, groups) if groups > 1 else None)
            for at in channels:
                block.add(
                    "put", src_buff=[chunk("o", gpu)], dst_buff=[far(at, gpu)],
                    channel_type="memory",
                )  # fmt: skip
            blocks.append(block)
        blocks[0].sync("signal", *channels).sync("wait", *channels)
        gpus.append(blocks)
    return plan("allgather", gpus, (1, ranks, 0), "o")


def reducing(ranks: int) -> Tree:
    """All-reduce in place: GPU g reads and adds chunk g of all, and puts the sum to all."""
    gpus = []
    for gpu in range(ranks):
        channels = range(ranks - 1)
        block = Block(ranks - 1).sync("rlxsignal", *channels).sync("rlxwait", *channels)
        everywhere = [far(at, gpu) for at in channels]
        block.add(
            "rres", src_buff=[chunk("i", gpu), *everywhere],
            dst_buff=[chunk("i", gpu), *everywhere], channel_type="memory", reduce_op="sum",
        )  # fmt: skip
        gpus.append([block.sync("signal", *channels).sync("wait", *channels)])
    return plan("allreduce", gpus, (ranks, ranks, 0), "i")


def packing(ranks: int) -> Tree:
    """All-reduce of packets: each GPU puts all it has into the scratch of all others."""
    gpus = []
    for gpu in range(ranks):
        block = Block(ranks - 1)
        for at, peer in enumerate(peer for peer in range(ranks) if peer != gpu):
            place = gpu if gpu < peer else gpu - 1
            block.add(
                "ppkt", src_buff=[chunk("i", 0)], dst_buff=[far(at, place)], channel_type="memory"
            )
        packets = [chunk("s", at) for at in range(ranks - 1)]
        block.add(
            "repkt", src_buff=[chunk("i", 0), *packets], dst_buff=[chunk("i", 0)], reduce_op="sum"
        )
        gpus.append([block])
    return plan("allreduce", gpus, (1, 1, ranks - 1), "s", protocol="LL")


PLANS: dict[str, Callable[[], Tree]] = {
    "gather 2": lambda: gathering(2),
    "gather 5": lambda: gathering(5),
    "reduce 2": lambda: reducing(2),
    "reduce 4": lambda: reducing(4),
    "packets 4": lambda: packing(4),
}


def proven(tree: Tree) -> Proof:
    return prove(parse_plan(json.dumps(tree), "plan.json"))


def messages(made: list[Trace]) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    for gpu, trace in enumerate(made):
        for node in trace:
            if node.type == NodeType.COMM_SEND:
                yield "send", (gpu, node["comm_dst"], node["comm_tag"], node["comm_size"])
            if node.type == NodeType.COMM_RECV:
                yield "recv", (node["comm_src"], gpu, node["comm_tag"], node["comm_size"])


@pytest.mark.parametrize("name", PLANS)
def test_every_message_has_both_ends_and_a_tag_of_its_own(name: str) -> None:
    made = traces(proven(PLANS[name]()), Sizes(1 << 20))
    found: dict[str, Counter[Any]] = {"send": Counter(), "recv": Counter()}
    for which, message in messages(made):
        found[which][message] += 1
    assert found["send"] == found["recv"] and set(found["send"].values()) == {1}


@pytest.mark.parametrize(("ranks", "groups"), [(2, 1), (4, 1), (4, 2), (3, 6)])
def test_an_all_gather_sends_each_shard_to_all_others(ranks: int, groups: int) -> None:
    tree = gathering(ranks, groups)
    for gpu in tree["gpus"]:  # the others of a group end before the first signals
        for at, block in enumerate(gpu["threadblocks"][1:], 1):
            block["ops"].append({"name": "sem_release", "semaphore_ids": [0]})
            first = gpu["threadblocks"][0]["ops"]
            first.insert(len(first) - 2, {"name": "sem_acquire", "semaphore_ids": [0]})
            assert at < groups
    proof = proven(tree)
    assert proof.collective == "allgather"
    size = 6 * 1024
    sent = Counter[int]()
    for which, (source, _, _, bytes_) in messages(traces(proof, Sizes(size))):
        if which == "send" and bytes_ != 8:
            sent[source] += bytes_
    assert sent == dict.fromkeys(range(ranks), (ranks - 1) * size)


def time_ns(folder: Path, tree: Tree, kind: CollectiveType, size: int, memory: str) -> float:
    ranks = len(tree["gpus"])
    for gpu, trace in enumerate(traces(proven(tree))):
        trace.write(str(folder / f"plan.{gpu}.et"))
    for rank in range(ranks):
        step = TraceBuilder(rank=rank)
        step.collective(kind, size)
        step.build().write(str(folder / f"step.{rank}.et"))
    scenario = {
        "workload": {"traces": "step.{rank}.et"},
        "cluster": {
            "topology": [
                {"kind": "fully_connected", "size": ranks, "bandwidth": "100 GB/s",
                 "latency": "1 us"},
            ],
            "device": {"memory_bandwidth": memory},
        },
        "network": "flow",
        "collectives": {kind.name.lower(): {"custom": "plan.{position}.et"}},
    }  # fmt: skip
    path = folder / "step.yaml"
    path.write_text(json.dumps(scenario))
    return run(compile(load(path))).makespan_ns


def test_puts_take_their_bytes_and_a_signal_follows_them(tmp_path: Path) -> None:
    size = 1 << 26
    took = time_ns(tmp_path, gathering(2), CollectiveType.ALL_GATHER, size, "1 TB/s")
    assert took == pytest.approx(size / 100 + 1000 + 8 / 100)


def test_reading_reductions_take_a_request_the_data_and_the_sum(tmp_path: Path) -> None:
    size = 1 << 26
    took = time_ns(tmp_path, reducing(2), CollectiveType.ALL_REDUCE, size, "1 TB/s")
    half, signal = size / 2, 1000 + 8 / 100
    read, put = signal + 1000 + half / 100, half / 100
    assert took == pytest.approx(signal + read + 3 * half / 1000 + put + signal)


def test_packets_have_twice_the_bytes_and_no_signals(tmp_path: Path) -> None:
    size = 1 << 26
    took = time_ns(tmp_path, packing(2), CollectiveType.ALL_REDUCE, size, "1 TB/s")
    assert took == pytest.approx(1000 + 2 * size / 100 + 3 * size / 1000, rel=1e-4)


def first_ops(tree: Tree, gpu: int = 0) -> list[Op]:
    ops: list[Op] = tree["gpus"][gpu]["threadblocks"][0]["ops"]
    return ops


def drop(name: str) -> Callable[[Tree], Any]:
    def change(tree: Tree) -> None:
        ops = first_ops(tree)
        del ops[next(at for at, op in enumerate(ops) if op["name"] == name)]

    return change


def put(field: str, value: Any) -> Callable[[Tree], Any]:
    def change(tree: Tree) -> None:
        op = next(op for op in first_ops(tree) if "src_buff" in op)
        target = op["dst_buff"][-1] if field in ("index", "buffer_id", "size") else op
        target[field] = value

    return change


BROKEN: dict[str, tuple[str, Callable[[Tree], Any]]] = {
    "waits for a signal of its channel that nobody gives": ("gather 2", drop("signal")),
    "must hold input chunk 0 of GPU 0, but holds nothing": ("gather 2", drop("put")),
    "which may end before, as it waits for no signal of it": ("reduce 2", drop("rlxwait")),
    "a data race, as neither waits for the other": ("gather 2", put("index", 1)),
    "touches units 7 to 7 of the output of GPU 1, which has 2": ("gather 2", put("index", 7)),
    "memory buffer 3 is none of its thread block's": ("gather 2", put("buffer_id", 3)),
    "sources and destinations of one size": ("gather 2", put("size", 2)),
    "a second time": (
        "reduce 2",
        lambda tree: first_ops(tree)[2]["src_buff"].append(chunk("i", 0)),
    ),
    "reads packets that nobody puts": ("packets 4", drop("ppkt")),
    "name: expected one of .*, got \"putt\"": ("gather 2", put("name", "putt")),
    "gpus: expected one GPU": ("gather 2", lambda tree: tree.update(gpus=[])),
    "inplace: expected true or false": ("gather 2", lambda tree: tree.update(inplace="yes")),
    "expected a GPU from 0 to 1, got 5": (
        "gather 2",
        lambda tree: tree["gpus"][0]["channels"][0].update(connected_to=[5]),
    ),
    "2 thread blocks meet, and 1 come": (
        "gather 2",
        lambda tree: first_ops(tree).append(
            {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}
        ),
    ),
    "semaphore 4 of 1": (
        "gather 2",
        lambda tree: first_ops(tree).append({"name": "sem_acquire", "semaphore_ids": [4]}),
    ),
    "waits for a release that nobody gives": (
        "gather 2",
        lambda tree: first_ops(tree).append({"name": "sem_acquire", "semaphore_ids": [0]}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_plan_is_refused_at_its_operation(problem: str) -> None:
    name, change = BROKEN[problem]
    tree = PLANS[name]()
    proven(tree)
    change(tree)
    with pytest.raises(ConfigError, match=problem) as caught:
        proven(tree)
    assert str(caught.value).startswith("plan.json: ")


def test_waits_for_each_other_are_found() -> None:
    tree = reducing(2)
    for gpu in (0, 1):
        ops = first_ops(tree, gpu)
        ops[0], ops[1] = ops[1], ops[0]
    with pytest.raises(ConfigError, match="waits for itself, through"):
        proven(tree)


@pytest.mark.parametrize("name", ["gstore", "gstorepkt", "glre", "glres"])
def test_what_is_not_read_is_refused_by_name(name: str) -> None:
    tree = gathering(2)
    first_ops(tree).append({"name": name})
    with pytest.raises(UnsupportedError, match=f"ops\\[3\\]: {name}: a switch copies or adds here"):
        proven(tree)


def pipelined(tree: Tree, unit: int, chunks: int) -> Tree:
    for gpu in tree["gpus"]:
        for block in gpu["threadblocks"]:
            context = {"unit_size": unit, "num_chunks": chunks}
            block["ops"] = [{"name": "pipeline", "iter_context": context, "ops": block["ops"]}]
    return tree


def of_size(tree: Tree, size: int) -> tuple[Proof, list[Trace]]:
    proof = prove(parse_plan(json.dumps(tree), "plan.json", size))
    return proof, traces(proof, Sizes(size))


@pytest.mark.parametrize(("size", "unit"), [(4096, 1024), (4096, 4096), (1000, 300), (1000, 7000)])
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_pipeline_sends_unit_by_unit_what_its_operations_send(
    ranks: int, size: int, unit: int
) -> None:
    proof, made = of_size(pipelined(gathering(ranks), unit, 1), size)
    assert proof.lines[-1] == "result: every GPU holds the shards of all, called in place"
    for gpu in range(ranks):
        to_next = [
            bytes_
            for which, (source, target, _, bytes_) in messages(made)
            if which == "send" and (source, target) == (gpu, (gpu + 1) % ranks)
        ]
        left = [min(unit, size - begin) for begin in range(0, size, unit)]
        assert to_next == [bytes_ for part in left for bytes_ in (part, 8)]


@pytest.mark.parametrize("units", [1, 4])
def test_a_pipeline_of_reductions_adds_every_chunk_once(units: int) -> None:
    size = 3 * 4096
    proof, made = of_size(pipelined(reducing(3), 4096 // units, 1), size)
    assert "every GPU holds the sum of all inputs" in proof.lines[-1]
    plain, whole = of_size(reducing(3), size)
    data = [sum(one[3] for _, one in messages(each) if one[3] != 8) for each in (made, whole)]
    assert data[0] == data[1]
    assert proof.order.depth() > plain.order.depth() or units == 1


def test_more_thread_blocks_share_a_unit_of_a_pipeline() -> None:
    tree = gathering(2, 2)
    for gpu in tree["gpus"]:
        gpu["threadblocks"][1]["ops"].append({"name": "sem_release", "semaphore_ids": [0]})
        first = gpu["threadblocks"][0]["ops"]
        first.insert(1, {"name": "sem_acquire", "semaphore_ids": [0]})
    _, made = of_size(pipelined(tree, 256, 1), 1024)
    sent = [one[3] for which, one in messages(made) if which == "send" and one[3] != 8]
    assert sum(sent) == 2 * 1024 and set(sent) == {256}  # 512 B for each block of two


def test_a_pipeline_needs_a_size_of_whole_chunks_and_rounds_that_fit() -> None:
    tree = pipelined(gathering(2), 256, 1)
    with pytest.raises(
        ConfigError, match=r"ops\[0\]: a pipeline's rounds depend on the size; give"
    ):
        proven(tree)
    with pytest.raises(ConfigError, match="expected a --size of whole chunks, 2 of them, got 7"):
        of_size(pipelined(reducing(2), 256, 1), 7)
    with pytest.raises(UnsupportedError, match="into more than 4096 parts, of 1000003 bytes each"):
        of_size(tree, 1_000_003)
    with pytest.raises(ConfigError, match="a pipeline in a pipeline"):
        of_size(pipelined(tree, 256, 1), 1024)
    with pytest.raises(ConfigError, match="iter_context: expected a unit and chunks of at least 1"):
        of_size(pipelined(gathering(2), 0, 1), 1024)


def test_a_signal_that_goes_with_data_needs_data_in_every_round() -> None:
    tree = pipelined(gathering(2), 256, 2)
    for gpu in tree["gpus"]:
        ops = gpu["threadblocks"][0]["ops"][0]["ops"]
        ops[0] |= {"name": "pws", "channel_ids": [0]}
        del ops[1]
    with pytest.raises(UnsupportedError, match="pws: what its signal does in a round without data"):
        of_size(tree, 1024)


def mutated(tree: Tree, depth: int = 0) -> Iterator[Callable[[], None]]:
    rows = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(rows):
        for other in (None, -1, "x", 2**40, [], {}):
            yield lambda key=key, other=other: tree.__setitem__(key, other)  # type: ignore[misc]
        tree[key] = value
        if isinstance(value, dict | list) and depth < 9:
            yield from mutated(value, depth + 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["gather 2", "reduce 2", "packets 4"])
def test_any_wrong_value_is_refused_or_means_the_same(name: str) -> None:
    tree = PLANS[name]()
    tree["gpus"] = tree["gpus"][:2] if name != "packets 4" else tree["gpus"]
    refused = 0
    for change in mutated(tree):
        change()
        try:
            proven(tree)
        except YantraError:
            refused += 1
    assert refused > 100
    proven(tree)


def test_the_command_tells_plans_from_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(gathering(3)))
    command = ["chakra", "convert", "msccl", str(path)]
    assert main([*command, "-o", str(tmp_path / "out" / "x")]) == 0
    told = capsys.readouterr().out
    assert "own: allgather over 3 GPUs\nsignals: all 6 waits have theirs; 6 puts\n" in told
    assert len(list((tmp_path / "out").glob("x.*.et"))) == 3
    assert main([*command, "--check-only", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["collective"] == "allgather"
    assert main([*command, "--check-only", "--compat", "upstream-head"]) == 2
    path.write_text("{}")
    assert main([*command, "--check-only"]) == 2
    assert "plan.json: name: missing" not in capsys.readouterr().out


@pytest.mark.parametrize("field", ["size", "index"])
def test_a_plan_that_moves_too_much_is_refused_before_it_is_played(field: str) -> None:
    tree = packing(4)
    for op in first_ops(tree):
        for span in (*op["src_buff"], *op["dst_buff"]):
            span[field] = 1 << 24
    with pytest.raises(ConfigError, match=r"the operations move|touches units|nobody puts"):
        proven(tree)
