"""What a collective moves when one rank represents more or fewer ranks than were recorded."""

from __future__ import annotations

import json
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import call, event, kernel, op
from tests.unit.test_recordings_lose_nothing import linked
from yantra import chakra
from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.chakra.trace import Trace
from yantra.cli import main
from yantra.tracing.pytorch.convert import ConvertOptions, convert_job
from yantra.tracing.pytorch.replicate import Gathered

RECORDED = 2
Events = list[dict[str, Any]]


def collectives(*calls: tuple[str, int, int], around: str = "") -> dict[str, Any]:
    events: Events = []
    for at, (name, into, out) in enumerate(calls):
        begin = 100 + 100 * at
        args = {"Collective__name": name, "In__msg__nelems": into, "Out__msg__nelems": out}
        args |= {"dtype": "Float", "Group__size": RECORDED, "Process__Group__Name": "0"}
        if around:
            events.append(event("user_annotation", around, begin - 1, 60))
        events += [op(at + 1, "record_param_comms", begin, 20, **args)]
        events += [call("cudaLaunchKernel", begin + 5, 4, 50 + at)]
        events += [kernel(begin + 12, 30, 50 + at, name=f"ncclDevKernel_{KERNELS[name]}(x)")]
    info = {"rank": 0, "world_size": RECORDED}
    return {"distributedInfo": info, "traceEvents": events}


KERNELS = {
    "allreduce": "AllReduce_Sum",
    "_allgather_base": "AllGather",
    "_reduce_scatter_base": "ReduceScatter_Sum",
    "broadcast": "Broadcast",
    "all_to_all": "SendRecv",
}
FSDP = (("_allgather_base", 480, 960), ("_reduce_scatter_base", 960, 480))


def sizes(
    trace: dict[str, Any], ranks: int, gathered: Gathered | None = None, *, template: bool = False
) -> list[tuple[str, int]]:
    content: dict[int, bytes] = {}

    def take(rank: int, pieces: Any) -> None:
        content[rank] = b"".join(pieces)

    options = ConvertOptions(replicate=ranks, gathered=gathered, template=template)
    convert_job([lambda: linked(trace)], take, options)
    assert len(content) == (1 if template else ranks)
    nodes = [node for node in Trace.from_bytes(content[0]) if node.type == NodeType.COMM_COLL]
    return [
        (CollectiveType(node.get("comm_type")).name, int(str(node.get("comm_size"))))
        for node in nodes
    ]


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 64])
@pytest.mark.parametrize("template", [False, True])
def test_sharded_parameters_stay_as_large_as_a_whole(ranks: int, template: bool) -> None:
    (gather, share), (scatter, whole) = sizes(collectives(*FSDP), ranks, template=template)
    assert (gather, scatter) == ("ALL_GATHER", "REDUCE_SCATTER")
    assert share * ranks == 960 * 4 and whole == 960 * 4


