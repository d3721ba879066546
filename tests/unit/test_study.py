"""Studies: one front however they are run, interrupted or not; one line for each mistake."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.explore.study.goodput import best_goodput
from yantra.explore.study.study import TRIALS, front_of, run_study, table_of
from yantra.explore.study.study_file import Study, read_study
from yantra.fabric import clusters, failures

TEXT = """
model: llama3-8b
global_batch: 16
sequence: 1024
clusters: [hgx-h100, dgx-a100-80gb]
ranks: [4]
scale: {peak: [1, 1.5]}
prices: {hgx-h100: 2.50 USD/h, dgx-a100-80gb: 1.50 USD/h}
objectives: [step_time, usd_per_million_tokens, ranks]
"""


def study_of(folder: Path, text: str = TEXT) -> Study:
    path = folder / "study.yaml"
    path.write_text(text)
    return read_study(str(path))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, object]], list[int]]:
    folder = tmp_path_factory.mktemp("whole")
    return tuple(run_study(study_of(folder), str(folder / "out")))  # type: ignore[return-value]


def test_law_8_two_workers_and_a_study_cut_off_give_the_same_bits(
    tmp_path: Path, whole: object
) -> None:
    study = study_of(tmp_path)
    out = tmp_path / "out"
    assert tuple(run_study(study, str(out), workers=2)) == whole
    trials = out / TRIALS
    lines = trials.read_text().splitlines(keepends=True)
    trials.write_text("".join(lines[:4]) + lines[4][:20])
    assert tuple(run_study(study, str(out), resume=True)) == whole
    assert trials.read_text().startswith("".join(lines[:4]))


def test_every_trial_is_shown_with_cost_and_energy_per_million_tokens(tmp_path: Path) -> None:
    machine = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(re.sub(r"(?m)^  (price|power): .*\n", "", machine))
    text = TEXT.replace("dgx-a100-80gb", str(tmp_path / "own.yaml"))
    text = re.sub(r"(?m)^(scale|prices|objectives): .*\n", "", text) + "objectives: [step_time]\n"
    study = study_of(tmp_path, text)
    head, priced, bare = table_of(study, run_study(study, str(tmp_path / "out")))
    names = ["step_time", "usd_per_million_tokens", "kwh_per_million_tokens"]
    assert head.split() == ["cluster", "ranks", "scale", *names]
    seconds, usd, kwh = map(float, priced.split()[2:5])
    each = 4 * seconds / 3600 / (16 * 1024) * 1e6
    assert usd == pytest.approx(6.155 * each, rel=1e-5)
    assert 0.22 * 0.7 * each < kwh < 0.7 * each
    assert bare.removesuffix("front").split()[2:] == [f"{seconds:.6g}"]


def test_a_scaled_cap_is_that_of_a_cluster_file(tmp_path: Path) -> None:
    machine = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    stated = "  power_cap: {value: 420 W, basis: yours}\n  memory_bandwidth:"
    own = re.sub(r"(?m)^  memory_bandwidth:", stated, machine, count=1)
    (tmp_path / "own.yaml").write_text(own, encoding="utf-8")
    names = f"[hgx-h100, {tmp_path / 'own.yaml'}]"
    text = re.sub(r"(?m)^(scale|prices|objectives|clusters): .*\n", "", TEXT)
    text += f"clusters: {names}\nobjectives: [step_time, joules_per_token]\n"
    more = "scale: {cap: [1, 0.6, 0.1]}\nplan: {tp: [1], zero: [1]}\nstack: roofline\n"
    finished, _ = run_study(study_of(tmp_path, text + more), str(tmp_path / "out"))
    times = [one.get("step_time") for one in finished[:4]]
    assert times[1] == times[3] > times[0]
    assert finished[1]["joules_per_token"] == finished[3]["joules_per_token"]
    assert times[2] is None
    assert "scale.cap: must be above 154 W" in str(finished[2])


@pytest.mark.parametrize("hours", [100, 50677, 1e15])
def test_failures_cost_money_and_energy_and_without_them_figures_are_the_plain_ones(
    tmp_path: Path, hours: float
) -> None:
    machine = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(machine.replace("50677 h", f"{hours:g} h"))
    text = re.sub(r"(?m)^(scale|prices|clusters|objectives): .*\n", "", TEXT)
    names = ("usd_per_million_useful_tokens", "joules_per_useful_token")
    text += f"clusters: [{tmp_path / 'own.yaml'}]\nobjectives: [{', '.join(names)}]\n"
    told = run_study(study_of(tmp_path, text), str(tmp_path / "out")).trials[0]
    usd, joules = (told[name] for name in names)
    assert told["broken"] == []
    assert usd == pytest.approx(told["usd_per_million_tokens"] / told["goodput"])
    hosts = 350.0 * told["ranks"] / told["tokens_per_s"] / told["goodput"]
    lost = (joules - hosts) / told["joules_per_token"]
    assert 1.0 <= lost * (1 + 1e-12) <= (1 + 2e-12) / told["goodput"]
    if hours == 1e15:
        assert told["goodput"] == pytest.approx(1.0, abs=1e-6)
        assert lost == pytest.approx(1.0, abs=1e-6)
    else:
        assert lost > 1.0002


def test_rates_of_fleets_are_instead_of_a_clusters_own(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^(scale|objectives): .*\n", "", TEXT) + "objectives: [goodput]\n"
    own, known = (
        run_study(study_of(tmp_path, text + more), str(tmp_path / name)).trials
        for name, more in (("own", ""), ("known", "failures: {rates: fleets}\n"))
    )
    mtti = failures.load("fleets").device_mtbf_s / 4
    for trial in known:
        assert trial["goodput"] == best_goodput(mtti, 60.0, 300.0).share
    assert own[0]["goodput"] != known[0]["goodput"]
    assert own[1]["goodput"] is None  # without an MTBF
    with pytest.raises(ConfigError, match=r"failures\.rates: .*fleets, llama3"):
        study_of(tmp_path, text + "failures: {rates: flets}\n")


def test_a_killed_study_loses_nothing_that_was_finished(tmp_path: Path, whole: object) -> None:
    study = study_of(tmp_path)
    out = tmp_path / "out"
    kept: list[str] = []
    words = ["-m", "yantra", "explore", "run", str(tmp_path / "study.yaml"), "-o", str(out)]
    chance = random.Random(3)
    for _ in range(1):
        command = [sys.executable, *words, "--resume"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            finished = (out / TRIALS).read_text().count("\n") if (out / TRIALS).exists() else 0
            if finished >= len(kept) + 2:
                break
            time.sleep(0.01)
        time.sleep(0.1 * chance.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        lines = (out / TRIALS).read_text().splitlines(keepends=True)
        assert lines[: len(kept)] == kept
        kept = [line for line in lines if line.endswith("\n")]
    assert tuple(run_study(study, str(out), resume=True)) == whole


def test_the_front_leaves_out_what_breaks_a_bound_and_says_by_how_much(tmp_path: Path) -> None:
    text = TEXT + "at_most: {usd_per_million_tokens: 1e-6}\n"
    study = study_of(tmp_path, text.replace("[1, 1.5]", "[1]"))
    found = run_study(study, str(tmp_path / "out"))
    assert found.front == []
    assert all("too much; at most 1e-06" in trial["broken"][0] for trial in found.trials)
    assert front_of(study, found.trials) == []


def test_a_study_without_a_price_says_what_is_missing(tmp_path: Path) -> None:
    machine = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    own = tmp_path / "own.yaml"
    own.write_text(re.sub(r"(?m)^  price: .*\n", "", machine), encoding="utf-8")
    text = TEXT.replace("prices: {hgx-h100: 2.50 USD/h, ", "prices: {").replace(
        "hgx-h100", str(own)
    )
    found = run_study(study_of(tmp_path, text), str(tmp_path / "out"))
    (broken, *_) = [one["broken"] for one in found.trials if one["cluster"] != "dgx-a100-80gb"]
    lacks = "a price of a device (device.price, or the prices of the study)"
    assert broken == [f"usd_per_million_tokens: {own} does not state {lacks}"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2.50 USD/h", "2.50", "prices.hgx-h100: a number needs its unit"),
        ("ranks: [4]", "ranks: []", "ranks: expected a list of whole numbers"),
        ("model: llama3-8b\n", "", "model: missing"),
        ("scale:", "scales:", "scales: unknown key; did you mean 'scale'?"),
        ("[1, 1.5]", "[0]", "scale.peak: expected a number above 0, got 0"),
        ("[step_time,", "[step_tim,", "did you mean 'step_time'?"),
        ("[step_time,", "[time_to_train,", "steps: missing; time_to_train needs it"),
    ],
)
def test_a_mistake_is_one_line_at_its_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError) as raised:
        study_of(tmp_path, TEXT.replace(old, new, 1))
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / TRIALS).write_text(json.dumps({"study": "another"}) + "\n")
    with pytest.raises(ConfigError, match="give --resume, or another folder"):
        run_study(study_of(tmp_path), str(out))
    with pytest.raises(ConfigError, match="trials of another study"):
        run_study(study_of(tmp_path), str(out), resume=True)
