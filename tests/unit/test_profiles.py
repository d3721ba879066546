"""Laws of profiles: kernels measured on the same machine correct the tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.cli import main
from yantra.compute import model_of, profiles
from yantra.compute.contract import DEVICES, LAWS
from yantra.compute.model import Device, Estimates, Kernels
from yantra.compute.profiles.correct import correction_of, families_of
from yantra.compute.profiles.rows import HEAD, read
from yantra.fabric import stacks
from yantra.scenario import load, loads, to_yaml

B200 = Device(peak_flops=2.25e15, memory_bytes_per_s=8e12)
A100 = Device(peak_flops=312e12, memory_bytes_per_s=1.555e12)
MACHINES = {"simumax-b200": ("b200_sxm", B200), "simumax-a100-pcie": ("a100_pcie", A100)}
TEXT = """
gemm,forward,bf16,m=4096 n=4096 k=4096,150
gemm,wgrad,bf16,m=8192 n=4096 k=4096 accumulated=134217728,300
gemm,forward,fp8,m=4096 n=4096 k=4096,100
grouped_gemm,forward,bf16,m=1228 n=3072 k=5120 batch=20 inner=1536 experts=160 top_k=6,700
attention,forward,bf16,queries=4096 keys=4096 heads=64 kv_heads=8 head_dim=128,300
norm,forward,bf16,m=4096 bytes=134217728,40
copy,,,bytes=1073741824,400
launch,,,,2.5
"""


def text(lines: str = TEXT) -> str:
    return ",".join(HEAD) + "\n" + lines.strip()


def measured(gpu: str, **options: Any) -> Any:
    return model_of(Plugin(kind="measured", options=(("gpu", gpu), *options.items())))


def corrected(rows: Any, gpu: str, device: Device, us: Any, asked: Kernels) -> Estimates:
    of_table = measured(gpu)
    known = rows._replace(us=us)

    class Made:
        device = "made"

    Made.rows = known  # type: ignore[attr-defined]
    found = correction_of(Made, lambda some: of_table.estimate(some, device))  # type: ignore[arg-type]
    return found.of(asked, of_table.estimate(asked, device))


@pytest.mark.parametrize("name", profiles.names())
def test_a_measured_kernel_takes_what_was_measured(name: str) -> None:
    gpu, device = MACHINES[name]
    rows = profiles.load(name).rows
    made = measured(gpu, profile=name).estimate(rows.kernels, device).middle / 1e3
    off = np.abs(np.log(made / rows.us))
    assert np.median(off) < 0.02
    assert np.quantile(off, 0.9) < 0.08


@pytest.mark.parametrize("name", profiles.names())
def test_kernels_that_were_left_out_are_nearer_than_by_tables_and_within_their_interval(
    name: str,
) -> None:
    gpu, device = MACHINES[name]
    rows = profiles.load(name).rows
    out = np.arange(len(rows.us)) % 5 == 0
    asked = rows.kernels.take(out)
    kept = rows._replace(kernels=rows.kernels.take(~out))
    made = corrected(kept, gpu, device, rows.us[~out], asked)
    tables = measured(gpu).estimate(asked, device).middle
    off, before = (np.abs(np.log(one / 1e3 / rows.us[out])) for one in (made.middle, tables))
    assert off.mean() < 0.6 * before.mean()
    held = (made.low <= rows.us[out] * 1e3) & (rows.us[out] * 1e3 <= made.high)
    assert 0.8 <= held.mean() <= 1.0


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.9])
def test_a_machine_that_is_slower_by_a_factor_is_so_for_every_kernel(factor: float) -> None:
    rows = profiles.load("simumax-b200").rows
    table = measured("b200_sxm").estimate(rows.kernels, B200).middle
    asked = rows.kernels.take(slice(0, None, 7))
    larger = asked.replace(m=asked.m * 3, n=asked.n * 3, queries=asked.queries * 3)
    for some in (asked, larger):
        made = corrected(rows, "b200_sxm", B200, factor * table / 1e3, some)
        plain = measured("b200_sxm").estimate(some, B200).middle
        assert made.middle == pytest.approx(factor * plain, rel=1e-6)


def test_families_that_were_not_measured_stay_as_they_are() -> None:
    rows = read(text(), "node.csv")
    model, with_one = measured("b200_sxm"), measured("b200_sxm", profile="simumax-b200")
    plain, made = (one.estimate(rows.kernels, B200) for one in (model, with_one))
    norm = families_of(rows.kernels) == "memory_bound"
    assert norm.sum() == 2
    assert (plain.middle[norm] == made.middle[norm]).all()
    assert (plain.middle[~norm] != made.middle[~norm]).all()


def test_no_kernel_takes_less_than_an_empty_one() -> None:
    rows = read(text("gemm,forward,bf16,m=64 n=64 k=64,9\nlaunch,,,,7.5\nlaunch,,,,8"), "node.csv")
    small = read(text("copy,,,bytes=1,1"), "other.csv").kernels
    made = corrected(rows, "b200_sxm", B200, rows.us, small)
    assert made.low[0] == made.middle[0] == 7500.0


def test_the_interval_is_narrow_where_it_was_measured_and_wide_far_away() -> None:
    rows = profiles.load("simumax-b200").rows
    near = rows.kernels.take(slice(0, 200))
    far = near.replace(m=np.full_like(near.m, 3), n=near.n * 1000, k=np.full_like(near.k, 5))
    model = measured("b200_sxm", profile="simumax-b200")
    narrow, wide = (
        float(np.mean(np.log(made.high / made.middle)))
        for made in (model.estimate(one, B200) for one in (near, far))
    )
    assert narrow < 0.12 < 0.3 < wide


def test_a_model_with_a_profile_keeps_the_laws_of_compute_models() -> None:
    model = measured("b200_sxm", profile="simumax-b200")
    found = [(law.__name__, law(model, device)) for law in LAWS for device in (B200, DEVICES[0])]
    assert [one for one in found if one[1]] == []


def test_a_what_if_without_a_rate_keeps_the_correction() -> None:
    rows = profiles.load("simumax-b200").rows.kernels.take(slice(0, 50))
    free = Device(float("inf"), 8e12)
    plain = measured("b200_sxm").estimate(rows, free).middle
    made = measured("b200_sxm", profile="simumax-b200").estimate(rows, free).middle
    assert np.isfinite(made).all()
    assert 1.0 < np.median(made / plain) < 1.7


def test_every_kind_of_line_is_read() -> None:
    rows = read(text(), "node.csv")
    assert rows.launch_us == 2.5
    assert len(rows.kernels) == 7
    products = [2 * 4096**3, 2 * 4096**2 * 8192, 2 * 4096**3, 2 * 20 * 1228 * 3072 * 5120]
    assert rows.kernels.flops.tolist()[:4] == products
    assert rows.kernels.flops[4] == 2 * 64 * 4096**2 * 128  # causal: half of all pairs
    assert rows.kernels.bytes.tolist()[-1] == 2**30


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("gemm,forward,bf16,m=1 n=1,5", "node.csv:2: shape: k: missing"),
        ("gemm,forward,bf16,m=1 n=1 k=0,5", "node.csv:2: shape: k: missing"),
        ("gemm,forward,bf16,m=1 n=1 k=1.5,5", "node.csv:2: shape: k: expected a whole number"),
        ("gemm,forward,bf16,m=1 n=1 q=1,5", "node.csv:2: shape: expected sizes such as m=1"),
        ("copy,,,bytes=1,5\ngemn,,bf16,m=1,5", "node.csv:3: op: .*did you mean 'gemm'"),
        ("gemm,forwards,bf16,m=1 n=1 k=1,5", "node.csv:2: phase: .*did you mean 'forward'"),
        ("gemm,forward,bf17,m=1 n=1 k=1,5", "node.csv:2: dtype: expected one of bf16"),
        ("gemm,forward,bf16,m=1 n=1 k=1,-5", "node.csv:2: us: expected microseconds above 0"),
        ("gemm,forward,bf16,m=1 n=1 k=1,nan", "node.csv:2: us: expected microseconds above 0"),
        ("gemm,forward,bf16,m=1 n=1 k=1", "node.csv:2: expected 5 columns"),
        ("launch,,,,3", "node.csv: expected at least one measured kernel"),
        ("", "node.csv: expected at least one measured kernel"),
    ],
)
def test_a_wrong_line_is_told_with_its_place(lines: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        read(text(lines), "node.csv")


def test_other_columns_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"node.csv:1: expected the columns op,phase,dtype"):
        read("op,us\ngemm,3", "node.csv")


def profile_file(folder: Path) -> Path:
    lines = "".join(f"  {line}\n" for line in text().split("\n"))
    path = folder / "mine.yaml"
    path.write_text(f"title: mine\ndevice: my-gpu\nsource: a test\nkernels: |\n{lines}")
    return path


def test_a_scenario_names_a_profile_and_is_written_and_read_as_an_equal_one(tmp_path: Path) -> None:
    profile_file(tmp_path)
    tree = (
        "cluster: {name: hgx-b200, ranks: 8}\nstack: own.yaml\n"
        "workload: {model: llama3-8b, plan: {tp: 8, global_batch: 4}}\n"
    )
    (tmp_path / "own.yaml").write_text(
        "title: own\nbased_on: megatron-simumax\nkernels: mine.yaml\n"
    )
    (tmp_path / "step.yaml").write_text(tree)
    made = load(tmp_path / "step.yaml")
    assert made.stack is not None and (made.stack.name, made.stack.rest) == ("own", 3.213)
    assert dict(made.device.compute.options)["profile"] == str(tmp_path / "mine.yaml")  # type: ignore[union-attr]
    assert loads(to_yaml(made, tmp_path), tmp_path) == made
    old = tree.replace("ranks: 8", "ranks: 8, profile: mine.yaml")
    with pytest.raises(ConfigError, match=r"cluster.profile: is part of the stack now"):
        loads(old, tmp_path)


def test_a_stack_is_calibrated_beside_a_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile_file(tmp_path)
    steps = tmp_path / "steps.csv"
    line = "llama3-8b,hgx-b200,tp=8 global_batch=8,1.5"
    made = tmp_path / "mine-too.yaml"
    calibrate = ["calibrate", str(steps), "--stack", "mine-too", "-o", str(made)]
    for profile, name in (("simumax-b200", "simumax-b200"), ("mine.yaml", "mine.yaml")):
        steps.write_text(f"model,cluster,plan,seconds,profile\n{line},{profile}\n")
        assert main(calibrate) == 0
        said = capsys.readouterr().out
        assert float(re.search(r"with yours ([\d.]+) s", said)[1]) == pytest.approx(1.5, rel=0.03)  # type: ignore[index]
        stack = stacks.load(made)
        terms = stack.terms("hgx-b200")[1]
        assert terms.profile.endswith(name)
        assert (terms.products.value, terms.attention.value) == (1.0, 1.0)
        assert stack.terms("hgx-h100")[1].profile == ""
        started = stacks.load(re.search(r"started from (\S+),", said)[1])  # type: ignore[index]
        for name in ("products", "attention", "rest"):  # other machines are not moved
            there = (getattr(one.terms()[1], name).value for one in (stack, started))
            assert next(there) == next(there)
    steps.write_text(f"model,cluster,plan,seconds,profile\n{line},simumax-b20\n")
    assert main(calibrate) == 2
    assert "steps.csv:2: profile: no profile is named 'simumax-b20'" in capsys.readouterr().err


def test_the_profile_of_another_machine_is_refused_or_said_to_be_unlike() -> None:
    rows = profiles.load("simumax-a100-pcie").rows.kernels
    with pytest.raises(
        ConfigError,
        match=r"^simumax-a100-pcie: A100 PCIe .*times as long .*: it is of another machine",
    ):
        measured("b200_sxm", profile="simumax-a100-pcie").estimate(rows, B200)
    h100 = Device(peak_flops=989.4e12, memory_bytes_per_s=3.35e12)
    assert "times as slow as the tables), between" in measured(
        "h100_sxm", profile="simumax-a100-pcie"
    ).basis(rows, h100)
    own = measured("a100_pcie", profile="simumax-a100-pcie").basis(rows, A100)
    assert "times as slow" not in own


def test_the_command_line_takes_a_profile_and_says_what_a_run_rests_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = tmp_path / "step.yw"
    plan = ["--tp", "8", "--global-batch", "4"]
    assert main(["workload", "train", "--model", "llama3-8b", *plan, "-o", str(workload)]) == 0
    run = ["run", "--workload", str(workload), "--cluster", "hgx-b200"]
    capsys.readouterr()
    path = profile_file(tmp_path)
    assert main([*run, "--stack", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "7 kernels measured on my-gpu, between them measured" in said
    assert main([*run, "--stack", "megatron-simumax"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "628 kernels measured on B200 (SimuMax)" in said
    path.write_text(path.read_text().replace("bytes=134217728", "bits=3"))
    assert main([*run, "--stack", str(path)]) == 2
    assert "mine.yaml: kernel line 7: shape: expected sizes such as" in capsys.readouterr().err
