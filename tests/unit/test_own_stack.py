"""Own measured steps: stacks ranked on them, and one moved to them as far as they agree."""

from __future__ import annotations

import json
from itertools import pairwise
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from yantra.accuracy import own_fit
from yantra.accuracy.mixture import shipped
from yantra.accuracy.own_fit import covariance, moved, student
from yantra.accuracy.own_rows import candidates
from yantra.accuracy.own_stack import own_stack, ranked, run_of
from yantra.accuracy.suite import chosen_rows
from yantra.accuracy.user_steps import frameworks, read_steps
from yantra.accuracy.with_stack import Step, with_stacks
from yantra.base.errors import ConfigError
from yantra.cli.calibrate import command as calibrate
from yantra.cli.stack.find import command as find
from yantra.fabric import clusters, stacks
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.types import GIVEN
from yantra.run.interval import interval
from yantra.run.simulate import simulate
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.training.train import train

SHARES = (0.6, 0.1, 0.3)
HEAD = "model,cluster,dtype,plan,seconds\n"
STEPS = (
    ("llama3-8b", "dgx-a100-80gb", "bf16", "tp=8 dp=1 global_batch=8"),
    ("llama3-8b", "dgx-a100-80gb", "bf16", "tp=4 dp=2 global_batch=8"),
    ("llama2-7b", "dgx-a100-80gb", "bf16", "tp=2 dp=4 global_batch=16"),
)


def written(folder: Path, seconds: list[float], steps: tuple[tuple[str, ...], ...] = STEPS) -> Path:
    path = folder / "steps.csv"
    lines = [",".join((*step, f"{one:.9g}")) for step, one in zip(steps, seconds, strict=False)]
    path.write_text(HEAD + "\n".join(lines) + "\n")
    return path


def times(folder: Path, stack: str, by: tuple[float, ...]) -> list[float]:
    rows = read_steps(written(folder, [1.0] * len(by)))
    made = stacks.load(stack)
    return [run_of(row, made).seconds * one for row, one in zip(rows, by, strict=True)]


@pytest.mark.parametrize("off", [(0.4,), (0.1, 0.3), (-0.2, 0.0, 0.5), (0.3, 0.31, 0.29, 0.3)])
@pytest.mark.parametrize("is_measured", [False, True])
def test_steps_of_equal_shares_move_by_their_weight(
    off: tuple[float, ...], is_measured: bool
) -> None:
    """The mean moves by n / (n + s^2 / t^2), the closed form of one normal mean."""
    found = moved(off, [SHARES] * len(off), is_measured=is_measured)
    shares = np.array(SHARES)
    t2 = float(shares @ covariance(is_measured) @ shares)
    weight = len(off) / (len(off) + found.scatter**2 / t2)
    assert found.weight == pytest.approx(weight, rel=1e-9)
    assert shares @ found.moves == pytest.approx(weight * np.mean(off), rel=1e-9)
    after = t2 * (1.0 - weight)
    width = student(own_fit.NU + len(off) - 1) * (found.scatter**2 + after) ** 0.5
    assert found.interval == pytest.approx(width, rel=1e-9)


@pytest.mark.parametrize("by", [-0.7, -0.3, 0.05, 0.3, 0.7])
def test_three_steps_that_agree_move_it_fully(by: float) -> None:
    found = moved([by] * 3, [SHARES, (0.3, 0.3, 0.4), (0.8, 0.05, 0.15)])
    assert found.weight > 0.97
    for shares in (SHARES, (0.3, 0.3, 0.4), (0.8, 0.05, 0.15)):
        assert abs(by - np.array(shares) @ found.moves) < 0.03


def test_the_more_steps_scatter_the_less_they_move_it_and_the_wider_it_is() -> None:
    found = [moved([0.3 - d, 0.3, 0.3 + d], [SHARES] * 3) for d in (0.0, 0.1, 0.3, 0.9)]
    for less, more in pairwise(found):
        assert less.weight > more.weight
        assert less.interval < more.interval
        assert less.scatter < more.scatter
    assert found[-1].weight < 0.7


def test_more_steps_move_it_further() -> None:
    found = [moved([0.3] * n, [SHARES] * n) for n in (1, 2, 3, 10, 100)]
    weights = [one.weight for one in found]
    assert weights == sorted(weights) and weights[0] > 0.9 and weights[-1] > 0.999


def test_moves_turn_with_what_is_measured_and_no_order_counts() -> None:
    off, shares = [0.1, 0.4, -0.1], [SHARES, (0.2, 0.5, 0.3), (0.7, 0.0, 0.3)]
    one, back = moved(off, shares), moved([-one for one in off], shares)
    assert one.moves == pytest.approx([-move for move in back.moves], rel=1e-9)
    assert moved(off[::-1], shares[::-1]).moves == pytest.approx(one.moves, rel=1e-9)


def test_beside_measured_kernels_the_rest_alone_moves() -> None:
    found = moved([0.2, 0.25], [SHARES, SHARES], is_measured=True)
    assert found.moves[:2] == (0.0, 0.0) and found.moves[2] > 0.5


