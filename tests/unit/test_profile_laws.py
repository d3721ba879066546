"""Laws of profiles of other profilers: times, order, counts, and what damage may do."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, TraceError
from yantra.base.wire import WireError, fields, signed, varint
from yantra.chakra.schema import NodeType
from yantra.chakra.trace import Trace
from yantra.tracing import sources
from yantra.tracing.pytorch.events import Args
from yantra.tracing.sources import hlo_groups, xla, xla_job
from yantra.tracing.sources.nccl import Members, NcclCall, arguments
from yantra.tracing.sources.work import Part, Work, Writing, idle

DATA = Path(__file__).parents[1] / "golden" / "data" / "profiles"
XPLANES = sorted(path for path in DATA.glob("*/*.xplane.pb") if path.parent.name != "damaged")
FILES = [*XPLANES, *sorted(DATA.glob("*/*.sqlite")), *sorted(DATA.glob("*/*.db"))]
SMALL = [path for path in FILES if path.parent.name in ("twins", "nsys_b", "rocpd_b")]


def encoded(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def message(*parts: tuple[int, int | bytes]) -> bytes:
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += encoded(number << 3) + encoded(value)
        else:
            out += encoded(number << 3 | 2) + encoded(len(value)) + value
    return out


PARTS = st.lists(
    st.tuples(st.integers(1, 2**28), st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=9)))
)


@given(PARTS)
def test_a_message_is_read_as_written(parts: list[tuple[int, int | bytes]]) -> None:
    data = message(*parts)
    found = [(n, v if end < 0 else data[v:end]) for n, v, end in fields(data)]
    assert found == parts


@given(PARTS, st.data())
def test_a_cut_message_is_refused_or_ends_between_fields(
    parts: list[tuple[int, int | bytes]], draw: st.DataObject
) -> None:
    data = message(*parts)
    cut = data[: draw.draw(st.integers(0, len(data)))]
    borders = [len(message(*parts[:count])) for count in range(len(parts) + 1)]
    if len(cut) in borders:
        assert len(list(fields(cut))) == borders.index(len(cut)) or not cut
    else:
        with pytest.raises(WireError, match=r"byte \d+: "):
            list(fields(cut))


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_numbers_are_their_twos_complement(number: int) -> None:
    value, end = varint(encoded(number % 2**64), 0, 10)
    assert signed(value) == number and end <= 10


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_iota_groups_are_a_transposed_range(sizes: list[int], rng: random.Random) -> None:
    axes = list(range(len(sizes)))
    rng.shuffle(axes)
    total = int(np.prod(sizes))
    size = rng.choice([n for n in range(1, total + 1) if total % n == 0])
    written = message((1, total // size), (2, size), (3, bytes(sizes)), (4, bytes(axes)))
    wanted = np.arange(total).reshape(sizes).transpose(axes).reshape(-1, size).tolist()
    for number, data in ((92, written), (87, message((2, written)))):
        assert hlo_groups.read(data, {number: [(0, len(data))]}) == (wanted, "iota")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_groups_of_a_mesh_run_over_the_named_axes(sizes: list[int], rng: random.Random) -> None:
    axes = rng.sample(range(len(sizes)), rng.randint(1, len(sizes)))
    mesh = message(*((1, message((1, b"a"), (2, size))) for size in sizes))
    named = [(2, message((1, axis)) if axis else b"") for axis in axes]
    data = message((1, mesh), *named)
    others = [axis for axis in range(len(sizes)) if axis not in axes]
    ids = np.arange(int(np.prod(sizes))).reshape(sizes).transpose([*others, *axes])
    wanted = ids.reshape(-1, int(np.prod([sizes[axis] for axis in axes]))).tolist()
    assert hlo_groups.read(data, {93: [(0, len(data))]}) == (wanted, "mesh")


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_a_part_of_an_axis_is_the_axis_cut_in_three(before: int, size: int, after: int) -> None:
    axis = before * size * after
    mesh = message((1, message((2, axis))))
    data = message((1, mesh), (2, message((2, message((1, before), (2, size))))))
    wanted = np.arange(axis).reshape(before, size, after).transpose(0, 2, 1).reshape(-1, size)
    assert hlo_groups.read(data, {93: [(0, len(data))]}) == (wanted.tolist(), "mesh")


def played(trace: Trace) -> dict[int, int]:
    """When each node ends, if it starts as soon as all it waits for has ended."""
    ends: dict[int, int] = {}
    for node in trace:
        said = {item.name: item.value for item in node.attributes}
        start = max((ends[id] for id in (*node.data_deps, *node.ctrl_deps)), default=0)
        assert said["start_time_ns"] == start
        ends[node.id] = start + int(said["duration_ns"])  # type: ignore[arg-type]
    return ends


@pytest.mark.parametrize("path", XPLANES, ids=lambda path: path.parent.name)
def test_a_replay_starts_every_node_in_its_recorded_nanosecond(path: Path) -> None:
    job, _ = sources.in_memory([str(path)])
    profile = xla.read(str(path))
    ops = [op for device in profile.devices for op in device.ops if not op.container]
    span_ps = max(op.until_ps for op in ops) - min(op.start_ps for op in ops)
    ends = [max(played(trace).values()) for _, _, trace in job]
    assert max(ends) * 1000 == pytest.approx(span_ps, abs=2000)


@pytest.mark.parametrize("path", XPLANES, ids=lambda path: path.parent.name)
def test_streams_keep_their_order_and_nothing_waits_against_the_clock(path: Path) -> None:
    job, _ = sources.in_memory([str(path)])
    for _, _, trace in job:
        starts: dict[int, int] = {}
        last: defaultdict[object, int] = defaultdict(int)
        for node in trace:
            said = {item.name: item.value for item in node.attributes}
            start = starts[node.id] = int(said["start_time_ns"])  # type: ignore[arg-type]
            assert all(starts[id] <= start for id in node.data_deps)
            if node.name != "delay":
                assert last[said["stream"]] <= start
                last[said["stream"]] = start
            if node.type in (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV):
                assert int(said["comm_size"]) > 0  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 9_000)), min_size=1, max_size=9))
def test_idle_time_and_work_make_the_whole(spans: list[tuple[int, int]]) -> None:
    works = [
        Work("k", start * 1000, (start + length) * 1000, stream=place)
        for place, (start, length) in enumerate(sorted(spans))
    ]
    last = max(start + length for start, length in spans)
    busy = np.zeros(last, dtype=bool)
    for start, length in spans:
        busy[start : start + length] = True
    assert idle(works, 0) == last - int(busy.sum())
    made = Writing(works, 0, {})
    assert max(played(made.trace()).values()) == last
    bare = Writing(works, 0, {}, gaps=False)
    assert len(bare.trace()) == len(works)
    assert bare.nodes == len(works) and bare.delays == bare.idle_ns == 0


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_picoseconds_are_kept_beside_the_nanoseconds(start: int, length: int) -> None:
    made = Writing([Work("k", start, start + length)], 0, {})
    (node,) = (node for node in made.trace() if node.name == "k")
    said = {item.name: item.value for item in node.attributes}
    kept = int(said["duration_ns"]) * 1000 + int(said.get("duration_remainder_ps", 0))  # type: ignore[arg-type]
    assert kept == length


def test_a_size_that_cannot_be_is_refused() -> None:
    part = Part(NodeType.COMM_SEND, 1 << 63)
    for work in (Work("k", 0, 1, flops=1 << 63), Work("k", 0, 1, parts=[part])):
        with pytest.raises(TraceError, match="is no time, size or number of FLOPs"):
            Writing([work], 0, {}).trace()


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.parent.name)
def test_damage_is_refused_or_read_and_never_a_bug(path: Path, tmp_path: Path) -> None:
    rng = random.Random(path.name)
    whole = path.read_bytes()
    for _ in range(16):
        data = bytearray(whole)
        if rng.random() < 0.4:
            data = data[: rng.randrange(len(data))]
        for _ in range(rng.choice([1, 3, 30])):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / path.name).write_bytes(data)
        try:
            job, _ = sources.in_memory([str(tmp_path / path.name)])
        except (TraceError, ConfigError) as error:
            assert path.name in str(error) or "rank" in str(error)
        else:
            assert job


def plane_of_a_tpu(*events: tuple[str, int, int, dict[str, int]]) -> bytes:
    """A profile of one TPU: events by name, start and length in ps, and their metadata's stats."""
    names = sorted({name for _, _, _, stats in events for name in stats})
    metas, line = b"", message((1, 3), (2, b"XLA Ops"), (3, 1_700_000_000_000_000_000))
    for id, (name, start, length, stats) in enumerate(events, start=1):
        said = [(5, message((1, names.index(key) + 1), (3, stats[key]))) for key in stats]
        meta = message((1, id), (2, f"%{name} = f32[8] fusion()".encode()), *said)
        metas += message((4, message((1, id), (2, meta))))
        line += message((4, message((1, id), (2, start), (3, length))))
    table = b"".join(
        message((5, message((1, id), (2, message((1, id), (2, name.encode()))))))
        for id, name in enumerate(names, start=1)
    )
    steps = message((1, 9), (2, b"Steps"), (4, message((1, 1), (3, 9))))
    named = message((1, 1), (2, b"/device:TPU:0"), (3, line), (3, steps))
    return message((1, named + metas + table))


