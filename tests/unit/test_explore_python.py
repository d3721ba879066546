"""A study from Python equals that of the file: trials, frames, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import yantra
from tests.zoo import some
from yantra.base.errors import CapacityError, ConfigError
from yantra.explore import Constraint, Explored, Objective, Search, Space, explore
from yantra.explore.study.confirmed import words
from yantra.explore.study.objectives import KNOWN
from yantra.explore.study.study import TRIALS, check_feasible, kept
from yantra.run.simulate import simulate
from yantra.scenario.quirks import Quirk

GIVEN: dict[str, Any] = {
    "model": "llama3-8b",
    "global_batch": 16,
    "sequence": 1024,
    "clusters": ["hgx-h100", "dgx-a100-80gb"],
    "ranks": [4, 8],
    "stack": "roofline",
    "scale": {"links 0": [1, 2]},
    "prices": {"hgx-h100": "2.50 USD/h"},
    "upgrades": {"links 0": "0.50 USD/h"},
    "plan": {"tp": [1, 2], "zero": [1]},
}
TEXT = """
model: llama3-8b
global_batch: 16
sequence: 1024
clusters: [hgx-h100, dgx-a100-80gb]
ranks: [4, 8]
stack: roofline
scale: {links 0: [1, 2]}
prices: {hgx-h100: 2.50 USD/h}
upgrades: {links 0: 0.50 USD/h}
plan: {tp: [1, 2], zero: [1]}
objectives: [tokens_per_s, usd_per_million_tokens]
at_least: {memory_headroom: 1.0e+9}
"""
OBJECTIVES = [Objective("tokens_per_s"), "usd_per_million_tokens"]
BOUNDS = [Constraint("memory_headroom", at_least=1e9)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Explored, Path]:
    folder = tmp_path_factory.mktemp("python")
    return yantra.explore(Space(**GIVEN), OBJECTIVES, BOUNDS, folder=folder / "study"), folder


def test_a_file_and_python_say_the_same_study(found: tuple[Explored, Path], tmp_path: Path) -> None:
    ours, folder = found
    path = tmp_path / "study.yaml"
    path.write_text(TEXT)
    theirs = explore(path)
    assert theirs.study == ours.study and theirs.finished == ours.finished
    assert kept(str(folder / "study")) == (ours.study, ours.finished)


def test_frames_have_a_row_for_each_trial_and_a_column_for_each_figure(
    found: tuple[Explored, Path],
) -> None:
    ours, _ = found
    trials = ours.trials
    assert len(trials) == 8 and set(KNOWN) <= set(trials.columns)
    assert list(trials["ranks"]) == [4, 4, 8, 8] * 2 and trials.kind("tp") == "whole"
    assert set(trials["tp"]) <= {1, 2} and set(trials["zero"]) == {1}
    assert [bool(one) for one in trials["on_front"]] == [n in ours.finished.front for n in range(8)]
    assert len(ours.front) == len(ours.finished.front) >= 1
    arrow, frame = trials.to_arrow(), trials.to_pandas()
    assert arrow.num_rows == len(frame) == 8
    assert arrow.column_names == list(frame.columns) == list(trials.columns)
    assert set(trials.values("broken")) == {""}


def test_more_tokens_a_second_are_better(found: tuple[Explored, Path]) -> None:
    ours, _ = found
    speed = [one["tokens_per_s"] for one in ours.finished.trials if not one["broken"]]
    assert ours.best["tokens_per_s"] == max(speed) > min(speed)


def test_an_upgrade_costs_in_proportion_to_what_a_rate_has_more(
    found: tuple[Explored, Path],
) -> None:
    trials = found[0].finished.trials
    assert [one["usd_per_h"] for one in trials[:4]] == [10.0, 12.0, 20.0, 24.0]


def test_figures_of_a_trial_follow_from_each_other(found: tuple[Explored, Path]) -> None:
    for one in found[0].finished.trials[:4]:
        assert one["tokens_per_s"] * one["step_time"] == pytest.approx(16 * 1024)
        usd = one["usd_per_h"] * one["step_time"] / 3600 / (16 * 1024) * 1e6
        assert one["usd_per_million_tokens"] == pytest.approx(usd)
        assert 0 < one["goodput"] < 1


def test_a_simulated_trial_is_near_its_closed_form(found: tuple[Explored, Path]) -> None:
    ours, _ = found
    result, step_s = ours.simulate(), ours.best["step_time"]
    without = frozenset({Quirk.LINKS_CARRY_ANYTHING.value})
    alone = simulate(result.model.scenario.replace(quirks=without))
    assert alone.makespan_ns / 1e9 == pytest.approx(step_s, rel=0.01)
    assert alone.makespan_ns <= result.makespan_ns <= 1.06e9 * step_s


def test_the_best_of_the_front_are_simulated_with_the_error_of_the_closed_form(
    found: tuple[Explored, Path],
) -> None:
    explored = found[0]
    exact = explored.confirm(2)
    times = [explored.finished.trials[one.trial]["step_time"] for one in exact]
    every = [explored.finished.trials[number]["step_time"] for number in explored.finished.front]
    assert times == sorted(every)[:2]
    for one in exact:
        assert one.simulated_ns == explored.simulate(one.trial).makespan_ns
        assert one.off == one.closed_ns / one.simulated_ns - 1
        assert -0.06 < one.off < 0.01
    worst = max(abs(one.off or 0.0) for one in exact)
    assert list(words(exact))[-1] == (
        f"the closed form is at most {100 * worst:.2f} % off on these"
    )
    assert explored.confirm(0) == [] and list(words([])) == []


def test_answers_are_those_of_the_commands(found: tuple[Explored, Path]) -> None:
    ours, folder = found
    why = ours.why_not("tp=16")
    assert why.other is None and why.broken
    (worth,) = ours.next_dollar("peak x1.2 0.1 USD/h").worths
    assert worth.saved_ns > 0
    assert sum(one.best for one in ours.odds("10%")) == pytest.approx(1.0)
    ours.report(folder / "study.html")
    assert 'id="picture"' in (folder / "study.html").read_text()
    with pytest.raises(ConfigError, match="expected a trial from 0 to 7, got 8"):
        ours.simulate(8)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "llama"}, "space: model: no model is named 'llama'"),
        ({"clusters": ["hgx-h10"]}, "space: clusters: no cluster is named 'hgx-h10'"),
        ({"ranks": [0]}, "space: ranks: expected a list of whole numbers of at least 1"),
        ({"prices": {"hgx-h100": 2.5}}, "space: prices.hgx-h100: a number needs its unit"),
        ({"prices": {"hgx-h100": "-1 USD/h"}}, "space: prices.hgx-h100: expected a price above 0"),
        ({"prices": {"hgx-h10": "1 USD/h"}}, "space: prices: expected one of the clusters"),
        ({"scale": {"link 0": [1]}}, "did you mean 'links 0'?"),
        ({"scale": {"links 9": [1]}}, "space: scale: expected one of peak, memory, latency"),
        ({"scale": {"peak": [1, 1]}}, "space: scale.peak: names something twice"),
        ({"between": {"peak": [1, 2]}}, "space: search: missing; between needs search"),
        ({"upgrades": {"peak": "1 USD/h"}}, "peak is neither in scale nor in between"),
        ({"plan": {"tp": []}}, "space: plan: tp: expected a list of whole numbers"),
        ({"plan": {"zero": [4]}}, "space: plan.zero: expected 0, 1, 2 or 3"),
        ({"plan": {"recompute": ["all"]}}, "space: plan.recompute: expected one of none"),
    ],
)
def test_a_mistake_in_python_is_one_line_at_its_field(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        explore(Space(**(GIVEN | change)))
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_bounds_that_contradict_each_other_are_one_line() -> None:
    space = Space(**GIVEN)
    bounds = [Constraint("ranks", at_most=4), Constraint("ranks", at_least=8)]
    with pytest.raises(ConfigError, match="at least 8 and at most 4 contradict each other"):
        explore(space, constraints=bounds)
    with pytest.raises(ConfigError, match="expected at_most or at_least"):
        explore(space, constraints=[Constraint("ranks")])
    with pytest.raises(ConfigError, match="names ranks twice"):
        explore(space, constraints=[Constraint("ranks", 4), Constraint("ranks", 8)])
    with pytest.raises(ConfigError, match="did you mean 'step_time'"):
        explore(space, ["step_tim"])


def test_where_nothing_is_feasible_the_nearest_says_all_it_breaks(tmp_path: Path) -> None:
    small = GIVEN | {"clusters": ["hgx-h100"], "scale": {}, "upgrades": {}}
    bounds = [Constraint("step_time", at_most=0.2), Constraint("ranks", at_most=2)]
    found = explore(Space(**small), constraints=bounds)
    assert found.finished.front == []
    with pytest.raises(CapacityError) as raised:
        check_feasible(found.study, found.finished)
    text = str(raised.value)
    assert text.startswith("study: none of 2 trials is feasible; the nearest is trial ")
    assert "at most 2" in text and "\n" not in text


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    import subprocess
    import sys

    folder = tmp_path / "study"
    folder.mkdir()
    hold = (
        "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX);"
        "print('held', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(folder / "lock")], stdout=subprocess.PIPE
    )
    try:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        with pytest.raises(ConfigError, match="another process runs this study"):
            explore(Space(**GIVEN), folder=folder)
    finally:
        other.kill()
        other.wait()


def sampled(**more: Any) -> Space:
    return Space(**(GIVEN | {"scale": {}, "between": {"links 0": [0.5, 2]}} | more))


@pytest.mark.parametrize("sampler", some(["tpe", "nsga2", "random"], "random".__ne__))
def test_law_8_drawn_trials_are_the_same_bits_whoever_judges_them_and_after_a_cut(
    sampler: str, tmp_path: Path
) -> None:
    optuna = pytest.importorskip("optuna")
    search = Search(20, sampler, 5)
    whole = explore(sampled(), OBJECTIVES, BOUNDS, search=search, folder=tmp_path / "a")
    two = explore(sampled(), OBJECTIVES, BOUNDS, search=search, folder=tmp_path / "b", workers=2)
    assert two.finished == whole.finished and two.study == whole.study
    assert kept(str(tmp_path / "a")) == (whole.study, whole.finished)
    trials, journal = tmp_path / "b" / TRIALS, tmp_path / "b" / "optuna.log"
    trials.write_text("".join(trials.read_text().splitlines(keepends=True)[:8]))
    log = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(log[: len(log) // 3]) + log[len(log) // 3][:9])
    (tmp_path / "b" / "optuna.log.lock").symlink_to(journal)
    again = explore(
        sampled(), OBJECTIVES, BOUNDS, search=search, folder=tmp_path / "b", resume=True
    )
    assert again.finished == whole.finished
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(journal))
    )
    (study,) = optuna.get_all_study_summaries(storage)
    known = optuna.load_study(study_name=study.study_name, storage=storage)
    told = {one.user_attrs.get("number") for one in known.trials if one.state.is_finished()}
    assert set(range(20)) <= told
    factors = [one["scale"]["links 0"] for one in whole.finished.trials]
    assert len(set(factors[:16])) == 16  # children of NSGA-II may have the rate of a parent
    assert all(0.5 <= one <= 2 for one in factors)


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(yantra.UnsupportedError, match=r"pip install 'optuna>=4,<7'"):
        explore(sampled(), search=Search(4))


def test_a_study_with_other_trials_is_refused_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / TRIALS).write_text(json.dumps({"study": "another"}) + "\n")
    with pytest.raises(ConfigError, match="trials of another study"):
        explore(Space(**GIVEN), folder=tmp_path, resume=True)
    with pytest.raises(ConfigError, match=r"search.sampler: expected one of tpe, nsga2, random"):
        explore(sampled(), search=Search(4, "tp"))
