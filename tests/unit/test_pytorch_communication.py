"""What communicates in a linked trace: kinds, sizes, groups, peers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.linked_jobs import Rank, io, record, tensor
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch.calls import Calls, facts, plain
from yantra.tracing.pytorch.communication import Communication, collective_of, find
from yantra.tracing.pytorch.linked import CommArgs, ProcessGroup
from yantra.tracing.pytorch.tensors import dtype_bytes, value_bytes

T = CollectiveType
WORLD = ProcessGroup("0", "default_pg", "nccl", [0, 1, 2, 3])
PAIR = ProcessGroup("3", "pair", "nccl", [2, 1])


def found(rank: Rank) -> list[Communication]:
    return find(rank.linked, Calls(rank.linked.operators)).items


def only(rank: Rank) -> Communication:
    (item,) = found(rank)
    return item


# ------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)", T.ALL_REDUCE),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", T.ALL_REDUCE),
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", T.ALL_REDUCE),
        ("ncclDevKernel_AllReduce_Sum_bf16_NVLS(ncclDevKernelArgsStorage<4096ul>)", T.ALL_REDUCE),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", T.ALL_GATHER),
        ("ncclDevKernel_ReduceScatter_Sum_f16_RING_SIMPLE", T.REDUCE_SCATTER),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", T.BROADCAST),
        ("ncclKernel_Reduce_RING_LL_Sum_float(ncclDevComm*)", T.REDUCE),
        ("ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16", T.ALL_REDUCE),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", None),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", None),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", None),
        ("rccl_main_kernel", None),
    ],
)
def test_a_kernel_tells_its_collective_where_its_name_does(
    kernel: str, kind: CollectiveType | None
) -> None:
    assert collective_of(kernel) is kind


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("allreduce", T.ALL_REDUCE),
        ("allreduce_coalesced", T.ALL_REDUCE),
        ("_allgather_base", T.ALL_GATHER),
        ("all_gather_into_tensor_coalesced", T.ALL_GATHER),
        ("_reduce_scatter_base", T.REDUCE_SCATTER),
        ("reduce_scatter_tensor_coalesced", T.REDUCE_SCATTER),
        ("all_to_all", T.ALL_TO_ALL),
        ("all_to_allv", T.ALL_TO_ALL),
        ("broadcast", T.BROADCAST),
        ("_broadcast_oop", T.BROADCAST),
        ("reduce", T.REDUCE),
        ("_reduce_oop", T.REDUCE),
        ("gather", T.GATHER),
        ("scatter", T.SCATTER),
        ("barrier", T.BARRIER),
        ("send", None),
        ("coalesced", None),
    ],
)
def test_a_call_tells_its_collective(call: str, kind: CollectiveType | None) -> None:
    assert collective_of(call) is kind


def test_a_generic_kernel_does_what_its_call_says() -> None:
    rank = Rank(0, 4, [WORLD])
    around = rank.operator("record_param_comms", 1, 10, inputs=record("all_to_all", 64, "0", 5))
    rank.launch("ncclDevKernel_SendRecv(x)", rank.operator("nccl:all_to_all", around.id, 9), 7)
    item = only(rank)
    assert (item.type, item.collective, item.bytes) == (NodeType.COMM_COLL, T.ALL_TO_ALL, 256)
    assert (item.group, item.ranks, item.sequence) == ("0", (0, 1, 2, 3), 5)


def test_a_kernel_that_nothing_explains_is_reported_and_computes() -> None:
    rank = Rank(0, 4)
    rank.launch("ncclDevKernel_Generic(x)", rank.operator("c10d::mystery_", 1, 9), 7)
    answer = find(rank.linked, Calls(rank.linked.operators))
    assert answer.items == []
    assert answer.unknown == {"ncclDevKernel_Generic(x)": 1}


def test_other_kernels_do_not_communicate() -> None:
    rank = Rank(0, 4)
    rank.compute()
    assert found(rank) == []


# ------------------------------------------------------------------------------ sizes


def test_splits_are_bytes_by_member_where_they_fit_the_size() -> None:
    for sends, expected in (((3, 0, 1, 2), (1200, 0, 400, 800)), ((3, 3, 3, 3), ())):
        rank = Rank(0, 4, [WORLD])
        rank.exchange("0", 5, sends, (1, 1, 0, 0))
        item = only(rank)
        assert item.bytes == 400 * sum(sends) and item.received == 800
        assert item.uneven and item.gets == (400, 400, 0, 0)
        assert item.sends == (expected or (1200,) * 4)
    odd = Rank(0, 4, [WORLD])
    odd.operator(
        "record_param_comms", 1, 9, inputs=record("all_to_all", 7, "0", 5, 0, ((2, 1), ()))
    )
    odd.launch("ncclDevKernel_SendRecv(x)", odd.linked.operators[-1], 7)
    assert only(odd).sends == () and only(odd).uneven


@pytest.mark.parametrize(("text", "sends"), [("[3, 1]", (12, 4)), ("[3, ...]", ())])
def test_the_device_trace_says_splits_as_text(text: str, sends: tuple[int, ...]) -> None:
    rank = Rank(0, 2)
    op = rank.launch("ncclDevKernel_SendRecv(x)", rank.operator("nccl:all_to_all", 1, 9), 7)
    op.comm = CommArgs(collective="all_to_allv", in_nelems=4, dtype="Float", in_splits=text)
    assert only(rank).sends == sends


def _call(name: str, kernel: str, inputs: Any, outputs: Any = None) -> Communication:
    rank = Rank(0, 4, [WORLD])
    extra = {} if outputs is None else {"outputs": outputs}
    around = rank.operator("record_param_comms", 1, 9, inputs=inputs, **extra)
    rank.launch(kernel, rank.operator(f"nccl:{name}", around.id, 9), 7)
    return only(rank)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("allreduce", "ncclDevKernel_AllReduce_x"), ("_reduce_oop", "ncclDevKernel_Reduce_x")],
)
def test_the_size_is_that_of_the_input(name: str, kernel: str) -> None:
    assert _call(name, kernel, record(name, 100, "0", 1)).bytes == 400


def test_an_all_gather_gives_its_share() -> None:
    item = _call("_allgather_base", "ncclDevKernel_AllGather_x", record("allgather", 25, "0", 1))
    assert item.bytes == 100


def test_an_all_gather_that_shows_only_its_output_divides_it() -> None:
    empty = io(
        ([], "GenericList[]"), (1, "Int"), (["0", ""], "T"), (0, "Int"), ("allgather", "String")
    )
    item = _call(
        "all_gather", "ncclDevKernel_AllGather_x", empty, io((tensor(100), "Tensor(float)"))
    )
    assert item.bytes == 100


def test_a_reduce_scatter_takes_in_the_whole_input() -> None:
    nested = [[tensor(10), tensor(10), tensor(10), tensor(10)]]
    inputs = io(
        (nested, "GenericList[GenericList[Tensor(float)]]"),
        (1, "Int"),
        (["0", ""], "Tuple[String,String]"),
        (0, "Int"),
        ("reduce_scatter", "String"),
    )
    assert _call("reduce_scatter", "ncclDevKernel_ReduceScatter_x", inputs).bytes == 160


def test_attributes_of_schema_1_1_0_come_before_tensors() -> None:
    rank = Rank(0, 4, [WORLD])
    around = rank.operator(
        "record_param_comms",
        1,
        9,
        inputs=record("allreduce", 1, "0", 1),
        collective_name="allreduce",
        dtype="BFloat16",
        in_msg_nelems=1000,
        out_msg_nelems=1000,
        pg_name="0",
    )
    rank.launch("ncclDevKernel_AllReduce_x", rank.operator("nccl:all_reduce", around.id, 9), 7)
    assert only(rank).bytes == 2000


def test_the_device_trace_comes_before_the_host_trace() -> None:
    rank = Rank(0, 4, [WORLD])
    op = rank.talk("allreduce", "0", 10, 1)
    op.comm = CommArgs(collective="allreduce", in_nelems=7, out_nelems=7, dtype="Double")
    assert only(rank).bytes == 56


def test_a_call_with_several_kernels_shares_its_bytes() -> None:
    rank = Rank(0, 4, [WORLD])
    around = rank.operator("record_param_comms", 1, 9, inputs=record("allreduce", 25, "0", 1))
    inner = rank.operator("nccl:all_reduce", around.id, 9)
    for _ in range(3):
        rank.launch("ncclDevKernel_AllReduce_x", inner, 7)
    assert [item.bytes for item in found(rank)] == [34, 33, 33]


def test_without_record_param_comms_the_c10d_operator_is_read() -> None:
    rank = Rank(0, 4, [WORLD])
    inputs = io(
        (tensor(400), "Tensor(float)"), (tensor(100), "Tensor(float)"), ("<Object>", "Object")
    )
    rank.launch(
        "ncclDevKernel_AllGather_x", rank.operator("c10d::_allgather_base_", 1, 9, inputs=inputs), 7
    )
    assert only(rank).bytes == 400


@pytest.mark.parametrize(
    ("value", "type", "size"),
    [
        (tensor(3, 8), "Tensor(double)", 24),
        ([tensor(3), tensor(5)], "GenericList[Tensor(float),Tensor(float)]", 32),
        ([[tensor(3)], [tensor(5)]], "GenericList[GenericList[Tensor(float)]]", 32),
        ([], "GenericList[Tensor(float)]", 0),
        (tensor(3), "Int", 0),
        ("<None>", "Tensor(float)", 0),
        ([1, 2, 3], "Tensor(float)", 0),
        (["a", 2, 0, 4, 4, "cpu"], "Tensor(float)", 0),
    ],
)
def test_tensors_count_at_any_depth_and_nothing_else(value: Any, type: str, size: int) -> None:
    assert value_bytes(value, type) == size


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Float", 4),
        ("torch.bfloat16", 2),
        ("c10::Half", 2),
        ("Long", 8),
        ("Bool", 1),
        ("odd", None),
    ],
)
def test_element_types_have_sizes(name: str, size: int | None) -> None:
    assert dtype_bytes(name) == size


# ------------------------------------------------------------------------------ layouts of records


@pytest.mark.parametrize(
    ("between", "group", "sequence"),
    [
        ([(33, "Int"), (94594108284448, "Int")], None, 33),  # 1.0.2: the group is an address
        ([(33, "Int"), (["3", "pair"], "Tuple[String,String]")], "3", 33),
        ([([33, True], "GenericList[Int,Bool]"), (["3", "pair"], "Tuple[String,String]")], "3", 33),
    ],
)
def test_the_layouts_of_record_param_comms(
    between: list[tuple[Any, str]], group: str | None, sequence: int
) -> None:
    inputs = io(
        (tensor(5), "Tensor(float)"),
        *between,
        (0, "Int"),
        ("send", "String"),
        ([], "GenericList[]"),
        ([], "GenericList[]"),
    )
    rank = Rank(1, 4, [WORLD, PAIR])
    around = rank.operator("record_param_comms", 1, 9, inputs=inputs)
    rank.launch("ncclDevKernel_SendRecv", rank.operator("nccl:send", around.id, 9), 7)
    item = only(rank)
    assert (item.type, item.group, item.sequence) == (NodeType.COMM_SEND, group, sequence)
    assert item.peer == (2 if group else 0)  # a place in the group, where that is known


@pytest.mark.parametrize(
    ("label", "kind", "peer"),
    [("send 0->1", NodeType.COMM_SEND, 1), ("recv 0<-1", NodeType.COMM_RECV, 1)],
)
def test_a_label_may_tell_the_other_end(label: str, kind: NodeType, peer: int) -> None:
    rank = Rank(0, 4)
    inputs = io((tensor(5), "Tensor(float)"))
    rank.launch("ncclDevKernel_SendRecv", rank.operator(f"nccl:{label}", 1, 9, inputs=inputs), 7)
    item = only(rank)
    assert (item.type, item.peer, item.bytes) == (kind, peer, 20)


def test_a_batch_of_sends_and_receives_runs_in_one_kernel() -> None:
    rank = Rank(1, 4, [WORLD])
    for name, peer in (("send", 2), ("recv", 0)):
        rank.operator("record_param_comms", 1, 4, inputs=record(name, 8, "0", 9, peer))
        rank.now += 5
    rank.launch("ncclDevKernel_SendRecv", rank.operator("nccl:coalesced", 1, 9), 7)
    items = found(rank)
    assert [(item.type, item.peer, item.bytes) for item in items] == [
        (NodeType.COMM_SEND, 2, 32),
        (NodeType.COMM_RECV, 0, 32),
    ]
    assert len({item.op for item in items}) == 1


def test_an_orphan_is_of_the_group_its_stream_serves() -> None:
    rank = Rank(1, 4, [WORLD, PAIR])
    early = rank.talk("allreduce", "3", 8, 1)
    early.parent = early.launch_tid = early.launch_start_ns = early.launch_end_ns = None
    rank.talk("allreduce", "3", 8, 2)
    first, second = found(rank)
    assert (first.group, first.bytes, first.collective) == ("3", None, T.ALL_REDUCE)
    assert second.group == "3"


# ------------------------------------------------------------------------------ annotations


def test_the_collectors_annotation_knows_best() -> None:
    rank = Rank(1, 4)
    api = rank.operator("c10d::send", 1, 9, inputs=io((tensor(1), "Tensor(float)")))
    note = rank.operator(
        "chakra::comm|{'op':'send','pg':'3','ranks':[2,1],'bytes':640,'peer':2,'tag':4,'seq':6,"
        "'async':true,'id':11}",
        api.id,
        8,
        scope=7,
    )
    rank.launch("ncclDevKernel_SendRecv", rank.operator("nccl:send", note.id, 7), 7)
    item = only(rank)
    assert (item.type, item.peer, item.tag, item.bytes) == (NodeType.COMM_SEND, 2, 4, 640)
    assert (item.group, item.ranks, item.sequence) == ("3", (2, 1), 6)


@pytest.mark.parametrize(
    "name", ["chakra::comm|", "chakra::comm|{", "chakra::comm|[1]", "chakra::comm|1", "comm|{}"]
)
def test_a_damaged_annotation_says_nothing(name: str) -> None:
    assert facts(name, "chakra::comm|") is None


def test_names_are_compared_without_separators() -> None:
    assert plain("All_Gather into-tensor") == "allgatherintotensor"


@pytest.mark.parametrize("said", [{}, {"dtype": "Float", "in_msg_nelems": 0, "out_msg_nelems": 0}])
def test_a_record_without_tensors_leaves_the_size_to_the_label_inside(said: dict[str, Any]) -> None:
    rank = Rank(0, 4)
    empty = io(([], "GenericList[]"), (5, "Int"), (["0", ""], "Tuple"), (0, "Int"), ("", "String"))
    outer = rank.operator("record_param_comms", 1, 9000, inputs=empty, **said)
    label = rank.operator(
        "nccl:all_to_all", outer.id, 5000, inputs=io((tensor(250), "Tensor(float)"))
    )
    rank.launch("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", label, 9000)
    assert (only(rank).collective, only(rank).bytes) == (T.ALL_TO_ALL, 1000)


def test_no_bytes_at_all_are_an_unknown_size() -> None:
    rank = Rank(0, 4)
    label = rank.operator("nccl:all_reduce", 1, 5000, inputs=io((tensor(0), "Tensor(float)")))
    rank.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", label, 9000)
    assert only(rank).bytes is None