def test_of_a_tpu_the_operations_without_others_inside_are_work(tmp_path: Path) -> None:
    path = tmp_path / "tpu.xplane.pb"
    events = (
        ("while.1", 0, 900_000, {}),
        ("fusion.1", 0, 400_000, {"flops": 64, "bytes_accessed": 96}),
        ("fusion.2", 500_000, 400_000, {"flops": 32, "bytes_accessed": 48}),
        ("copy.3", 900_000, 50_000, {"flops": 0, "bytes_accessed": 64}),
    )
    path.write_bytes(plane_of_a_tpu(*events))
    ((_, _, trace),), problems = sources.in_memory([str(path)])
    found = {}
    for node in trace:
        said = {item.name: item.value for item in node.attributes}
        if node.name != "delay":
            found[node.name] = said["num_ops"], said["tensor_size"], said["start_time_ns"]
    assert found == {"fusion.1": (64, 96, 0), "fusion.2": (32, 48, 500), "copy.3": (0, 64, 900)}
    assert problems == []


def grouped(*calls: tuple[str, int | None]) -> Args | None:
    members = Members()
    for rank in range(4):
        members.use("c", rank)
    return arguments([NcclCall(kind, 0, 1, "c", size) for kind, size in calls], members)


def test_calls_of_one_kind_in_a_group_are_one_collective_of_all_their_bytes() -> None:
    said = grouped(("allreduce", 3), ("allreduce", 4))
    assert said is not None and (said.in_nelems, said.dtype, said.group_size) == (7, "Byte", 4)
    part = grouped(("reducescatter", 3), ("reducescatter", 4))
    assert part is not None and (part.in_nelems, part.out_nelems) == (28, 7)
    whole = grouped(("allgather", 5))
    assert whole is not None and (whole.in_nelems, whole.out_nelems) == (5, 20)


