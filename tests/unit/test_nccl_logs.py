"""Logs of nccl-tests: what is read, and that fits give curves back and hold between sizes."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.nccl_logs import log, prefixed
from yantra.accuracy.nccl_log import Run, Timing, parse
from yantra.accuracy.user_collectives import collectives_text, curve_of
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.collectives.selection import FIELD, own, selection_of
from yantra.collectives.selection.measured import fits
from yantra.collectives.selection.selection import Group, Timed
from yantra.collectives.terms import Term, points, taken
from yantra.fabric import clusters
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


def curve(terms: tuple[Term, ...], kind: str, ranks: int, sizes: list[int]) -> list[float]:
    return [float(one) for one in taken(terms, points(kind, ranks, 1, sizes))[0]]


def run_of(
    kind: str, ranks: int, sizes: list[int], us: list[float], nodes: int = 1, device: str = ""
) -> Run:
    timings = (Timing(size, one, 1) for size, one in zip(sizes, us, strict=True))
    return Run(kind, ranks, nodes, tuple(timings), device)


@pytest.mark.parametrize("kind", list(PROGRAMS))
@pytest.mark.parametrize("system", ["a100", "h100", "b200"])
def test_the_fit_of_a_curve_gives_it_back_at_sizes_and_between(system: str, kind: str) -> None:
    true = fits()[system, kind, "node"].terms
    device = f"NVIDIA {system.upper()}-SXM"
    made = curve_of([run_of(kind, 8, SIZES, curve(true, kind, 8, SIZES), device=device)]).fit
    assert (made.most_ranks, made.points, made.local) == (8, len(SIZES), 8)
    between = [size * 3 // 2 for size in SIZES[:-1]]
    for sizes in (SIZES, between):
        ours, theirs = (np.array(curve(one, kind, 8, sizes)) for one in (made.terms, true))
        off = np.abs(ours / theirs - 1)
        assert off.mean() < 0.02
        assert off.max() < 0.10


def test_several_numbers_of_ranks_tell_how_latency_grows() -> None:
    true = fits()["h100", "all_reduce", "node"].terms
    runs = [
        run_of("all_reduce", ranks, SIZES, curve(true, "all_reduce", ranks, SIZES))
        for ranks in (2, 8)
    ]
    made = curve_of(runs).fit.terms
    ours, theirs = (np.array(curve(one, "all_reduce", 4, SIZES)) for one in (made, true))
    assert np.abs(ours / theirs - 1).mean() < 0.05


def test_two_nodes_of_others_are_met_at_sizes_that_were_left_out() -> None:
    fit = run_of("all_reduce", 16, *map(list, zip(*P4DE[::2], strict=True)), nodes=2)
    made = curve_of([fit]).fit
    sizes, us = (np.array(one, float) for one in zip(*P4DE[1::2], strict=True))
    off = taken(made.terms, points("all_reduce", 16, 2, sizes))[0] / us - 1
    assert np.abs(off).mean() < 0.06
    assert np.median(np.abs(off)) < 0.04
    assert np.mean(np.abs(np.log1p(off)) < made.interval) >= 0.85


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
        "nccl.log:18: sendrecv_perf is skipped; the programs read are all_reduce"
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
    choice, *_ = selection.choices(kind, group)
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
        "cluster: hgx-h100\nstack: ./my-node.yaml\n"
        "workload: {model: llama3-8b, plan: {tp: 8, global_batch: 4}}\n"
    )
    (tmp_path / "step.yaml").write_text(tree)
    made = load(tmp_path / "step.yaml")
    assert dict(made.collectives.selection.options)["file"] == str(path)  # type: ignore[union-attr]
    assert loads(to_yaml(made, tmp_path), tmp_path) == made
    old = tree.replace("cluster: hgx-h100", "cluster: {name: hgx-h100, collectives: my-node.yaml}")
    with pytest.raises(ConfigError, match=r"cluster.collectives: is part of the stack now"):
        loads(old, tmp_path)
    workload = tmp_path / "step.yw"
    plan = ["--tp", "8", "--global-batch", "4"]
    assert main(["workload", "train", "--model", "llama3-8b", *plan, "-o", str(workload)]) == 0
    run = ["run", "--workload", str(workload), "--cluster", "hgx-h100"]
    capsys.readouterr()
    assert main([*run, "--stack", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "collectives of NCCL measured in a node of my-node" in said
    path.write_text(path.read_text().replace("all_reduce,node", "all_reduced,node"))
    assert main([*run, "--stack", str(path)]) == 2
    said = capsys.readouterr().err
    assert "my-node.yaml: collectives line 2: collective: expected one of" in said
    assert "did you mean 'all_reduce'" in said


def test_a_named_cluster_becomes_one_with_its_own_collectives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nccl.log").write_text(GOOD)
    path, base = tmp_path / "mine.yaml", clusters.load("hgx-h100")
    line = ["calibrate", str(tmp_path / "nccl.log"), "--cluster"]
    assert main([*line, "hgx-h100", "-o", str(path)]) == 0
    assert f"use it with --cluster {path}" in capsys.readouterr().out
    mine = clusters.load(path)
    assert mine.replace(name=base.name, fits=None) == base
    assert mine.fits == str(path) and own.load(path)[0] == "mine"
    bench = ["collective", "bench", "--sizes", "1 KiB, 1 MiB, 1 GiB", "--json", "--cluster"]
    assert main([*bench, str(path)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rests_on"] == "collectives of NCCL measured in a node of mine"
    for row in said["rows"]:
        if SIZES[0] <= row["size_bytes"] <= SIZES[-1]:
            assert row["time_ns"] == pytest.approx(2e4 + row["size_bytes"] / 100, rel=0.1)
            assert row["low_ns"] < row["time_ns"] < row["high_ns"]
    answers = []
    for name in (str(path), "hgx-h100"):
        assert main([*bench, name, "--collective", "reduce_scatter"]) == 0
        said = json.loads(capsys.readouterr().out)
        times_ns = [row["time_ns"] for row in said["rows"]]
        answers.append((said["rests_on"], times_ns))
    assert answers[0] == answers[1]
    # Earlier measurements are kept beside new ones.
    (tmp_path / "nccl.log").write_text(log("all_gather", times()))
    assert main([*line, str(path), "-o", str(tmp_path / "both.yaml")]) == 0
    assert set(own.load(tmp_path / "both.yaml")[1]) == {
        ("all_reduce", "node"), ("all_gather", "node"),
    }  # fmt: skip


def test_hosts_of_one_domain_are_one_node(tmp_path: Path) -> None:
    text = log("all_reduce", times(), ranks=16, nodes=4)
    (tmp_path / "nccl.log").write_text(text)
    for cluster, where in (("gb200-nvl72", "node"), ("hgx-h100", "nodes"), ("other", "nodes")):
        made = collectives_text(tmp_path / "nccl.log", cluster)
        assert [one.where for one in made.curves] == [where]
    assert made.curves[0].fit.local == 4


def test_eight_times_move_what_the_named_cluster_has(tmp_path: Path) -> None:
    known = clusters.load("hgx-h100")
    sizes = [2**k for k in range(10, 31, 1)]
    terms = fits()["h100", "all_reduce", "node"].terms
    slower = [1.5 * one for one in curve(terms, "all_reduce", 8, sizes)]
    run = run_of("all_reduce", 8, sizes[::3] + sizes[-1:], slower[::3] + slower[-1:])
    made = curve_of([run], known).fit.terms
    off = np.array(curve(made, "all_reduce", 8, sizes)) / slower - 1
    assert np.abs(off).mean() < 0.05


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("Ring,LL,", "Rings,LL,"), "collectives.fits line 2: algorithm: expected one of Ring"),
        (("Ring,LL,", "Ring,LL1,"), "collectives.fits line 2: protocol: expected one of LL"),
        (("all_reduce,node,8,8,21,Ring,LL128", "all_reduce,node,8,4,21,Ring,LL128"), "differs"),
        (("node,8,8,21,Ring,LL,", "node,8.5,8,21,Ring,LL,"), "local: expected a whole number"),
        (("latency_us", "latency"), "line 1: expected the columns"),
        (("fits: |", "fit: |"), "unknown key; did you mean 'fits'"),
    ],
)
def test_wrong_fits_of_a_cluster_are_told(
    tmp_path: Path, changed: tuple[str, str], expected: str
) -> None:
    (tmp_path / "nccl.log").write_text(GOOD)
    made = collectives_text(tmp_path / "nccl.log", "hgx-h100")
    assert changed[0] in made.text
    path = tmp_path / "mine.yaml"
    path.write_text(made.text.replace(*changed, 1))
    with pytest.raises(ConfigError, match=expected):
        clusters.load(path)


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "nccl.log").write_text(GOOD)
    with pytest.raises(ConfigError, match=r"no-such\.yaml"):
        collectives_text(tmp_path / "nccl.log", "./no-such.yaml")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["hgx-h100", "--ranks", "1"], "--ranks: expected 2 or more"),
        (["hgx-h100", "--ranks", "8", "--sizes", "0 B"], "--sizes must be at least 1 B, got 0 B"),
        (["hgx-h100", "--ranks", "9"], "9 ranks cannot be had on hgx-h100"),
    ],
)
def test_a_bench_of_what_cannot_be_is_refused(
    line: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collective", "bench", "--cluster", *line]) == 2
    assert expected in capsys.readouterr().err


def test_collectives_that_nobody_measured_go_as_messages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = ["collective", "bench", "--cluster", "tpu-v4", "--ranks", "8", "--sizes", "1MiB"]
    assert main([*line, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert "rests_on" not in said and "low_ns" not in said["rows"][0]


def test_json_has_the_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nccl.log").write_text(GOOD)
    line = ["calibrate", str(tmp_path / "nccl.log"), "--cluster", "n", "--json"]
    assert main([*line, "-o", str(tmp_path / "n.yaml")]) == 0
    [one] = json.loads(capsys.readouterr().out)["collectives"]
    assert one["collective"] == "all_reduce" and one["terms"][0]["algorithm"] == "Ring"
    assert one["runs"][0][0] == 0 and 0 < one["interval"] < inf


def test_too_few_sizes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nccl.log").write_text(log("all_reduce", times()[:4]))
    assert main(["calibrate", str(tmp_path / "nccl.log"), "--cluster", "n"]) == 2
    said = capsys.readouterr().err
    assert "nccl.log:18: expected 6 or more sizes above 0 of all_reduce in a node, got 4" in said


@pytest.mark.parametrize("program", ["all_reduce", "alltoall"])
def test_rccl_tests_print_the_same_table_and_calibrate_a_cluster(
    tmp_path: Path, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """MI300X by their PCI addresses, and a line of the version that is no comment."""
    times = [(2**k, 12.0 + 2**k / 2e5) for k in range(10, 31)]
    text = log(program, times, amd=True)
    assert "rccl-tests: Version" in text and "[0000:0a:00] AMD Instinct MI300X" in text
    (run,) = parse(text, "rccl.log").runs
    assert (run.ranks, run.nodes, run.device) == (8, 1, "AMD Instinct MI300X")
    assert [one.us for one in run.timings] == [pytest.approx(us, abs=0.01) for _, us in times]
    (tmp_path / "rccl.log").write_text(text)
    line = ["calibrate", str(tmp_path / "rccl.log"), "--cluster", "mi300x"]
    assert main([*line, "-o", str(tmp_path / "mine.yaml")]) == 0
    assert "21 times on up to 8 ranks" in capsys.readouterr().out
    assert "mi300x" in (tmp_path / "mine.yaml").read_text()
