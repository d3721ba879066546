"""Communication by other libraries than NCCL: what becomes a collective, and what is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.linked_jobs import Rank, io, tensor
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, NodeType, Trace
from yantra.cli import main
from yantra.tracing.pytorch import linked_file
from yantra.tracing.pytorch.communication_names import CommunicationNames, read_names
from yantra.tracing.pytorch.convert import (
    ConvertOptions,
    ConvertReport,
    convert_job,
)
from yantra.tracing.pytorch.linked import ProcessGroup

WORLD = ProcessGroup("0", "default_pg", "nccl", [0, 1, 2, 3])
PAIR = ProcessGroup("7", "tp", "nccl", [0, 1])
MULTIMEM = "void (anonymous namespace)::multimem_all_reduce_kernel<float, 16>(float*)"
DISPATCH = "void deep_ep::internode::dispatch<false, 8>(int4*)"


def converted(
    rank: Rank, names: CommunicationNames | None = None
) -> tuple[list[tuple[str, int, str]], ConvertReport]:
    content: list[bytes] = []
    options = ConvertOptions(names=names or CommunicationNames())
    job = convert_job([lambda: rank.linked], lambda _, pieces: content.extend(pieces), options)
    made = [
        (CollectiveType(node["comm_type"]).name, node["comm_size"], node["pg_name"])
        for node in Trace.from_bytes(b"".join(content))
        if node.type is NodeType.COMM_COLL
    ]
    return made, job.report


def symmetric(rank: Rank, group: str = "", kernel: str = MULTIMEM) -> None:
    """An all-reduce of 1000 floats through symmetric memory, in vLLM's wrapper, after a copy."""
    operand = io((tensor(1000), "Tensor(float)"), ("sum", "String"), (group, "String"))
    wrapper = rank.operator("vllm::all_reduce", 1, 9000, inputs=operand)
    copy = rank.operator("aten::copy_", wrapper.id, 3000)
    rank.launch("elementwise_kernel", copy, 2000)
    rank.now += 3000
    call = rank.operator("symm_mem::multimem_all_reduce_", wrapper.id, 3000, inputs=operand)
    rank.launch(kernel, call, 4000)
    rank.now += 6000


def test_a_call_of_known_kind_size_and_members_is_a_collective() -> None:
    rank = Rank(0, 4, [WORLD])
    symmetric(rank)
    made, report = converted(rank)
    assert made == [("ALL_REDUCE", 4000, "0")]  # and not the copy before it
    assert report.unrecognised == {}


def test_the_group_that_the_operator_names_counts() -> None:
    rank = Rank(0, 4, [WORLD, PAIR])
    symmetric(rank, group="7")
    assert converted(rank)[0] == [("ALL_REDUCE", 4000, "1")]


@pytest.mark.parametrize("groups", [[], [WORLD, PAIR]])
def test_members_that_are_not_sure_leave_it_a_computation(groups: list[ProcessGroup]) -> None:
    rank = Rank(0, 4, groups)
    symmetric(rank)
    made, report = converted(rank)
    assert made == []
    (name,) = report.unrecognised
    found = report.unrecognised[name]
    assert name == "multimem_all_reduce_kernel"
    assert (found.kind, found.count, found.ns) == ("all_reduce", 1, 4000)


def test_the_only_kernel_of_a_known_operator_needs_no_known_name() -> None:
    rank = Rank(0, 4, [WORLD])
    symmetric(rank, kernel="triton_kernel_17")
    assert converted(rank)[0] == [("ALL_REDUCE", 4000, "0")]


def test_a_kernel_without_an_operator_is_told_with_count_and_time() -> None:
    rank = Rank(0, 4, [WORLD])
    for _ in range(3):
        rank.launch(DISPATCH, rank.operator("graph", 1, 500), 7000)
        rank.now += 10_000
    made, report = converted(rank)
    assert made == []
    found = report.unrecognised["deep_ep::internode::dispatch"]
    assert (found.kind, found.count, found.ns) == ("all_to_all", 3, 21_000)
    assert "deep_ep::internode::dispatch  all_to_all      3  21.000 us" in report.summary()
    (row,) = report.as_dict()["unrecognised"]
    assert row["duration_ns"] == 21_000 and json.dumps(report.as_dict()["recorded"])


@pytest.mark.parametrize(
    ("kernel", "is_told"),
    [
        ("my_all_reduce_v2", True),
        ("nvshmemi_transfer_rma", True),
        ("quickreduce::allreduce_prototype_twoshot<int>", True),
        ("deep_ep::layout::get_dispatch_layout<256>", False),
        ("_combined_routing_memset", False),
        ("reduce_kernel<512, 1>", False),
        ("gemm", False),
    ],
)
def test_names_that_look_like_communication_are_told(kernel: str, is_told: bool) -> None:
    rank = Rank(0, 4, [WORLD])
    rank.compute()
    rank.launch(kernel, rank.operator("op", 1, 500), 7000)
    assert bool(converted(rank)[1].unrecognised) is is_told