@pytest.mark.parametrize(
    "calls", [[], [("allreduce", None)], [("allreduce", 1), ("allgather", 1)], [("send", None)]]
)
def test_calls_whose_sizes_or_kinds_do_not_agree_say_nothing(
    calls: list[tuple[str, int | None]],
) -> None:
    assert grouped(*calls) is None


@given(st.permutations(range(4)))
def test_members_are_in_the_order_of_the_communicator(order: list[int]) -> None:
    members = Members()
    for place, rank in enumerate(order):
        members.use("c", rank)
        assert members.of("c") == sorted(order[: place + 1])
    for place, rank in enumerate(order):
        members.make("c", 4, place, rank)
    assert members.of("c") == list(order)


def test_fingerprints_of_programs_keep_their_64_bits() -> None:
    made = Writing([Work("fusion", 0, 1000, attributes={"program_id": (1 << 64) - 1})], 0, {})
    (node,) = Trace.from_bytes(b"".join(made.pieces()))
    assert node.get("program_id") == (1 << 64) - 1


@pytest.mark.parametrize(("opcode", "is_timed"), [("copy-done", True), ("all-reduce-done", False)])
def test_of_a_tpu_the_end_of_a_copy_has_its_time_and_that_of_a_collective_waits(
    opcode: str, is_timed: bool
) -> None:
    op: Any = SimpleNamespace(
        name=opcode, kernel=opcode, program=1, stream=0, start_ps=0, until_ps=1000
    )
    works: Any = object.__new__(xla_job._Works)
    works.profile = SimpleNamespace(
        kind="TPU", instruction=lambda _: SimpleNamespace(opcode=opcode, name=opcode)
    )
    works.rank = SimpleNamespace(device=SimpleNamespace(number=0))
    works.attributes = {(1, opcode, opcode): {}}
    assert works._work(op, False).timed is is_timed