@pytest.mark.parametrize(
    ("degrees", "value"), [(3, 2.3534), (4, 2.1318), (5, 2.0150), (10, 1.8125), (1e9, 1.6449)]
)
def test_the_quantile_of_student_is_that_of_the_tables(degrees: float, value: float) -> None:
    assert student(degrees) == pytest.approx(value, rel=5e-3)


@pytest.mark.parametrize(
    ("stack", "step"),
    [
        ("megatron-deepspeed-2023", STEPS[0]),
        ("fsdp-eager-2023", ("llama3-8b", "hgx-h100", "bf16", "dp=8 zero=3 global_batch=16")),
        ("megatron-simumax", ("llama3-8b", "hgx-b200", "bf16", "tp=2 dp=4 global_batch=16")),
        ("megatron-bridge-moe", ("mixtral-8x7b", "hgx-h100", "fp8", "ep=8 dp=8")),
        ("megatron-bridge", ("llama3-8b", "hgx-h100", "fp8", "tp=2 dp=4 global_batch=16")),
    ],
)  # fmt: skip
def test_a_step_takes_what_a_run_with_the_stack_takes(
    stack: str, step: tuple[str, ...], tmp_path: Path
) -> None:
    (row,) = read_steps(written(tmp_path, [1.0], (step,)))
    (other, ours) = with_stacks(row, [stacks.load("unknown"), stacks.load(stack)])
    assert isinstance(ours, Step) and isinstance(other, Step) and other.seconds != ours.seconds
    workload = tmp_path / "step.yw"
    train(row.made_model(), row.made_plan()).save(workload)
    result = simulate(
        on_cluster(
            str(workload),
            row.cluster,
            stack=stack,
            settings={"cluster.dtype": row.dtype},
            ignore_memory=True,
        )
    )
    assert ours.seconds == float(result.finish_ns.max()) / 1e9
    found = interval(result)
    assert found is not None
    assert (ours.low, ours.high) == (found.low * ours.seconds, found.high * ours.seconds)


@pytest.mark.parametrize("stack", ["megatron-2022", "fsdp-eager-2023"])
def test_the_stack_that_made_the_steps_is_ranked_first(stack: str, tmp_path: Path) -> None:
    rows = read_steps(written(tmp_path, times(tmp_path, stack, (1.0, 1.02, 0.98))))
    first, *others = ranked(rows, shipped())
    assert first.stack == stack
    assert first.mean == pytest.approx(0.04 / 3, rel=0.01)
    assert first.median == pytest.approx(0.02, rel=0.03)
    assert abs(first.bias) < 1e-3 and first.covered == 1.0
    assert [one.mean for one in others] == sorted(one.mean for one in others)


def test_the_mixture_is_told_but_is_no_candidate(tmp_path: Path) -> None:
    path = str(written(tmp_path, times(tmp_path, "unknown", (1.0,))))
    found = json.loads(CliRunner().invoke(find, [path, "--json"]).stdout)["stacks"]
    assert found[-1]["stack"] == "unknown"
    assert found[-1]["mean_error"] < 1e-4 < min(one["mean_error"] for one in found[:-1])
    said = CliRunner().invoke(calibrate, [path, "-o", str(tmp_path / "mine.yaml")]).stdout
    assert f"started from {found[0]['stack']}, the nearest" in said


@pytest.mark.parametrize("strict", [False, True])
def test_no_stack_that_saw_a_data_set_is_a_candidate_for_it(strict: bool) -> None:
    every = chosen_rows()
    for dataset in {row.dataset for row in every}:
        rows = [row for row in every if row.dataset == dataset]
        left = {one.name for one in candidates(rows, every, strict)}
        seen = {row.file.name for row in rows}
        assert not left & {*seen, "unknown"}
        assert left


def test_a_stack_that_refuses_a_step_is_last_and_says_why(tmp_path: Path) -> None:
    step = ("llama3-8b", "dgx-a100-80gb", "bf16", "tp=3 dp=1 global_batch=8")
    rows = read_steps(written(tmp_path, [1.0], (step,)))
    found = ranked(rows, shipped())
    assert all("steps.csv:2" in one.refused for one in found)
    for command in (find, calibrate):
        with pytest.raises(ConfigError, match=r"steps.csv:2: tp: .* not divisible by 3"):
            CliRunner().invoke(
                command,
                [str(tmp_path / "steps.csv")],
                catch_exceptions=False,
                standalone_mode=False,
            )
    with pytest.raises(ConfigError, match=r"steps.csv:2"):
        run_of(rows[0], stacks.load("unknown"))


def test_a_moved_stack_meets_steps_that_agree_and_is_the_run_with_its_file(tmp_path: Path) -> None:
    """Steps 1.5 times those of a stack without launches: its factors grow by as much."""
    measured = times(tmp_path, "megatron-2022", (1.5, 1.5, 1.5))
    rows = read_steps(written(tmp_path, measured))
    start = stacks.load("megatron-2022")
    path = tmp_path / "mine.yaml"
    own = own_stack(rows, start, "mine", str(path))
    path.write_text(own.text)
    assert own.stack == stacks.load(path)
    for row in rows:
        assert abs(run_of(row, own.stack).error) < 0.03
    old, new = (one.terms("dgx-a100-80gb")[1] for one in (start, own.stack))
    (by,) = own.moves
    for name, move in zip(("products", "attention", "rest"), by.moves, strict=True):
        assert getattr(new, name).value == pytest.approx(
            getattr(old, name).value * exp(move), rel=1e-5
        )
    assert new.interval.value == pytest.approx(by.interval, abs=1e-3)
    assert log(1.5) == pytest.approx(float(np.mean(by.moves[::2])), rel=0.1)


