"""What microbenchmarks measure, with a fake timer, and on a CPU where PyTorch is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.accuracy import microbench_script as script
from yantra.accuracy.user_kernels import summary
from yantra.base.fields import Plugin
from yantra.cli import main
from yantra.compute import model_of, profiles
from yantra.compute.model import Device
from yantra.compute.profiles.rows import read

H100 = Device(peak_flops=989.4e12, memory_bytes_per_s=3.35e12)


def us_of(one: script.Case, slower: float) -> float:
    if one.op == "launch":
        return 2.0
    if one.op == "host_copy":
        return 5000.0
    rows = read(f"{script.HEAD}\n{one.line(1.0)}", "fake.csv").kernels
    model = model_of(Plugin(kind="measured", options=(("gpu", "h100_sxm"),)))
    return slower * float(model.estimate(rows, H100).middle[0]) / 1e3


class Fake:
    def __init__(self, slower: float) -> None:
        self.slower = slower
        self.is_warm = False

    def notes(self) -> Iterator[str]:
        yield "a fake GPU"

    def warm_up(self) -> None:
        self.is_warm = True

    def us(self, one: script.Case) -> float:
        assert self.is_warm
        if one.dtype == "fp8":
            raise script.Skip("this device has no FP8")
        return us_of(one, self.slower)


def lines(slower: float = 1.5) -> list[str]:
    return list(script.measured(Fake(slower), script.cases()))


def test_every_case_is_a_line_that_calibrate_reads() -> None:
    found = lines()
    rows = read("\n".join(found), "node.csv")
    without = [one for one in found if one.startswith("# without")]
    assert len(rows.kernels) + len(without) + 2 == len(list(script.cases()))
    assert all("this device has no FP8" in one for one in without)
    assert rows.notes[0] == "a fake GPU"
    assert rows.launch_us == 2.0
    assert rows.host_bytes_per_s == pytest.approx(2**28 / 5e-3)
    assert {one.family for one in summary(rows)} == {
        "attention", "gemm", "grouped_gemm", "memory_bound",
    }  # fmt: skip


def test_no_kernel_is_measured_twice() -> None:
    found = [one._replace(sizes=tuple(sorted(one.sizes))) for one in script.cases()]
    assert len(set(found)) == len(found)


def test_a_slower_machine_is_found_again_by_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "node.csv").write_text("\n".join(lines(1.5)) + "\n")
    made = tmp_path / "my-gpu.yaml"
    calibrate = ["calibrate", str(tmp_path / "node.csv"), "--device", "my-gpu", "-o", str(made)]
    assert main(calibrate) == 0
    said = capsys.readouterr().out
    assert "an empty kernel takes 2 us" in said
    assert "copies to the host reach 53.7 GB/s" in said
    assert "use it with --stack" in said
    assert main([*calibrate, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(made)
    profile = profiles.load(made)
    assert profile.device == "my-gpu" and profile.source.startswith("a fake GPU; without gemm")
    asked = read(
        f"{script.HEAD}\ngemm,dgrad,bf16,m=12288 n=6144 k=12288,1\n"
        "attention,dgrad,bf16,queries=2048 keys=2048 heads=40 head_dim=128,1",
        "asked.csv",
    ).kernels
    options = (("gpu", "h100_sxm"), ("profile", str(made)))
    model, plain = (
        model_of(Plugin(kind="measured", options=one)) for one in (options, options[:1])
    )
    ratio = model.estimate(asked, H100).middle / plain.estimate(asked, H100).middle
    assert ratio == pytest.approx(np.full(2, 1.5), rel=1e-3)


def test_a_run_takes_copies_to_the_host_from_the_profile(tmp_path: Path) -> None:
    from yantra.scenario.named import parts_at

    (tmp_path / "node.csv").write_text("\n".join(lines()) + "\n")
    made = str(tmp_path / "my-gpu.yaml")
    assert main(["calibrate", str(tmp_path / "node.csv"), "--device", "my-gpu", "-o", made]) == 0
    parts = parts_at("hgx-h100", 8, speeds="measured", profile=made)
    assert parts["memory"].bytes_per_ns == pytest.approx(2**28 / 5e6)


def test_what_does_not_fit_into_the_time_is_told() -> None:
    now = iter(range(10**6))
    found = list(script.measured(Fake(1.0), script.cases(), 20.0, lambda: float(next(now))))
    late = [one for one in found if one.endswith("more kernels did not fit into 20 s")]
    assert len(late) == 1
    kernels = sum(not one.startswith("#") for one in found) - 1
    assert kernels == 20
    assert int(late[0].split()[1]) == len(list(script.cases())) - 20


def test_a_wrong_file_is_told_with_its_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.csv"
    path.write_text("\n".join([*lines(), "gemm,forward,bf16,m=3,4"]))
    at = len(path.read_text().split("\n"))
    made = tmp_path / "out.yaml"
    assert main(["calibrate", str(path), "--device", "mine", "-o", str(made)]) == 2
    assert f"node.csv:{at}: shape: n: missing" in capsys.readouterr().err
    assert not made.exists()


@pytest.mark.parametrize(
    "line", ["gemm,forward,bf16,m=4096 n=4096 k=4096,0.15", "copy,,,bytes=1073741824,0.4"]
)
def test_times_in_other_units_are_refused(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "node.csv").write_text(f"{script.HEAD}\n{line}\n")
    made = tmp_path / "out.yaml"
    assert main(["calibrate", str(tmp_path / "node.csv"), "--device", "d", "-o", str(made)]) == 2
    assert "more than any device; are the times in microseconds?" in capsys.readouterr().err
    assert not made.exists()


def test_without_pytorch_or_a_gpu_it_is_said_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert main(["microbench", "-o", str(tmp_path / "node.csv")]) == 2
    said = capsys.readouterr().err
    assert "pip install" in said or "finds no GPU here" in said
    assert "--write-script FILE" in said
    assert list(tmp_path.iterdir()) == []


def test_the_script_runs_without_yantra(tmp_path: Path) -> None:
    path = tmp_path / "microbench.py"
    assert main(["microbench", "--write-script", str(path)]) == 0
    assert "import yantra" not in path.read_text() and "from yantra" not in path.read_text()
    told = subprocess.run(
        [sys.executable, "-I", path, "--help"], capture_output=True, text=True, check=True
    )
    assert "Measure kernels of one GPU" in told.stdout


def test_the_kernels_of_pytorch_are_those_of_the_lines() -> None:
    torch: Any = pytest.importorskip("torch")
    bench = script.Bench(torch, "cpu")
    small = [
        *script.products(16, 24, 32, "bf16"),
        script.case("gemm", "forward", "fp32", m=8, n=16, k=32),
        script.case(
            "attention", "dgrad", "bf16", queries=16, keys=16, heads=4, kv_heads=2, head_dim=8,
            value_dim=8,
        ),
        script.case("attention", "forward", "bf16", batch=2, queries=1, keys=8, heads=4,
                    kv_heads=2, head_dim=8, value_dim=8),
        script.case("norm", "forward", "bf16", m=4, bytes=4 * 4 * 32),
        script.case("softmax", "forward", "bf16", m=4, bytes=4 * 4 * 32),
        script.case("residual", "forward", "bf16", bytes=3 * 64),
        script.case("copy", "", "bf16", bytes=2 * 64),
        script.case("optimizer", "optimizer", "fp32", bytes=28 * 16),
        script.case("gemm", "forward", "fp8", m=16, n=16, k=16),
        script.case("launch", "", ""),
        script.case("host_copy", "", "", bytes=1024),
    ]  # fmt: skip
    found = list(script.measured(bench, small))
    assert found[0] == "# CPU"
    assert "one by one the host launches a kernel every" in found[3]
    rows = read("\n".join(found), "node.csv")
    assert [one for one in found if one.startswith("# without")] == [
        "# without gemm,forward,fp8,m=16 n=16 k=16: this device has no FP8",
        "# without launch,,,: a CPU launches nothing",
        "# without host_copy,,,bytes=1024: a CPU has its memory",
    ]
    assert len(rows.kernels) == len(small) - 3
    assert bench.host_launch_us() > 0


def test_the_way_can_be_tried_on_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def bench(_torch: object, device: str = "cuda") -> Fake:
        asked.append(device)
        return Fake(1.5)

    monkeypatch.setattr("yantra.base.pytorch.torch_for", lambda _what: object())
    monkeypatch.setattr(script, "Bench", bench)
    node = tmp_path / "cpu.csv"
    assert main(["microbench", "--device", "cpu", "-o", str(node)]) == 0
    assert asked == ["cpu"]
    rows = read(node.read_text(), "cpu.csv")
    assert len(rows.kernels) + 1 == len(list(script.cases_of_cpu()))  # but the copy to the host
    made = str(tmp_path / "cpu.yaml")
    assert main(["calibrate", str(node), "--device", "cpu", "-o", made]) == 0
    assert "use it with --stack" in capsys.readouterr().out


def test_a_cpu_with_pytorch_measures_what_calibrate_reads(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    node = tmp_path / "cpu.csv"
    assert main(["microbench", "--device", "cpu", "-o", str(node), "--seconds", "5"]) == 0
    rows = read(node.read_text(), "cpu.csv")
    assert rows.notes[0] == "CPU" and len(rows.kernels) >= 1


def test_products_recorded_on_a_gpu_bring_others_of_it_nearer(tmp_path: Path) -> None:
    lines_ = (Path(__file__).parent / "data" / "a100_pcie_products.csv").read_text().splitlines()
    notes, recorded = lines_[:3], lines_[3:]
    node, made = tmp_path / "node.csv", str(tmp_path / "a100.yaml")
    node.write_text("\n".join([*notes, *recorded[::2]]) + "\n")
    assert main(["calibrate", str(node), "--device", "a100-pcie", "-o", made]) == 0
    others = read("\n".join([*notes, *recorded[1::2]]), "others.csv")
    a100 = Device(peak_flops=312e12, memory_bytes_per_s=1.555e12)
    options = (("gpu", "a100_sxm"), ("profile", made))
    of = [model_of(Plugin(kind="measured", options=one)) for one in (options[:1], options)]
    times = [one.estimate(others.kernels, a100).middle / (1e3 * others.us) for one in of]
    plain, calibrated = (float(np.abs(np.log(one)).mean()) for one in times)
    assert calibrated < plain / 2