def test_an_operator_that_communicates_by_copies_is_told() -> None:
    rank = Rank(0, 4, [WORLD])
    call = rank.operator("symm_mem::low_contention_all_gather", 1, 4000)
    for _ in range(2):
        rank.launch("Memcpy PtoP", call, 3000, cat="gpu_memcpy")
    found = converted(rank)[1].unrecognised["symm_mem::low_contention_all_gather"]
    assert (found.kind, found.count, found.ns) == ("all_gather", 2, 6000)


def test_nccls_kernel_without_a_record_takes_the_size_of_the_operator_around_it() -> None:
    rank = Rank(0, 4, [WORLD])
    operand = io((tensor(10), "Tensor(float)"))
    call = rank.operator("vllm::all_reduce", 1, 4000, inputs=operand)
    rank.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", call, 3000)
    assert converted(rank)[0] == [("ALL_REDUCE", 40, "0")]


def test_a_kernel_of_a_known_library_without_a_size_is_told_too() -> None:
    rank = Rank(0, 4, [WORLD])
    rank.launch("mscclpp::allgather<int>", rank.operator("op", 1, 900), 3000)
    made, report = converted(rank)
    found = report.unrecognised["mscclpp::allgather"]
    assert made == [] and (found.kind, found.count, found.ns) == ("all_gather", 1, 3000)


def test_a_trace_of_nccl_alone_has_nothing_to_tell() -> None:
    rank = Rank(0, 4, [WORLD])
    rank.compute()
    rank.talk("allreduce", "0", 1000, 1)
    made, report = converted(rank)
    assert made == [("ALL_REDUCE", 4000, "0")] and report.unrecognised == {}


# ------------------------------------------------------------------------------ a user's table


def test_a_users_table_adds_names_and_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "names.yaml"
    path.write_text(
        "operators: {'my::gather': all_gather}\n"
        "kernels: {'*multimem_all_reduce_kernel*': none, 'my_all_reduce*': none}\n"
    )
    rank = Rank(0, 4, [WORLD])
    call = rank.operator("my::gather", 1, 900, inputs=io((tensor(5), "Tensor(float)")))
    rank.launch("anything", call, 700)
    rank.now += 2000
    rank.launch("my_all_reduce_test", rank.operator("op", 1, 900), 700)
    made, report = converted(rank, read_names(str(path)))
    assert made == [("ALL_GATHER", 20, "0")] and report.unrecognised == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a", "expected a mapping with operators and kernels"),
        ("operator: {}", "did you mean 'operators'?"),
        ("kernels: [a]", "expected patterns of names with a collective each"),
        ("kernels: {a: all_redcue}", "did you mean 'all_reduce'?"),
        ("kernels: {a: 3}", "expected one of all_reduce"),
    ],
)
def test_mistakes_in_a_table_are_told(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "names.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_names(str(path))
    assert problem in str(error.value) and str(path) in str(error.value)


def test_only_the_star_of_a_pattern_stands_for_other_text() -> None:
    names = CommunicationNames({"kernels": {"k[1]?*": "broadcast"}})
    assert names.of_kernel("k[1]?<int>") == "broadcast"
    assert names.of_kernel("k1x") is None


# ------------------------------------------------------------------------------ the command


def test_the_command_tells_streams_first_then_delays_and_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rank = Rank(0, 4, [WORLD])
    for stream in (7, 8):
        rank.launch(DISPATCH, rank.operator("graph", 1, 2000), 90_000, stream)
        rank.now += 2000
    rank.now += 100_000
    rank.compute()
    linked_file.write(rank.linked, "linked.json")
    assert main(["chakra", "convert", "pytorch", "linked.json", "-o", "job"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("warning: rank 0: streams overlap for 89.000 us (up to 2 at once)")
    assert any("81 % of the recorded 125.000 us is delays" in line for line in lines)
    assert any("deep_ep::internode::dispatch" in line for line in lines)
    Path("names.yaml").write_text("kernels: {'*::dispatch*': none}\n")
    named = ["--communication-names", "names.yaml"]
    line = ["chakra", "convert", "pytorch", "linked.json", "-o", "job", *named]
    assert main(line) == 0
    assert "dispatch" not in capsys.readouterr().err
    assert main([*line, "--compat", "upstream"]) == 2