@pytest.mark.parametrize("name", ["unknown", "megatron-deepspeed-2023", "fsdp-eager-2023"])
def test_a_moved_stack_keeps_what_is_known_of_its_framework(name: str, tmp_path: Path) -> None:
    rows = read_steps(written(tmp_path, [9.0]))
    sms = Number(value=0.2, unit="", written="0.2", source="24 of 120 SMs")
    start = stacks.load(name)
    machines = tuple((key, terms.replace(taken=sms)) for key, terms in start.machines)
    start = start.replace(machines=machines)
    own = own_stack(rows, start, name, str(tmp_path / "made.yaml"))
    for at in ("dgx-a100-80gb", "any"):
        old, new = (dict(one.machines).get(at, one.terms()[1]) for one in (start, own.stack))
        for term in GIVEN:
            assert getattr(new, term) == getattr(old, term)
    assert own.stack.copies == start.copies
    before, after = (run_of(rows[0], one) for one in (start, own.stack))
    assert abs(after.off) < abs(before.off)


def test_own_experts_are_sent_as_often_as_the_stack_sends_them(tmp_path: Path) -> None:
    step = ("mixtral-8x7b", "hgx-h100", "bf16", "tp=1 ep=8 dp=16 global_batch=16")
    rows = read_steps(written(tmp_path, [1.5], (step,)))
    for name, copies in (("unknown", 0), ("megatron-bridge-moe", 0)):
        made = own_stack(rows, stacks.load(name), name, str(tmp_path / "made.yaml")).stack.copies
        assert made is not None and int(made.value) == copies


def test_what_is_written_is_found_again_for_a_cluster_file(tmp_path: Path) -> None:
    built_in = Path(clusters.__file__).parent / "machines" / "dgx-a100-80gb.yaml"
    (tmp_path / "sites").mkdir()
    own_machine = tmp_path / "sites" / "our-a100.yaml"
    own_machine.write_text(built_in.read_text())
    step = ("llama3-8b", "sites/our-a100.yaml", "bf16", STEPS[0][3])
    seconds = 1.3 * times(tmp_path, "megatron-2022", (1.0,))[0]
    path = written(tmp_path, [seconds], (step,))
    result = CliRunner().invoke(
        calibrate, [str(path), "--stack", "megatron-2022", "-o", str(tmp_path / "mine.yaml")]
    )
    assert result.exit_code == 0, result.output
    made = stacks.load(tmp_path / "mine.yaml")
    assert made.terms("our-a100")[0] == "our-a100"
    (row,) = read_steps(path)
    workload = tmp_path / "step.yw"
    train(row.made_model(), row.made_plan()).save(workload)
    scenario = on_cluster(
        str(workload),
        str(own_machine),
        settings={"cluster.dtype": "bf16"},
        stack=str(tmp_path / "mine.yaml"),
    )
    assert scenario.stack is not None and scenario.stack.name == "mine"
    assert float(simulate(scenario).finish_ns.max()) / 1e9 == pytest.approx(seconds, rel=0.02)


def test_the_commands_say_the_same_and_which_stack_they_took(tmp_path: Path) -> None:
    path = written(tmp_path, times(tmp_path, "megatron-2022", (1.0,)))
    table = CliRunner().invoke(find, [str(path)])
    form = json.loads(CliRunner().invoke(find, [str(path), "--json"]).stdout)
    assert table.exit_code == 0 and "the steps name no framework" in table.stdout
    assert form["stacks"][0]["stack"] == "megatron-2022" and form["steps"] == 1
    for one in form["stacks"]:
        assert f"{one['mean_error']:.1%}" in table.stdout
    made = str(tmp_path / "mine.yaml")
    said = CliRunner().invoke(calibrate, [str(path), "-o", made]).stdout
    assert "started from megatron-2022, the nearest" in said
    chosen = json.loads(
        CliRunner()
        .invoke(calibrate, [str(path), "--stack", "unknown", "-o", made, "--json"])
        .stdout
    )
    assert chosen["started_from"] == "unknown" and chosen["ranking"] == []


def test_the_framework_that_steps_name_is_told(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    lines = [",".join((*STEPS[0], "9.0", name)) for name in ("megatron-2022", "torchtitan", "")]
    path.write_text(HEAD.strip() + ",framework\n" + "\n".join(lines) + "\n")
    assert frameworks(read_steps(path)) == ["megatron-2022", "torchtitan"]
    said = CliRunner().invoke(find, [str(path)]).stdout
    assert "the steps name megatron-2022 (a named stack), torchtitan" in said
