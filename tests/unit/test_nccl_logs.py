"""Logs of nccl-tests: what is read, and that fits give curves back and hold between sizes."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.nccl_logs import log, prefixed
from yantra.accuracy.nccl_log import Run, Timing, parse
from yantra.accuracy.user_collectives import curve_of
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.collectives.protocols import FACTORS, Protocols, time_us
from yantra.collectives.selection import FIELD, own, selection_of
from yantra.collectives.selection.measured import fits
from yantra.collectives.selection.selection import Group, Timed
from yantra.scenario import load, loads, to_yaml

SIZES = [2**k for k in range(10, 31)]
PROGRAMS = {"all_reduce": "all_reduce", "all_gather": "all_gather",
            "reduce_scatter": "reduce_scatter", "all_to_all": "alltoall"}  # fmt: skip
NODE = (("switch", 8), ("switch", 4))
# Bytes and microseconds of all-reduce on two p4de.24xlarge (16 A100 80 GB, EFA):
# https://github.com/aws-samples/awsome-distributed-training at 7217859f,
# micro-benchmarks/nccl-tests/README.md (MIT-0).
P4DE = (
    (8, 164.3), (16, 161.4), (32, 161.5), (64, 161), (128, 161.2), (256, 161.8), (512, 162.3),
    (1024, 165), (2048, 177.6), (4096, 169.4), (8192, 175.9), (16384, 193.4), (32768, 224.6),
    (65536, 227.4), (131072, 229.7), (262144, 238.2), (524288, 260.3), (1048576, 309.4),
    (2097152, 432.6), (4194304, 533.9), (8388608, 762.8), (16777216, 1191.8), (33554432, 1540.2),
    (67108864, 2644.6), (134217728, 3912.9), (268435456, 7201.7), (536870912, 13552),
    (1073741824, 26217), (2147483648, 51406),
)  # fmt: skip


def curve(protocols: Protocols, kind: str, ranks: int, sizes: list[int]) -> list[float]:
    """Return the microseconds of a collective in a node."""
    wire = np.array(sizes, float) * FACTORS[kind] * (ranks - 1) / ranks
    hops = np.full(len(sizes), log2(ranks))
    return [float(one) for one in time_us(protocols, hops, np.array(sizes, float), wire)]


def run_of(kind: str, ranks: int, sizes: list[int], us: list[float], nodes: int = 1) -> Run:
    timings = (Timing(size, one, 1) for size, one in zip(sizes, us, strict=True))
    return Run(kind, ranks, nodes, tuple(timings))


@pytest.mark.parametrize("kind", list(PROGRAMS))
@pytest.mark.parametrize("system", ["a100", "h100", "b200"])
def test_the_fit_of_a_curve_gives_it_back_at_sizes_and_between(system: str, kind: str) -> None:
    true = fits()[system, kind, "node"].protocols
    made = curve_of([run_of(kind, 8, SIZES, curve(true, kind, 8, SIZES))])
    assert (made.most_ranks, made.points, made.local) == (8, len(SIZES), 8)
    between = [size * 3 // 2 for size in SIZES[:-1]]
    for sizes in (SIZES, between):
        ours, theirs = (np.array(curve(one, kind, 8, sizes)) for one in (made.protocols, true))
        off = np.abs(ours / theirs - 1)
        assert off.mean() < 0.02
        assert off.max() < 0.10


def test_several_numbers_of_ranks_tell_how_latency_grows() -> None:
    true = fits()["h100", "all_reduce", "node"].protocols
    runs = [
        run_of("all_reduce", ranks, SIZES, curve(true, "all_reduce", ranks, SIZES))
        for ranks in (2, 8)
    ]
    made = curve_of(runs).protocols
    ours, theirs = (np.array(curve(one, "all_reduce", 4, SIZES)) for one in (made, true))
    assert np.abs(ours / theirs - 1).mean() < 0.05


def test_two_nodes_of_others_are_met_at_sizes_that_were_left_out() -> None:
    fit = run_of("all_reduce", 16, *map(list, zip(*P4DE[::2], strict=True)), nodes=2)
    made = curve_of([fit])
    sizes, us = (np.array(one, float) for one in zip(*P4DE[1::2], strict=True))
    wire = 2 * 15 / 16 * sizes
    off = np.abs(time_us(made.protocols, np.ones(len(sizes)), sizes, wire) / us - 1)
    assert off.mean() < 0.11
    assert np.median(off) < 0.09


def times(scale: float = 1.0) -> list[tuple[int, float]]:
    return [(size, scale * (20 + size / 1e5)) for size in SIZES]


def test_a_log_of_several_runs_is_read_whole() -> None:
    text = log("all_reduce", times()) + log("alltoall", times(2), ranks=16, nodes=2)
    for whole in (text, prefixed(text), text.replace("\n", "\r\n")):
        found = parse(whole, "nccl.log")
        assert [(run.collective, run.ranks, run.nodes, run.where) for run in found.runs] == [
            ("all_reduce", 8, 1, "node"), ("all_to_all", 16, 2, "nodes"),
        ]  # fmt: skip
        assert [one.size for one in found.runs[0].timings] == SIZES
        assert found.runs[1].timings[3].us == pytest.approx(2 * (20 + SIZES[3] / 1e5), abs=0.01)
        assert found.notes == ()


def test_the_program_may_be_named_by_a_command_or_by_the_file() -> None:
    bare = log("all_gather", times(), names=False)
    shown = f"+ mpirun -np 8 ./build/all_gather_perf -b 1K -e 1G -f 2\n{bare}"
    assert parse(shown, "nccl.log").runs[0].collective == "all_gather"
    two = shown + shown.replace("all_gather", "reduce_scatter")
    assert [run.collective for run in parse(two, "x").runs] == ["all_gather", "reduce_scatter"]
    assert parse(bare, "logs/all_gather_perf.txt").runs[0].collective == "all_gather"


@pytest.mark.parametrize(
    "prefix",
    ["", "    ", "3: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "[prterun-node-1-123@1,0]<stdout>: "],
)
def test_logs_are_read_with_the_prefixes_of_launchers_and_indented(prefix: str) -> None:
    # Names as builds with MPI have them since version 2.17, with the line at the end.
    text = log("all_reduce", times(), ranks=16, nodes=2, suffix="_mpi") * 2
    found = parse(prefixed(text, prefix), "nccl.log")
    assert [(one.collective, one.ranks, one.nodes) for one in found.runs] == [
        ("all_reduce", 16, 2)
    ] * 2
    assert [one.size for one in found.runs[1].timings] == SIZES


def test_ranks_that_name_no_host_are_on_one_node() -> None:
    (found,) = parse(log("alltoall", times(), hosts=False), "nccl.log").runs
    assert (found.collective, found.ranks, found.nodes) == ("all_to_all", 8, 1)


def test_what_nccl_and_the_loader_say_in_between_is_no_data() -> None:
    noise = (
        "node-1:42:42 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
        "/nccl-tests/build/all_reduce_perf: libnl-3.so.200: no version information available\n"
    )
    first, rest = log("all_reduce", times()).split("# Using devices\n")
    found = parse(f"{noise}{first}# Using devices\n{noise}{rest}{noise}", "nccl.log")
    assert [len(one.timings) for one in found.runs] == [len(SIZES)]


def test_other_programs_are_passed_over_and_told() -> None:
    found = parse(log("sendrecv", times()) + log("all_reduce", times()), "nccl.log")
    assert [run.collective for run in found.runs] == ["all_reduce"]
    assert found.notes[0].startswith(
        "nccl.log:18: sendrecv_perf is passed over; read are all_reduce"
    )


def test_zero_sizes_and_times_are_no_points() -> None:
    found = parse(log("all_reduce", [(0, 3.0), *times()]), "nccl.log")
    assert len(found.runs[0].timings) == len(SIZES)


GOOD = log("all_reduce", times())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD.replace("    20.01", "     fast", 1), r"nccl.log:18: time: expected microseconds"),
        (GOOD.replace("    20.01", "      nan", 1), r"nccl.log:18: time: expected microseconds"),
        (GOOD[: GOOD.index("float") + 8], r"nccl.log:18: expected \d+ columns, got 3: cut off\?"),
        (GOOD.replace("#  Rank", "#  rank"), r"nccl.log:18: expected two or more lines '# Rank 0"),
        (log("all_reduce", times(), names=False), r"nccl.log:17: expected the name of a program"),
        ("hello\n", "nccl.log: expected lines of nccl-tests"),
        ("", "nccl.log: expected lines of nccl-tests"),
        (GOOD.replace("        1024 ", "9" * 30 + " ", 1), r"nccl.log:18: size: expected bytes"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        parse(text, "nccl.log")


def calibrated(folder: Path, text: str, name: str = "my-node") -> Path:
    (folder / "nccl.log").write_text(text)
    path = folder / f"{name}.yaml"
    line = ["calibrate", str(folder / "nccl.log"), "--cluster", name, "-o", str(path)]
    assert main(line) == 0
    return path


def chosen(kind: str, group: Group, **options: Any) -> Timed:
    selection = selection_of(FIELD.read({"kind": "measured", "options": options}, "", ""))
    [choice] = selection.choices(kind, group)
    assert isinstance(choice.algorithms, Timed)
    return choice.algorithms


def test_a_run_takes_as_long_as_the_log_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(log(program, times()) for program in PROGRAMS.values())
    text += log("all_reduce", times(3), ranks=16, nodes=2)
    path = str(calibrated(tmp_path, text))
    said = capsys.readouterr().out
    assert "all_reduce over nodes: 21 times on up to 16 ranks" in said
    name, found = own.load(path)
    assert name == "my-node" and len(found) == 5
    node = Group(8, NODE, (0,), 0, 8)
    for kind in PROGRAMS:
        timed = chosen(kind, node, file=path)
        assert "my-node" in timed.basis and "extrapolated" not in timed.basis
        counted = 8 if kind == "all_gather" else 1
        for size, ns in timed.points:
            if SIZES[0] <= size * counted <= SIZES[-1]:
                assert ns / 1e3 == pytest.approx(20 + size * counted / 1e5, rel=0.12)
    over = chosen("all_reduce", Group(16, NODE, (0, 1), 0, 8), file=path)
    assert dict(over.points)[2**24] / 1e3 == pytest.approx(3 * (20 + 2**24 / 1e5), rel=0.1)
    assert over.basis == "collectives of NCCL measured over nodes of my-node"
    more = chosen("all_reduce", Group(32, NODE, (0, 1), 0, 8), file=path)
    assert more.basis.endswith("extrapolated from 16 to 32 ranks")
    fewer = chosen("all_reduce", Group(8, NODE, (0, 1), 0, 4), file=path)
    assert "extrapolated from 8 to 4 ranks a node" in fewer.basis
    both = {"file": path, "system": "h100", "adapter": "48.5 GB/s"}
    other = chosen("all_gather", Group(16, NODE, (0, 1), 0, 8), **both)
    assert "extrapolated from a100-ndv4" in other.basis


def test_a_collective_that_was_not_measured_is_that_of_the_system(tmp_path: Path) -> None:
    path = str(calibrated(tmp_path, GOOD))
    node = Group(8, NODE, (0,), 0, 8)
    both = {"file": path, "system": "h100"}
    assert "in a node of my-node" in chosen("all_reduce", node, **both).basis
    assert "in a node of h100" in chosen("all_to_all", node, **both).basis
    alone = selection_of(FIELD.read({"kind": "measured", "options": {"file": path}}, "", ""))
    assert alone.choices("all_to_all", node) == []
    assert alone.choices("all_reduce", Group(16, NODE, (0, 1), 0, 8)) == []


def test_a_scenario_and_the_command_line_take_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = calibrated(tmp_path, GOOD)
    tree = (
        "cluster: {name: hgx-h100, collectives: my-node.yaml}\n"
        "workload: {model: llama3-8b, plan: {tp: 8, global_batch: 4}}\n"
    )
    (tmp_path / "step.yaml").write_text(tree)
    made = load(tmp_path / "step.yaml")
    assert dict(made.collectives.selection.options)["file"] == str(path)  # type: ignore[union-attr]
    assert loads(to_yaml(made, tmp_path), tmp_path) == made
    with pytest.raises(ConfigError, match=r"cluster.collectives: only with speeds: measured"):
        loads(tree.replace("collectives:", "speeds: nominal, collectives:"), tmp_path)
    workload = tmp_path / "step.yw"
    plan = ["--tp", "8", "--global-batch", "4"]
    assert main(["workload", "train", "--model", "llama3-8b", *plan, "-o", str(workload)]) == 0
    run = ["run", "--workload", str(workload), "--cluster", "hgx-h100", "--stack", "unknown"]
    capsys.readouterr()
    assert main([*run, "--collectives", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "collectives of NCCL measured in a node of my-node" in said
    path.write_text(path.read_text().replace("all_reduce,node", "all_reduced,node"))
    assert main([*run, "--collectives", str(path)]) == 2
    said = capsys.readouterr().err
    assert "my-node.yaml: collectives line 2: collective: expected one of" in said
    assert "did you mean 'all_reduce'" in said


def test_json_has_the_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nccl.log").write_text(GOOD)
    line = ["calibrate", str(tmp_path / "nccl.log"), "--cluster", "n", "--json"]
    assert main([*line, "-o", str(tmp_path / "n.yaml")]) == 0
    [one] = json.loads(capsys.readouterr().out)["collectives"]
    assert one["collective"] == "all_reduce" and one["protocols"]["b_simple"] > 0


def test_too_few_sizes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nccl.log").write_text(log("all_reduce", times()[:4]))
    assert main(["calibrate", str(tmp_path / "nccl.log"), "--cluster", "n"]) == 2
    said = capsys.readouterr().err
    assert "nccl.log:18: expected 6 or more sizes above 0 of all_reduce in a node, got 4" in said
