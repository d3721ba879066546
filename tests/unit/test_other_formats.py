"""Every kind of recording is known by its content, and says what to do in one sentence."""

from __future__ import annotations

import gzip
import json
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from yantra.chakra.other_formats import found_in
from yantra.cli import main

DATA = Path(__file__).parents[1] / "golden" / "data" / "profiles"
Captured = pytest.CaptureFixture[str]


def database(*tables: str) -> bytes:
    base = sqlite3.connect(":memory:")
    for table in tables:
        base.execute(f"CREATE TABLE {table} (id INT)")
    return base.serialize()


def timeline(*events: dict[str, Any]) -> bytes:
    return json.dumps(list(events)).encode()


def packets() -> bytes:
    packet = b"\x40\x07\x50\x01"  # a time stamp and a sequence
    return (b"\x0a" + bytes([len(packet)]) + packet) * 3


NEGOTIATE = {"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "pid": 1, "ts": 1}
PLACED = {"ph": "M", "name": "process_name", "args": {"name": "/job:x/replica:0/task:0/gpu:0"}}
VIEWER = {"ph": "M", "name": "process_name", "args": {"name": "/device:GPU:0"}}
SAGEMAKER = {"ph": "M", "name": "process_sort", "args": {"start_time_since_epoch_in_micros": 1}}
PROBED = {"ph": "X", "name": "tcp_sendmsg", "pid": 1, "ts": 1, "dur": 1, "args": {"kprobe": "x"}}
SNAPSHOT = pickle.dumps({"segments": [], "device_traces": []})

REFUSED: dict[str, tuple[bytes, str, str]] = {
    "a.nsys-rep": (b"\0\1NVIDIA Nsight Systems\0", "nsys-rep", "nsys export --type sqlite"),
    "b.nsys-rep": (b"\0\1\2\3" * 9, "nsys-rep", "nsys export --type sqlite"),
    "a.qdstrm": (b"\0\1\2\3" * 9, "qdstrm", "QdstrmImporter -i a.qdstrm"),
    "a.ncu-rep": (b"NVR\0\1\2", "ncu-rep", "nsys profile"),
    "a.pftrace": (packets(), "pftrace", "--output-format rocpd"),
    "packets": (packets(), "pftrace", "--output-format rocpd"),
    "nvprof.db": (database("CUPTI_ACTIVITY_KIND_KERNEL", "StringTable"), "nvprof", "nsys profile"),
    "rpd.db": (database("rocpd_api", "rocpd_op", "rocpd_string"), "rpd", "--output-format rocpd"),
    "npu.db": (database("COMPUTE_TASK_INFO", "CANN_API"), "ascend", "trace_view.json"),
    "any.db": (database("things"), "sqlite", "torch.profiler"),
    "a.h5": (b"\x89HDF\r\n\x1a\n" + bytes(9), "hdf5", "nsys export --type sqlite"),
    "nsys.json": (b'{"data":["a","b"]}\n', "nsys-json", "nsys export --type sqlite"),
    "snapshot.pickle": (SNAPSHOT, "snapshot", "torch.profiler"),
    "a.pkl": (pickle.dumps([1, 2]), "pickle", "torch.profiler"),
    "kernels.csv": (b'"Kind","Agent_Id","Queue_Id"\n', "rocprof-csv", "--output-format rocpd"),
    "events.out": (bytes(12) + b"brain.Event:2", "events", ".xplane.pb"),
    "horovod.json": (timeline(NEGOTIATE), "horovod", "torch.profiler"),
    "tf.json": (timeline(PLACED), "tensorflow", ".xplane.pb"),
    "viewer.json": (timeline(VIEWER), "tensorflow", ".xplane.pb"),
    "sagemaker.json": (timeline(SAGEMAKER), "sagemaker", "torch.profiler"),
    "probes.json": (timeline(PROBED), "ebpf", "torch.profiler"),
    "x.hlo_proto.pb": (next((DATA / "coll_six").glob("*.pb")).read_bytes(), "hlo", ".xplane.pb"),
}
COMMANDS = [
    ["chakra", "link", "-o", "l.json", "--device"],
    ["chakra", "convert", "pytorch", "-o", "job"],
    ["chakra", "convert", "profile", "-o", "job"],
    ["chakra", "convert", "-o", "job"],
    ["chakra", "stats"],
    ["chakra", "timeline", "-o", "t.json"],
    ["chakra", "show"],
    ["run"],
]
READ = {
    "gpu_a/gpu_a.xplane.pb": "xplane",
    "twins/twins.xplane.pb": "xplane",
    "nsys_b/nsys_b.sqlite": "nsys",
    "rocpd_a/rocpd_a.db": "rocpd",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_named_with_its_remedy_in_one_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    content, key, remedy = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    found = found_in(name)
    assert found is not None and found.key == key
    for command in COMMANDS:
        line = [*command, name]
        if command[:3] == ["chakra", "convert", "-o"]:
            line = ["chakra", "convert", name, "-o", "job"]
        assert main(line) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: {name}: this is ") and said.count("\n") == 1, line
        assert remedy in said and "JSON:" not in said
    assert not list(tmp_path.glob("*.et"))


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_read_by_every_command_or_says_how(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(DATA / name)
    found = found_in(path)
    assert found is not None and found.key == READ[name] and found.is_read
    assert main(["chakra", "convert", path, "-o", "job.{rank}.et"]) == 0
    assert main(["chakra", "stats", path]) == 0
    assert main(["chakra", "timeline", path, "-o", "t.json"]) == 0
    assert main(["chakra", "validate", "job.{rank}.et"]) == 0
    capsys.readouterr()
    assert main(["trace", "look", path]) == 0
    assert found.name in capsys.readouterr().out
    assert main(["run", path]) == 2
    assert "a recording, which does not name a cluster" in capsys.readouterr().err
    assert main(["run", path, "--cluster", "mi300x"]) == 0
    assert "converted" in capsys.readouterr().err
    assert main(["run", "job.{rank}.et", *CLUSTER]) == 0


CLUSTER = ["--cluster", "hgx-h100", "--set", "cluster.device.compute=recorded"]


def test_a_pattern_of_profiles_is_named_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("host0.xplane.pb").write_bytes((DATA / "twins" / "twins.xplane.pb").read_bytes())
    Path("host0.nsys-rep").write_bytes(b"report")
    assert main(["run", "host{rank}.xplane.pb", *CLUSTER]) == 0
    assert "host{rank}.xplane.pb: profile of JAX" in capsys.readouterr().err
    assert main(["run", "host{rank}.nsys-rep", *CLUSTER]) == 2
    assert "export it: nsys export" in capsys.readouterr().err


def test_packed_files_are_known_too(tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(timeline(NEGOTIATE)))
    found = found_in(str(packed))
    assert found is not None and found.key == "horovod"


@pytest.mark.parametrize(
    "content",
    [
        b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "nccl"}]}',
        b'[{"ph": "X", "cat": "cpu_op", "name": "MPI_Allreduce"}]',
        b"\x0a\x08\x0a\x06schema",  # the beginning of a trace of Chakra
        b"workload: {traces: job.{rank}.et}\n",
        b"/**/" * 9_000 + b"x",  # no comment is read in two ways
        b"",
    ],
)
def test_other_files_are_left_to_their_readers(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    assert found_in(str(path)) is None


def test_files_of_two_profilers_are_no_job(tmp_path: Path, capsys: Captured) -> None:
    two = [str(DATA / "twins" / "twins.xplane.pb"), str(DATA / "nsys_b" / "nsys_b.sqlite")]
    assert main(["chakra", "convert", "profile", *two, "-o", str(tmp_path / "job")]) == 2
    assert "expected files of one profiler" in capsys.readouterr().err


def test_several_ranks_need_several_files(tmp_path: Path, capsys: Captured) -> None:
    for name in ("tp_mlp/tp_mlp.xplane.pb", "nsys_a/nsys_a.sqlite"):
        line = ["chakra", "convert", str(DATA / name), "-o", str(tmp_path / "one.et")]
        assert main(line) == 2
        assert "traces are written; give a prefix, or a name with {rank}" in capsys.readouterr().err
        assert not list(tmp_path.iterdir())


def test_one_process_is_linked_and_several_are_pointed_on(tmp_path: Path, capsys: Captured) -> None:
    linked = str(tmp_path / "l.json")
    file = str(DATA / "nsys_b" / "nsys_b.sqlite")
    assert main(["chakra", "link", "--device", file, "-o", linked]) == 2
    assert "holds 2 ranks" in capsys.readouterr().err


def test_the_report_has_what_was_found_as_json(tmp_path: Path, capsys: Captured) -> None:
    file = str(DATA / "gpu_a" / "gpu_a.xplane.pb")
    assert main(["chakra", "convert", file, "-o", str(tmp_path / "job"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["ranks"], said["kernels"], said["copies"]) == (4, 280, 8)
    assert said["joined"] == 280 and said["launched"] == 288 and said["unknown"] == {}
