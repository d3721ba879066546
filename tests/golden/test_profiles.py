"""Profiles of JAX, Nsight Systems and rocprofv3 with exactly known truth, made for Yantra.

`data/profiles/*/truth.json` was counted by hand, by XLA's own text of the programs and by a second
reader; times are exact to the ps (xplane) or ns.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import TraceError
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing import sources
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.sources import hlo, xla, xplane
from yantra.tracing.sources.linked_job import LinkedJob
from yantra.tracing.sources.xla_job import XlaJob

DATA = Path(__file__).parent / "data" / "profiles"
CPU = ("coll_all", "coll_iota", "coll_sub", "convnet", "dp_mlp", "fsdp", "pipeline", "tp_mlp")
CPU += ("tp_mlp_sidecar", "twins")
ROWS = ("nsys_a", "nsys_b", "rocpd_a", "rocpd_b")


@cache
def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / name / "truth.json").read_text())
    return found


def path(name: str) -> str:
    return str(DATA / name / truth(name)["file"])


@cache
def profile(name: str) -> xla.Profile:
    return xla.read(path(name))


@cache
def traces(name: str) -> tuple[XlaJob, dict[int, Trace]]:
    made: dict[int, Trace] = {}
    job = XlaJob([path(name)])
    job.convert(lambda rank, written: made.__setitem__(rank, written.trace()))
    return job, made


def program_of(wanted: dict[str, Any], name: str) -> hlo.Program:
    return profile(name).programs[wanted["program_id"]]


def collectives(program: hlo.Program) -> dict[str, hlo.Collective]:
    found = {one.name: program.collective(one) for one in program.instructions.values()}
    return {name: said for name, said in found.items() if said is not None}


def check_collectives(program: hlo.Program, wanted: list[dict[str, Any]]) -> None:
    found = collectives(program)
    assert sorted(found) == sorted(one["name"] for one in wanted)
    for one in wanted:
        said = found[one["name"]]
        assert said.kind == one["kind"]
        assert (said.operand_bytes, said.result_bytes) == (
            one["operand_bytes"],
            one["result_bytes"],
        )
        if "groups" in one:
            assert said.groups == one["groups"]
        if "form" in one:
            assert said.form == one["form"]
        if "pairs" in one:
            assert [list(pair) for pair in said.pairs] == one["pairs"]


@pytest.mark.parametrize("name", CPU)
def test_lines_have_every_event_and_picosecond(name: str) -> None:
    planes = xplane.read(Path(path(name)).read_bytes(), name)
    assert [plane.name for plane in planes] == truth(name)["planes"]
    found = {}
    for plane in planes:
        for line in plane.lines:
            events = list(line.events())
            total = sum(event.dur_ps for event in events)
            of_programs = sum("hlo_op" in event.stats for event in events)
            found[plane.name, line.id] = line.timestamp_ns, len(events), total, of_programs
    assert found == {
        (one["plane"], one["id"]): tuple(
            one[key] for key in ("timestamp_ns", "events", "sum_ps", "hlo_events")
        )
        for one in truth(name)["lines"]
    }


@pytest.mark.parametrize("name", CPU)
def test_programs_have_the_flops_bytes_groups_and_trips_of_the_compiler(name: str) -> None:
    for wanted in truth(name)["programs"]:
        program = program_of(wanted, name)
        counts = len(program.computations), len(program.instructions), program.partitions
        assert counts == tuple(
            wanted[key] for key in ("computations", "instructions", "partitions")
        )
        products = [
            (one.name, program.computations[program.home[one.id]].name, program.flops(one))
            for one in program.instructions.values()
            if one.opcode in ("dot", "convolution")
        ]
        assert sorted(products) == sorted(
            (one["name"], one["computation"], one["flops"]) for one in wanted["multiplications"]
        )
        check_collectives(program, wanted["collectives"])
        trips = {
            one["name"]: program.trips(program.by_name[one["name"]]) for one in wanted["loops"]
        }
        assert trips == {one["name"]: one["trip_count"] for one in wanted["loops"]}


def test_all_six_kinds_of_collectives_are_read_from_a_program_alone() -> None:
    said = truth("coll_six")
    (file,) = (DATA / "coll_six").glob("*.pb")
    program = hlo.read(file.read_bytes())
    assert program is not None
    check_collectives(program, said["collectives"])


@pytest.mark.parametrize("name", CPU)
def test_operations_are_of_the_device_that_they_name(name: str) -> None:
    found = profile(name)
    assert [str(device.number) for device in found.devices] == list(truth(name)["devices"])
    joined = 0
    for device in found.devices:
        wanted = truth(name)["devices"][str(device.number)]
        leaves = [op for op in device.ops if not op.container]
        joined += sum(found.instruction(op) is not None for op in device.ops)
        assert (len(device.ops), len(leaves)) == (wanted["hlo_events"], wanted["leaf_events"])
        assert sum(op.end_ps - op.start_ps for op in leaves) == wanted["leaf_sum_ps"]
        until = sum(op.until_ps - op.start_ps for op in leaves)
        assert until == wanted["leaf_sum_to_end_marker_ps"]
    assert joined == truth(name)["joined"]
    assert found.late == truth(name)["ended_after_own_event"]
    assert found.unmarked == truth(name)["leaf_without_end_marker"]


def kinds(trace: Trace) -> tuple[Counter[str], Counter[str], int]:
    """Collectives by kind, other nodes by type (without delays), and FLOPs."""
    collective: Counter[str] = Counter()
    others: Counter[str] = Counter()
    flops = 0
    for node in trace:
        said = {item.name: item.value for item in node.attributes}
        flops += int(said.get("num_ops", 0))  # type: ignore[arg-type]
        if node.type == NodeType.COMM_COLL:
            collective[CollectiveType(said["comm_type"]).name] += 1  # type: ignore[arg-type]
        elif node.name != "delay":
            others[NodeType(node.type).name] += 1
    return collective, others, flops


@pytest.mark.parametrize("name", [*CPU, "gpu_a"])
def test_traces_have_the_nodes_that_were_counted(name: str) -> None:
    job, made = traces(name)
    for rank, trace in made.items():
        device = truth(name)["devices"][str(job.ranks[rank].device.number)]
        wanted = device["chakra"]
        collective, others, flops = kinds(trace)
        assert flops == wanted.get("flops", device.get("flops"))
        said = {
            kind.upper().replace("-", "_").replace("COLLECTIVE_", ""): number
            for kind, number in wanted["COLL"].items()
        }
        assert collective == said
        works = job.ranks[rank].works
        opcodes = [str(work.attributes.get("opcode", "")) for work in works]
        permutes = sum(opcode.startswith("collective-permute") for opcode in opcodes)
        assert len(works) == wanted.get("device_nodes", wanted["nodes"])
        assert permutes == wanted["permute_events"]
        computed = len(works) - permutes - collective.total() - wanted.get("copies", 0)
        assert computed == wanted["COMP"]
        if name != "gpu_a":
            moved = others["COMM_SEND"], others["COMM_RECV"]
            assert moved == (wanted["permute_sends"], wanted["permute_recvs"])
    if name == "gpu_a":
        assert job.report.sends == job.report.receives == 2 * 3  # three pairs, two steps


def test_planes_of_gpus_have_exact_streams_and_instructions() -> None:
    said, found = truth("gpu_a"), profile("gpu_a")
    for device in found.devices:
        wanted = said["devices"][str(device.number)]
        streams: defaultdict[str, dict[str, int]] = defaultdict(lambda: {"events": 0, "sum_ps": 0})
        for op in device.ops:
            streams[str(op.stream)]["events"] += 1
            streams[str(op.stream)]["sum_ps"] += op.end_ps - op.start_ps
        assert streams == wanted["streams"]
        ends = device.ops[0].start_ps, max(op.end_ps for op in device.ops)
        assert ends == (wanted["first_start_ps"], wanted["last_end_ps"])
    assert (found.launches, found.launched) == (said["launches_on_host"], said["launch_pairs"])
    program = program_of(said["programs"][0], "gpu_a")
    for name, one in said["programs"][0]["instructions"].items():
        instruction = program.by_name[name]
        collective = program.collective(instruction)
        if collective is None:
            assert (program.flops(instruction), program.bytes(instruction)) == (
                one["flops"],
                one["bytes"],
            )
            continue
        assert (collective.kind, collective.bytes) == (one["collective"], one["bytes"])
        assert collective.groups == one.get("groups", collective.groups)
        assert [list(pair) for pair in collective.pairs] == one.get("pairs", [])


def test_without_its_program_a_profile_keeps_nodes_and_times_and_warns(tmp_path: Path) -> None:
    alone = tmp_path / "alone.xplane.pb"
    alone.write_bytes(Path(path("tp_mlp_sidecar")).read_bytes())
    job = XlaJob([str(alone)])
    made: dict[int, Trace] = {}
    report = job.convert(lambda rank, written: made.__setitem__(rank, written.trace()))
    whole, _ = traces("tp_mlp_sidecar")
    assert report.kernel_ps == whole.report.kernel_ps and report.kernels == whole.report.kernels
    assert report.unknown == {"all-reduce": 32} and not report.collectives
    assert "sizes, groups, FLOPs and data dependencies are unknown" in report.problems[0]


@cache
def linked(name: str) -> tuple[Linked, ...]:
    return tuple(source() for source in LinkedJob([path(name)]).sources())


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_device_ops_of_their_process_device_and_stream(name: str) -> None:
    said = truth(name)
    assert len(linked(name)) == len(said["ranks"])
    found: dict[str, tuple[int, int, int, int]] = {}
    for rank, one in zip(said["ranks"], linked(name), strict=True):
        origin = one.origin_ns
        for op in one.device_ops:
            key = f"{rank['process']}/{op.device}/{op.stream}"
            rows, total, first, last = found.get(key, (0, 0, op.start_ns + origin, 0))
            first = min(first, op.start_ns + origin)
            found[key] = rows + 1, total + op.dur_ns, first, max(last, op.end_ns + origin)
    keys = ("rows", "sum_ns", "first", "last")
    wanted = {name: tuple(one[key] for key in keys) for name, one in said["streams"].items()}
    assert found == wanted
    assert sum(rows for rows, *_ in found.values()) == said["device_nodes"]


@pytest.mark.parametrize("name", ROWS)
def test_kernels_find_their_launch_in_their_own_process(name: str) -> None:
    said = truth(name)
    ops = [op for one in linked(name) for op in one.device_ops if op.cat == "kernel"]
    graphs = sum(op.name.startswith("graph ") for op in ops)
    launched = sum(op.launch_start_ns is not None for op in ops) - graphs
    assert launched == said.get("kernels_with_launch", said.get("dispatches_with_launch"))
    assert len(ops) == said.get("kernels", said.get("dispatches")) + said.get("graph_rows", 0)
    copies = [op for one in linked(name) for op in one.device_ops if op.cat == "gpu_memcpy"]
    wanted = said["copies"] if "rows" in said["copies"] else None
    rows = sum(one["rows"] for one in said["copies"].values()) if wanted is None else wanted["rows"]
    sizes = [said["copies"]] if wanted else said["copies"].values()
    assert len(copies) == rows
    assert sum(op.bytes or 0 for op in copies) == sum(one["bytes"] for one in sizes)
    report = [one.report for one in linked(name)]
    assert sum(one.clock_problems for one in report) == 0


def messages(name: str) -> list[tuple[int, str, int | None, int | None, int | None]]:
    """(rank, kind, bytes, sent to, received from) of every kernel of NCCL or RCCL."""
    made, _ = sources.in_memory([path(name)])
    found = []
    for rank, _, trace in made:
        known: dict[int, list[Any]] = {}
        for node in trace:
            said = {item.name: item.value for item in node.attributes}
            if node.type == NodeType.COMM_COLL:
                kind = CollectiveType(said["comm_type"]).name  # type: ignore[arg-type]
                found.append((rank, kind, said["comm_size"], None, None))
            elif node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
                start = said["start_time_ns"]
                pair = known.setdefault(start, [rank, "SEND+RECV", said["comm_size"], None, None])  # type: ignore[arg-type]
                is_send = node.type == NodeType.COMM_SEND
                pair[3 if is_send else 4] = said["comm_dst" if is_send else "comm_src"]
        found += [tuple(pair) for pair in known.values()]
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("name", ROWS)
def test_nccl_has_the_sizes_and_peers_of_its_payloads_or_none(name: str) -> None:
    said = truth(name)
    calls = said.get("nccl", said.get("rccl"))
    wanted = []
    for one in calls:
        if one["bytes"] is not None:
            rank = one["device" if "device" in one else "agent"]
            ends = one.get("send_to"), one.get("recv_from")
            wanted.append((rank, one["kind"], one["bytes"], *ends))
    assert Counter(messages(name)) == Counter(wanted)


def test_waits_that_name_their_event_are_known_and_the_others_counted() -> None:
    for name in ("nsys_a", "nsys_b"):
        known = sum(one["known"] for one in truth(name)["waits"])
        reports = [one.report for one in linked(name)]
        assert sum(one.stream_waits for one in reports) == len(truth(name)["waits"])
        assert sum(one.stream_waits_explained for one in reports) == len(truth(name)["waits"])
        told = [text for one in reports for text in one.problems if "do not name" in text]
        assert bool(told) == (known == 0)


@pytest.mark.parametrize("name", ["nsys_a", "nsys_b"])
def test_the_host_waits_as_long_as_its_synchronisations(name: str) -> None:
    waited = LinkedJob([path(name)]).waited_ns
    for number, kind in ((1, "Event Sync"), (3, "Stream Sync"), (4, "Context Sync")):
        assert waited[kind] == truth(name)[f"sync_{number}_ns"]


def test_damaged_profiles_are_refused_with_the_byte_or_the_cause() -> None:
    with pytest.raises(TraceError, match=r"byte \d+: ends inside a field"):
        xla.read(str(DATA / "damaged" / "cut.xplane.pb"))
    with pytest.raises(TraceError, match=r"kept as text: .* U\+FFFD"):
        xla.read(str(DATA / "damaged" / "replaced.xplane.pb"))