def test_a_share_that_is_no_whole_number_is_rounded_up() -> None:
    (_, share), _ = sizes(collectives(*FSDP), 7)
    assert share == -(-960 * 4 // 7)


def test_shares_shrink_as_ranks_grow() -> None:
    shares = [sizes(collectives(*FSDP), ranks)[0][1] for ranks in (2, 3, 5, 8, 100)]
    assert all(more > fewer for more, fewer in pairwise(shares))


@pytest.mark.parametrize(("name", "into"), [("allreduce", 100), ("broadcast", 100)])
def test_what_moves_the_whole_in_any_case_keeps_its_size(name: str, into: int) -> None:
    ((_, size),) = sizes(collectives((name, into, into)), 64)
    assert size == 400


def test_an_exchange_keeps_what_each_rank_sends() -> None:
    ((kind, size),) = sizes(collectives(("all_to_all", 100, 100)), 64)
    assert (kind, size) == ("ALL_TO_ALL", 400)


def test_gathers_inside_the_frameworks_ranges_are_shards_without_gradients() -> None:
    trace = collectives(("_allgather_base", 480, 960), around="FSDP::all_gather (layer 3)")
    assert sizes(trace, 8) == [("ALL_GATHER", 480)]


def test_what_the_recording_does_not_tell_is_asked() -> None:
    trace = collectives(("_allgather_base", 10, 20))
    with pytest.raises(TraceError, match=r"ALL_GATHER; 40 B a rank.*--gathered shards .*copies"):
        sizes(trace, 8)
    assert sizes(trace, RECORDED) == [("ALL_GATHER", 40)]
    assert sizes(trace, 8, "copies") == [("ALL_GATHER", 40)]
    assert sizes(trace, 8, "shards") == [("ALL_GATHER", 10)]


def test_an_answer_is_for_what_the_recording_does_not_tell() -> None:
    trace = collectives(*FSDP, ("_allgather_base", 10, 20))
    assert sizes(trace, 4, "copies") == [
        ("ALL_GATHER", 960),
        ("REDUCE_SCATTER", 3840),
        ("ALL_GATHER", 40),
    ]


def test_commands_write_a_trace_of_each_rank_or_one_template(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.json").write_text(json.dumps(collectives(*FSDP, ("_allgather_base", 10, 20))))
    command = ["chakra", "convert", "pytorch", "k.json", "--replicate", "8"]
    assert main([*command, "-o", "job"]) == 2
    assert "--gathered" in capsys.readouterr().err
    for output in ("job", "job.yw"):
        assert main([*command, "--gathered", "copies", "-o", output]) == 0
        assert "1 collective of all ranks scaled from 2 ranks to 8" in capsys.readouterr().err
    of_first, of_last = (
        [node.get("comm_size") for node in chakra.read(f"job.{rank}.et")] for rank in (0, 7)
    )
    assert of_first == of_last and 480 in of_first
    assert main(["workload", "expand", "job.yw", "-o", "more"]) == 0
    (path,) = tmp_path.glob("more/*.3.et")
    assert [node.get("comm_size") for node in chakra.read(path)] == of_first


# The linear layers 10 x 7 and 7 x 10 of one `fully_shard` of PyTorch 2.13: elements a rank that its
# all-gathers had on so many ranks.
LAYERS = [[7, 10], [7], [10, 7], [10]]
RECORDED_SHARDS = {2: 84, 3: 65, 4: 46, 8: 27}


def padding_recording(*lists: list[list[int]], width: str = "Float") -> dict[str, Any]:
    pairs: list[tuple[str, int, int]] = []
    for shapes in lists:
        share = sum(-(-shape[0] // 2) * prod(shape[1:]) for shape in shapes)
        pairs += [("_allgather_base", share, 2 * share), ("_reduce_scatter_base", 2 * share, share)]
    trace = collectives(*pairs)
    for at, shapes in enumerate(lists):
        args = {"Input Dims": [shapes, [], [], [2, 1]], "Concrete Inputs": ["", "0", "2", ""]}
        args["Input type"] = ["TensorList", "Scalar", "Scalar", "float"]
        name, begin = "fsdp::chunk_cat", 170 + 200 * at
        trace["traceEvents"].append(op(1000 + at, name, begin, 10) | {"args": args})
    for one in trace["traceEvents"]:
        if "dtype" in one.get("args", {}):
            one["args"]["dtype"] = width
    return trace


@pytest.mark.parametrize(("ranks", "share"), RECORDED_SHARDS.items())
@pytest.mark.parametrize("template", [False, True])
def test_fsdp2_pads_each_parameter_as_it_does_on_that_many_ranks(
    ranks: int, share: int, template: bool
) -> None:
    made = sizes(padding_recording(LAYERS), ranks, template=template)
    assert made == [("ALL_GATHER", 4 * share), ("REDUCE_SCATTER", 4 * share * ranks)]


@pytest.mark.parametrize("ranks", [4, 64, 1000])
@pytest.mark.parametrize(("width", "bytes_each"), [("Float", 4), ("BFloat16", 2)])
def test_padding_follows_its_formula_for_each_group(
    ranks: int, width: str, bytes_each: int
) -> None:
    lists = [[[131, 3], [5]], [[1000, 40], [40], [7, 7, 2]]]
    made = sizes(padding_recording(*lists, width=width), ranks)
    for at, shapes in enumerate(lists):
        rows = [-(-shape[0] // ranks) for shape in shapes]
        others = [shape[1:] or [1] for shape in shapes]
        share = sum(row * prod(other) for row, other in zip(rows, others, strict=True))
        whole = share * bytes_each * ranks
        assert made[2 * at : 2 * at + 2] == [
            ("ALL_GATHER", share * bytes_each),
            ("REDUCE_SCATTER", whole),
        ]


def test_without_the_shapes_of_gradients_shards_are_even() -> None:
    trace = padding_recording(LAYERS)
    for one in trace["traceEvents"]:
        if one["name"] == "fsdp::chunk_cat":
            one["args"] = {}
    (_, share), (_, whole) = sizes(trace, 8)
    assert (share, whole) == (4 * 84 * 2 // 8, 4 * 84 * 2)


def test_two_lists_of_gradients_that_differ_on_more_ranks_are_not_chosen_from() -> None:
    same = [[168], [24, 7]]
    trace = padding_recording([same[0]], [same[1]])
    made = sizes(trace, 5)
    assert made[0] == ("ALL_GATHER", -(-168 * 4 // 5))
