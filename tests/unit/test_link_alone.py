"""A device trace on its own becomes a linked trace: operators nest by their times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import call, check_counts, event, kernel, op
from yantra import chakra
from yantra.chakra.schema import NodeType
from yantra.cli import main
from yantra.tracing.pytorch import kineto
from yantra.tracing.pytorch.calls import Calls
from yantra.tracing.pytorch.communication import Communication, find
from yantra.tracing.pytorch.convert import convert_linked
from yantra.tracing.pytorch.cpu_collectives import with_cpu_collectives
from yantra.tracing.pytorch.link import link_alone
from yantra.tracing.pytorch.linked import Linked, Operator


def alone(*events: dict[str, Any], **top: Any) -> Linked:
    data = json.dumps({**top, "traceEvents": events}).encode()
    found = link_alone(kineto.parse(data, "device.json", shapes=True))
    check_counts(found)
    return found


def parents(linked: Linked) -> dict[str, str]:
    names = {operator.id: operator.name.removeprefix("[pytorch|") for operator in linked.operators}
    everything = [*linked.operators, *linked.device_ops]
    return {item.name: names[item.parent] for item in everything if item.parent is not None}


def shaped(name: str, ts: float, dur: float, *inputs: tuple[Any, str, str], **more: Any) -> Any:
    keys = ("Input Dims", "Input type", "Concrete Inputs")
    columns = [list(column) for column in zip(*inputs, strict=True)]
    said = dict(zip(keys, columns, strict=True))
    cat = "user_annotation" if name.startswith(("nccl:", "gloo:")) else "cpu_op"
    return event(cat, name, ts, dur, **more, **said)


def test_operators_and_ranges_nest_by_time_on_their_thread() -> None:
    linked = alone(
        event("user_annotation", "step", 0, 100),
        op(0, "outer", 10, 50, tid="100"),  # a thread's name in 2021
        op(0, "inner", 20, 10),
        op(0, "behind", 70, 10),
        op(0, "elsewhere", 22, 5, tid=8),
        call("cudaLaunchKernel", 25, 2, 9),
        kernel(30, 5, 9),
    )
    thread = "profiler|execution_trace|thread]"
    assert parents(linked) == {
        "[pytorch|profiler|execution_trace|thread]": "profiler|execution_trace|process]",
        "step": thread,
        "outer": "step",
        "inner": "outer",
        "behind": "step",
        "elsewhere": thread,
        "k": "inner",
    }
    assert linked.report.nested
    assert (linked.report.matched, linked.report.unmatched, linked.report.unclaimed) == (5, 0, 0)


def test_each_operator_and_thread_and_the_process_is_there_once_with_its_numbers() -> None:
    linked = alone(
        op(7, "forward", 0, 10, Sequence__number=0),
        op(8, "backward", 20, 10, tid=8, Sequence__number=5),
        event("user_annotation", "step", 0, 12),
    )
    process, *threads, step, forward, backward = linked.operators
    assert len(threads) == 2
    assert {thread.name for thread in threads} != {process.name}

    def numbers(operator: Operator) -> tuple[object, ...]:
        return tuple(operator.attr(name) for name in ("rf_id", "seq_id", "scope"))

    assert numbers(step) == (0, -1, 7)
    assert numbers(forward) == (7, 0, 0)
    assert numbers(backward) == (8, 5, 0)


def test_of_two_with_the_same_times_the_one_that_began_first_is_outside() -> None:
    twins = [op(0, "late", 5, 10, External__id=4), op(0, "early", 5, 10, External__id=3)]
    assert parents(alone(*twins))["late"] == "early"


def test_shapes_and_types_become_the_inputs_of_a_host_trace() -> None:
    inputs = [
        ([64, 32], "c10::BFloat16", ""),
        ([32, 16], "c10::BFloat16", ""),
        ([], "Scalar", "2"),
        ([[3], [4]], "TensorList", ""),
    ]
    linked = alone(
        shaped("aten::mm", 0, 20, *inputs),
        call("cudaLaunchKernel", 5, 2, 9),
        kernel(10, 5, 9),
    )
    (product,) = [operator for operator in linked.operators if operator.name == "aten::mm"]
    assert json.loads(bytes(product.inputs)) == {
        "values": [
            [0, 0, 0, 2048, 2, ""],
            [0, 0, 0, 512, 2, ""],
            2,
            [[0, 0, 0, 3, 0, ""], [0, 0, 0, 4, 0, ""]],
        ],
        "shapes": [[64, 32], [32, 16], [], [[3], [4]]],
        "types": ["Tensor(c10::BFloat16)"] * 2 + ["Scalar", "GenericList[Tensor(),Tensor()]"],
    }
    nodes = convert_linked(linked)
    assert {node.get("num_ops") for node in nodes if node.name == "k"} == {2 * 64 * 32 * 16}


def nccl(*inside: Any) -> Communication:
    linked = alone(
        *inside,
        call("cudaLaunchKernel", 20, 2, 9),
        kernel(30, 50, 9, name="ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"),
        distributedInfo={"rank": 0, "world_size": 4},
    )
    (item,) = find(linked, Calls(linked.operators)).items
    return item


EMPTY_RECORD = shaped(
    "record_param_comms", 0, 100, ([], "TensorList", ""), *[([], "Scalar", "")] * 3
)


@pytest.mark.parametrize("record", [EMPTY_RECORD, op(0, "record_param_comms", 0, 100)])
def test_a_record_without_tensors_leaves_kind_and_size_to_the_call_inside(record: Any) -> None:
    item = nccl(record, shaped("nccl:all_to_all", 5, 90, ([100, 10], "float", "")))
    assert (item.name, item.bytes) == ("alltoall", 4000)


def test_a_size_of_no_bytes_is_an_unknown_size() -> None:
    assert nccl(EMPTY_RECORD, op(0, "nccl:all_reduce", 5, 90)).bytes is None


def gloo(*, shape: tuple[Any, str, str]) -> list[Communication]:
    linked = alone(
        shaped("c10d::allreduce_", 0, 10, ([[100]], "TensorList", "")),
        shaped("gloo:all_reduce", 5, 50, shape, tid=200),
        op(0, "aten::add", 60, 10),
        distributedInfo={"rank": 0, "world_size": 4},
    )
    linked = with_cpu_collectives(linked)
    return find(linked, Calls(linked.operators)).items


def test_work_of_gloos_threads_belongs_to_the_thread_that_called() -> None:
    (item,) = gloo(shape=([100], "float", ""))
    assert (item.type, item.bytes) == (NodeType.COMM_COLL, 400)


# --------------------------------------------------------------------------- commands


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    events = [op(0, "aten::mm", 0, 20), call("cudaLaunchKernel", 5, 2, 9), kernel(10, 5, 9)]
    for rank in (0, 1):
        told = {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}
        Path(f"k.{rank}.json").write_text(json.dumps(told))
    Path("silent.json").write_text(json.dumps(events))
    return tmp_path


def test_link_takes_device_traces_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chakra", "link", "--device", "k.{rank}.json", "-o", "l.{rank}.json"]) == 0
    assert capsys.readouterr().err.count("no host trace") == 2
    assert main(["chakra", "convert", "pytorch", "l.0.json", "l.1.json", "-o", "job"]) == 0
    assert main(["chakra", "link", "--device", "k.1.json", "--to", "et", "-o", "job2"]) == 0
    assert Path("job2.1.et").read_bytes() == Path("job.1.et").read_bytes()


def test_convert_takes_device_traces_as_they_are(folder: Path) -> None:
    assert main(["chakra", "convert", "pytorch", "k.0.json", "k.1.json", "-o", "job"]) == 0
    assert main(["chakra", "convert", "pytorch", "silent.json", "silent.json", "-o", "other"]) == 0
    for rank in (0, 1):  # the place of a trace that does not state it
        names = [node.name for node in chakra.read(f"job.{rank}.et")]
        assert names == [node.name for node in chakra.read(f"other.{rank}.et")]
        assert "aten::mm" in names


TWICE = ["--device", "k.1.json", "--device", "k.1.json"]


def test_convert_tells_what_it_did_not_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = json.loads(Path("k.1.json").read_text())
    trace["traceEvents"] += [event("mtia_ccp_events", "dma", 3, 1), kernel(30, -5, 10)]
    Path("k.1.json").write_text(json.dumps(trace))
    assert main(["chakra", "convert", "pytorch", "k.0.json", "k.1.json", "-o", "job"]) == 0
    said = capsys.readouterr().err
    assert "rank 1: events of the category 'mtia_ccp_events', which is not read: 1" in said
    assert "rank 1: 1 impossible event left out; the first: k.1.json" in said


TWICE = ["--device", "k.1.json", "--device", "k.1.json"]
MISTAKES = [
    ([*TWICE, "-o", "l.{rank}.json"], "is of rank 1, like an earlier pair"),
    (["--device", "k.1.json", "-o", "l.json", "--compat", "upstream"], "give the host trace"),
    (["--device", "none.{rank}.json", "-o", "l.{rank}.json"], "--device: no file is named"),
]


@pytest.mark.parametrize(("arguments", "said"), MISTAKES)
def test_mistakes_with_device_traces_alone_are_told(
    folder: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chakra", "link", *arguments]) == 2
    assert said in capsys.readouterr().err
