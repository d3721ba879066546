"""Why a study did not choose a plan: all constraints with margins, differences that add up."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.explore.answers.why import read_plan, why_not, winner, words
from yantra.explore.closed_form.passes import RECOMPUTE
from yantra.explore.closed_form.space import told
from yantra.explore.study.study import Finished, kept, run_study
from yantra.explore.study.study_file import Study, read_study
from yantra.explore.study.trial import trial
from yantra.fabric import clusters

TEXT = """
model: llama3-8b
global_batch: 64
sequence: 2048
clusters: [dgx-a100-40gb]
ranks: [16]
prices: {dgx-a100-40gb: 1.50 USD/h}
stack: roofline
objectives: [step_time, usd_per_million_tokens]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(TEXT)
    return read_study(str(path))


@pytest.mark.parametrize("text", ["tp=4", "pp=4 recompute=full", "tp=4,dp=4", "zero=0 tp=8"])
def test_differences_by_cause_add_up_to_the_difference_of_times(study: Study, text: str) -> None:
    answer = why_not(study, 0, read_plan(text))
    assert answer.differences is not None and answer.other_ns is not None
    total = answer.other_ns - answer.best_ns
    assert sum(answer.differences.values()) == pytest.approx(total, rel=1e-9)
    assert total > 0 or answer.broken
    for field, value in read_plan(text).items():
        assert answer.other is not None
        has = answer.other[field]
        assert value == (RECOMPUTE[has] if field == "recompute" else has)


def test_the_best_plan_differs_by_nothing(study: Study) -> None:
    best = trial(study, 0)["plan"]
    answer = why_not(study, 0, told(best))
    assert answer.other == answer.best and answer.broken == ()
    assert answer.differences is not None and not any(answer.differences.values())
    assert list(words(study, answer))[-1] == "it is the best plan"


def test_every_constraint_is_told_with_its_margin(study: Study) -> None:
    bound = study._replace(at_most=(("step_time", 1e-3), ("memory", 1.0)))
    answer = why_not(bound, 0, read_plan("tp=1 pp=1 zero=0 recompute=none"))
    heads = [reason.partition(":")[0] for reason in answer.broken]
    assert heads == ["memory", "step_time", "memory"]
    assert "more than 40 GiB less 3.75 GiB reserved" in answer.broken[0]
    assert clusters.load("dgx-a100-40gb").memory_bytes == 40 << 30
    assert f"{(answer.other_ns or 0) / 1e9:.6g} is " in answer.broken[1]


def test_a_plan_that_is_not_legal_breaks_every_rule_it_breaks(study: Study) -> None:
    answer = why_not(study, 0, read_plan("tp=16 pp=4"))
    assert answer.other is None and answer.other_ns is None and answer.differences is None
    assert answer.broken == (
        "ranks: tp x cp x pp x dp = 16 x 1 x 4 x 1 = 64, 48 more than the 16 of the trial",
        "tp: 16 is 8 more than the 8 devices of a node",
        "tp: 8 key-value heads are not divisible by 16",
    )
    assert (
        why_not(study, 0, read_plan("dp=3")).broken[0].endswith("13 fewer than the 16 of the trial")
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--not: expected fields such as tp=16 pp=4"),
        ("micro_bach=2", "did you mean 'micro_batch'?"),
        ("tp=0", '--not tp: expected a whole number of at least 1, got "0"'),
        ("tp=two", "--not tp: expected a whole number"),
        ("tp=1 tp=2", "--not: names tp twice"),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_plan(text)
    assert said in str(raised.value)


def test_values_that_no_space_has_are_refused(study: Study) -> None:
    with pytest.raises(ConfigError, match="zero: expected 0, 1, 2 or 3"):
        why_not(study, 0, read_plan("zero=4"))
    with pytest.raises(ConfigError, match="recompute: expected one of"):
        why_not(study, 0, read_plan("recompute=some"))


def test_a_folder_answers_for_the_study_that_it_has(tmp_path: Path, study: Study) -> None:
    finished = run_study(study, str(tmp_path / "out"))
    assert kept(str(tmp_path / "out")) == (study, finished)
    assert winner(study, finished) == 0
    with pytest.raises(ConfigError, match="no trial is feasible"):
        winner(study, Finished(finished.trials, []))
    trials = tmp_path / "out" / "trials.jsonl"
    trials.write_text(trials.read_text().splitlines(keepends=True)[0])
    with pytest.raises(ConfigError, match="1 of 1 trials are not finished; go on with"):
        kept(str(tmp_path / "out"))
    trials.write_text('{"study": "x"}\n')
    with pytest.raises(ConfigError, match="has no study in its first line"):
        kept(str(tmp_path / "out"))
