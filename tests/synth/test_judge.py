"""The judge: a job is like itself, and each figure moves when what it measures does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synth.synth_jobs import made, seen
from yantra.cli import main
from yantra.scenario.types import Templates
from yantra.synth.attack import METHODS, area, attack, mark, membership
from yantra.synth.clusters import CLUSTERS, group_bytes, run_on
from yantra.synth.copies import copied
from yantra.synth.judge import bytes_apart, judge, spearman
from yantra.synth.markov import markov
from yantra.synth.observe import Observed, observed
from yantra.synth.rules import fit
from yantra.synth.sample import sample
from yantra.synth.settings import Settings
from yantra.synth.shapes import Shape, apart, distance, divergence

SMALL = Settings(4, tp=2, dp=2, micro_batches=2, sequence=512)
WIDE = SMALL._replace(layers=8)


@pytest.fixture(scope="module")
def real() -> list[Observed]:
    return [seen("llama3-8b", SMALL), seen("llama3-8b", WIDE), seen("gpt3-1.3b", SMALL)]


def test_a_job_judged_beside_itself_is_the_same_and_known(real: list[Observed]) -> None:
    judged = judge(real, real)
    assert all(one.drawn == 0 and one.ks in (0, None) for one in judged.fidelity)
    assert all(one.makespan == 0 and one.spearman == 1 for one in judged.behaviour)
    assert (judged.pairs, judged.ordered, judged.group_bytes) == (3, 1, 0)
    assert judged.privacy.copied == 1
    assert judged.privacy.ratio == 0
    assert judged.guessed["layers"].mean == 1


def test_a_drawn_job_behaves_as_the_real_one_and_copies_no_motif(real: list[Observed]) -> None:
    drawn = [
        observed(one.workload, "") for job in real for one in sample(fit([job]), like=job, seed=4)
    ]
    judged = judge(real, drawn)
    assert judged.pairs == 3
    assert judged.ordered == 1
    assert judged.group_bytes < 0.001
    assert all(one.makespan < 0.05 and one.exposed < 0.05 for one in judged.behaviour)
    assert judged.privacy.copied == 0
    assert all(value is None or value >= 0 for one in judged.fidelity for value in one[1:4])


def test_more_bytes_in_a_group_are_seen(real: list[Observed]) -> None:
    one = real[0]
    call, used = max(one.stages[0].calls.items(), key=lambda item: item[1].size)
    calls = one.stages[0].calls | {call: used._replace(size=used.size * 1.2)}
    other = one._replace(stages=[one.stages[0]._replace(calls=calls)])
    own = group_bytes(one)[f"stage 0 {call.axes}"]
    times = SMALL.micro_batches if call.when in "FB" else 1
    assert bytes_apart(one, other) == pytest.approx(0.2 * used.size * times / own)


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=20), st.floats(-5, 5))
def test_a_shift_is_as_far_as_it_is(values: list[float], shift: float) -> None:
    assert apart(values, [value + shift for value in values])[0] == pytest.approx(abs(shift))
    assert apart(values, values) == (0, 0)


@given(st.lists(st.integers(0, 50), min_size=3, max_size=9, unique=True))
def test_rank_correlation_sees_order_alone(values: list[int]) -> None:
    assert spearman(values, [value**3 for value in values]) == pytest.approx(1)
    assert spearman(values, [-value for value in values]) == pytest.approx(-1)


def test_distances_are_symmetric_and_motifs_apart_from_0_to_1(real: list[Observed]) -> None:
    a, b = Shape(real[0].traces[0]), Shape(real[2].traces[0])
    assert distance(a, b) == distance(b, a) > 0 == distance(a, a)
    assert divergence(a.motifs(3), a.motifs(3)) == 0
    assert 0 < divergence(a.motifs(3), b.motifs(3)) <= 1


def test_motifs_of_one_family_alone_are_counted_apart(real: list[Observed]) -> None:
    shapes = [[Shape(real[0].traces[0])], [Shape(real[1].traces[0])]]
    drawn = [Shape(real[0].traces[0])]
    every, of_one = copied(["a", "b"], shapes, drawn)
    assert every == 1 > of_one
    assert copied(["a", "a"], shapes, drawn) == (1, 1)
    assert copied(["b"], shapes[1:], [Shape(real[2].traces[0])]) == (0, 0)


def test_the_attack_finds_what_is_given_and_is_chance_where_nothing_shows(
    real: list[Observed],
) -> None:
    marks = [mark(job.traces[0]) for job in real]
    known = [([one], {"name": n}) for n, one in enumerate(marks)]
    targets = [(one, {"name": n}) for n, one in enumerate(marks)]
    found = attack(known, targets)["name"]
    assert found[:2] == (1, 1)
    assert found.chance == pytest.approx(1 / 3)
    blind = attack([(marks[:1], {"name": n}) for n in range(3)], targets)["name"]
    assert blind.best == pytest.approx(1 / 3)


def test_a_known_job_counts_by_the_mean_of_its_draws(real: list[Observed]) -> None:
    one, other, target = (mark(job.traces[0]) for job in real)
    known = [
        ([target, other, other], {"name": "mixed"}),
        ([target, target, other], {"name": "own"}),
    ]
    assert attack(known, [(target, {"name": "own"})])["name"].mean == 1
    lone = [([one, one], {"name": "one"}), ([target, one], {"name": "target"})]
    found = attack(lone, [(one, {"name": "one"})])["name"]
    assert found.by_method == dict.fromkeys(METHODS, 1)


def test_membership_is_the_share_of_pairs_told_apart(real: list[Observed]) -> None:
    assert area([3, 4], [1, 2]) == 1
    assert area([1, 2], [1, 2]) == 0.5
    marks = [mark(job.traces[0]) for job in real]
    assert membership(marks[:1], marks[:1], marks[1:]) == 1
    assert membership(marks, marks, marks) == 0.5


def test_the_baseline_is_as_long_as_the_job_and_runs(real: list[Observed]) -> None:
    from random import Random

    workload = made("llama3-8b", SMALL)
    chain = markov(workload, Random(1))
    kept = [node for node in workload.template("stage0") if node.name not in ("send", "receive")]
    assert len(list(chain.template("all"))) == len(kept)
    job = real[0]._replace(played=Templates(workload=chain))
    assert run_on(CLUSTERS[0], job).makespan_ns > 0


def test_a_page_of_the_judgement_has_its_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, settings in (("jobs", SMALL), ("others", WIDE)):
        (tmp_path / folder).mkdir()
        made("llama3-8b", settings).save(tmp_path / folder / "job.yw")
    jobs, page = str(tmp_path / "jobs"), tmp_path / "judge.html"
    line = ["synth", "judge", jobs, jobs, "--others", str(tmp_path / "others")]
    assert main([*line, "--report", str(page)]) == 0
    said = capsys.readouterr().out
    assert "motifs of 21 nodes copied 100.0%" in said
    assert "area under the curve 1.00" in said
    assert "switch of 25 GB/s" in page.read_text()
    assert main([*line, "--report", "judge.pdf"]) == 2
