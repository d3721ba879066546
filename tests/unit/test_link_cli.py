"""`yantra chakra link` and `chakra_trace_link`: files in, files out, messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.oracles.gpu_program import write_pair
from yantra import chakra
from yantra.cli import main
from yantra.cli.upstream import trace_link
from yantra.tracing.pytorch import linked_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for rank in (0, 1):
        write_pair(tmp_path, operators=30, seed=rank)
        for kind in ("host", "device"):
            (tmp_path / f"{kind}.json").rename(tmp_path / f"{kind}.{rank}.json")
    device = json.loads((tmp_path / "device.1.json").read_text())
    device["distributedInfo"]["rank"] = 1
    (tmp_path / "device.1.json").write_text(json.dumps(device))
    return tmp_path


def link(folder: Path, *arguments: str) -> int:
    return main(["chakra", "link", *(a.replace("@", f"{folder}/") for a in arguments)])


def test_one_rank_to_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        link(folder, "--host", "@host.0.json", "--device", "@device.0.json", "-o", "@l.json") == 0
    )
    linked = linked_file.read(str(folder / "l.json"))
    said = capsys.readouterr().err
    assert f"{linked.report.operators} operators" in said
    assert "blocking calls:" in said and "waits of streams:" in said


def test_quiet_prints_only_warnings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ("--host", "@host.0.json", "--device", "@device.0.json", "-o", "@l.json.gz")
    assert link(folder, *pair, "-q", "--rank", "6") == 0
    assert linked_file.read(str(folder / "l.json.gz")).rank == 6
    assert capsys.readouterr().err == ""


def test_all_ranks_by_a_pattern(folder: Path) -> None:
    pattern = ("--host", "@host.{rank}.json", "--device", "@device.{rank}.json")
    assert link(folder, *pattern, "-o", "@linked.{rank}.json") == 0
    assert [linked_file.read(str(folder / f"linked.{r}.json")).rank for r in (0, 1)] == [0, 1]


def test_several_ranks_one_by_one_to_chakra_traces(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = [
        a for r in (0, 1) for a in ("--host", f"@host.{r}.json", "--device", f"@device.{r}.json")
    ]
    assert link(folder, *ranks, "-o", "@job", "--to", "et") == 0
    assert [len(chakra.read(folder / f"job.{r}.et")) > 30 for r in (0, 1)] == [True, True]
    assert capsys.readouterr().err.count("with times") == 2  # one warning for each rank


BAD = [
    (["--host", "@host.0.json"], "device"),
    (["--host", "@host.0.json", "--device", "@none.json"], "no such file"),
    (["--host", "@host.0.json", "--host", "@host.1.json", "--device", "@device.0.json"], "2 host"),
    (["--host", "@host.{rank}.json", "--device", "@device.0.json"], "a pattern with {rank}"),
    (["--host", "@h.{rank}.json", "--device", "@device.{rank}.json"], "no file is named"),
    (["--host", "@host.{rank}.json", "--device", "@none.{rank}.json"], "no trace of rank 0"),
    (["--host", "@host.{rank}.json", "--device", "@device.{rank}.json"], "a name with {rank}"),
    (["--host", "@host.0.json", "--device", "@device.1.json"], "different"),
    (
        ["--host", "@host.0.json", "--device", "@device.0.json", "--compat", "upstream",
         "--to", "et"],
        "links to JSON",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), BAD)
def test_mistakes_are_told(
    folder: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert link(folder, *arguments, "-o", "@out.json") == 2
    assert said in capsys.readouterr().err
    assert not (folder / "out.json").exists()


def test_upstreams_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host, device, out = (str(folder / name) for name in ("host.0.json", "device.0.json", "o.json"))
    flags = ["--rank", "0", "--chakra-host-trace", host, "--chakra-device-trace", device]
    assert trace_link.run([*flags, "--output-file", out]) == 0
    assert linked_file.read(out).rank == 0
    assert "Linking process successful" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        trace_link.run(flags)


def test_both_commands_link_as_upstream_on_request(folder: Path) -> None:
    host, device, out = (str(folder / name) for name in ("host.0.json", "device.0.json", "o.json"))
    pair = ("--host", host, "--device", device)
    assert main(["chakra", "link", *pair, "-o", f"{out}2", "--compat", "upstream"]) == 0
    flags = ["--rank", "0", "--chakra-host", host, "--chakra-device", device, "--log", "ERROR"]
    assert trace_link.run([*flags, "--output-file", out, "--compat", "upstream"]) == 0
    assert Path(out).read_bytes() == Path(f"{out}2").read_bytes()
    assert "yantra" not in json.loads(Path(out).read_text())
