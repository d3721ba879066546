"""Rules: what is fitted is what jobs do, and what is drawn does as much."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.synth.synth_jobs import made, seen
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import Node, NodeType
from yantra.cli import main
from yantra.synth import files, passes
from yantra.synth.observe import observe, observe_one, observed
from yantra.synth.rules import Rules, fit
from yantra.synth.sample import sample
from yantra.synth.settings import Settings
from yantra.synth.solve import solve
from yantra.synth.write import FEWEST, MOST
from yantra.tracing.inspect.validate import check_traces
from yantra.workloads.templates import Workload

DENSE = Settings(4, tp=2, pp=2, dp=2, micro_batches=3, sequence=512)
SHARED = Settings(2, tp=2, dp=4, ep=4, micro_batches=2, sequence=512)
JOBS = (("llama3-8b", DENSE), ("mixtral-8x7b", SHARED), ("gpt3-1.3b", DENSE._replace(zero=1)))


def _of(node: Node, name: str) -> int:
    value = node.get(name)
    return value if isinstance(value, int) else 0


def _totals(workload: Workload) -> Counter[str]:
    """Work and bytes by kind and group of all templates; of 4 bytes and less none."""
    sums: Counter[str] = Counter()
    for name in workload.templates:
        for node in workload.template(name):
            if node.type == NodeType.COMP:
                dense = _of(node, "num_ops") >= passes.DENSE * _of(node, "tensor_size")
                kind = "ops" if dense else "bytes"
                sums[f"{name} {kind}"] += _of(node, "num_ops" if dense else "tensor_size")
            elif _of(node, "comm_size") > 4096:
                group = node.get("pg_name")
                axes = workload.groups[str(group)].axes if group else ("message",)
                sums[f"{name} {node.type} {sorted(axes)}"] += _of(node, "comm_size")
    return sums


@pytest.mark.parametrize("tier", ["rules", "grammar"])
@pytest.mark.parametrize(("model", "settings"), JOBS)
def test_a_job_drawn_at_its_own_settings_does_as_much(
    model: str, settings: Settings, tier: str
) -> None:
    rules = fit([seen(model, settings)], tier)
    (drawn,) = sample(rules, seed=3)
    real, new = _totals(made(model, settings)), _totals(drawn.workload)
    assert set(new) == set(real)
    for name, value in real.items():
        assert new[name] == pytest.approx(value, rel=2e-3), name


def test_jobs_at_some_settings_tell_what_a_job_at_others_does() -> None:
    given = [
        Settings(layers, tp=tp, pp=pp, dp=2, micro_batches=2, micro_batch=batch, sequence=sequence)
        for layers, tp, pp, batch, sequence in (
            (4, 1, 1, 1, 512), (8, 2, 1, 1, 512), (4, 2, 2, 2, 512), (8, 1, 2, 1, 1024),
            (6, 2, 2, 1, 1024), (6, 1, 1, 2, 256), (8, 4, 2, 1, 512), (4, 4, 1, 2, 1024),
        )
    ]  # fmt: skip
    rules = fit([seen("llama3-8b", one) for one in given])
    unseen = Settings(12, tp=4, pp=4, dp=2, micro_batches=4, sequence=2048)
    asked = [f"{name}={value}" for name, value in unseen._asdict().items() if name != "schedule"]
    (drawn,) = sample(rules, asked)
    assert drawn.settings == unseen
    real, new = _totals(made("llama3-8b", unseen)), _totals(drawn.workload)
    assert set(new) == set(real)
    for name, value in real.items():
        assert new[name] == pytest.approx(value, rel=0.02), name


@pytest.mark.parametrize("tier", ["rules", "grammar"])
@pytest.mark.parametrize(("model", "settings"), JOBS)
def test_every_sample_is_valid_and_runs_to_its_end(
    model: str, settings: Settings, tier: str
) -> None:
    from yantra.run.simulate import simulate
    from yantra.synth.clusters import CLUSTERS, scenario

    rules = fit([seen(model, settings)], tier)
    for drawn in sample(rules, count=2, seed=5):
        traces = [drawn.workload.trace(rank) for rank in range(drawn.workload.ranks)]
        members = {str(n): ranks for n, ranks in drawn.workload.communicators().items()}
        assert check_traces(traces, groups=members).valid
        assert simulate(scenario(CLUSTERS[0], observed(drawn.workload, "drawn"))).makespan_ns > 0


@pytest.mark.parametrize(("model", "settings"), JOBS)
def test_traces_of_ranks_are_measured_as_templates_are(
    model: str, settings: Settings, tmp_path: Path
) -> None:
    made(model, settings).expand(tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps(settings._asdict() | {"family": model}))
    assert observe_one(str(tmp_path)).stages == seen(model, settings).stages


def test_experts_that_cross_the_balance_take_as_long_at_other_settings() -> None:
    few = Settings(2, tp=2, dp=2, micro_batches=2)
    given = [few._replace(sequence=n, tp=tp) for n in (256, 1024, 4096) for tp in (1, 2)]
    rules = fit([seen("mixtral-8x7b", one) for one in given])
    shares = []
    for sequence in (512, 2048):
        (drawn,) = sample(rules, [f"sequence={sequence},tp=2,layers=2,dp=2,micro_batches=2"])
        for kind in (passes.FORWARD, passes.BACKWARD):
            real = seen("mixtral-8x7b", few._replace(sequence=sequence)).stages[0].work[kind]
            new = observed(drawn.workload, "").stages[0].work[kind]
            assert passes.nominal(new) == pytest.approx(passes.nominal(real), rel=0.05)
            shares.append(real["ops"] / (real["ops"] + real["light_ops"]))
    assert min(shares) < 0.5 < max(shares)  # they do cross


@pytest.mark.parametrize("seed", range(3))
def test_calls_of_the_end_of_a_step_wait_for_each_other_as_they_did(seed: int) -> None:
    from yantra.synth import judged
    from yantra.synth.clusters import CLUSTERS, run_on

    job = judged.seen("bert-base", DENSE)
    (drawn,) = sample(fit([job]), seed=seed)
    real, new = (run_on(CLUSTERS[0], one) for one in (job, observed(drawn.workload, "")))
    assert new.makespan_ns == pytest.approx(real.makespan_ns, rel=0.05)


def test_operations_of_nodes_against_their_mean_tell_no_experts() -> None:
    from yantra.tracing.share.fingerprint import alike, fingerprint

    drawn = [
        [fingerprint(one.workload.template("stage0")) for one in sample(fit([job]), count=3)]
        for job in (seen("llama3-8b", DENSE), seen("mixtral-8x7b", DENSE))
    ]
    own = [alike(one, other, "work") for one, other in pairwise(drawn[0])]
    others = [alike(one, other, "work") for one in drawn[0] for other in drawn[1]]
    assert sum(others) / len(others) > sum(own) / len(own) - 0.02


@pytest.mark.parametrize("model", ["gpt3-1.3b", "llama3-8b", "mixtral-8x7b"])
def test_calls_are_as_many_of_as_many_sizes_whatever_a_job_made(model: str) -> None:
    made_, wide = [], []
    for drawn in sample(fit([seen(model, DENSE)]), count=4, seed=7):
        late = [
            _of(node, "comm_size")
            for node in drawn.workload.template("stage0")
            if node.get("comm_type") == 0 and node.get("phase") == "backward"
        ]
        made_.append(len(late))
        wide.append(max(late) / min(late))
    assert min(made_) >= FEWEST - 1 and max(made_) <= MOST + 1 and len(set(made_)) > 1
    assert min(wide) > 8 and max(wide) > 32


@pytest.mark.parametrize("model", ["gpt3-1.3b", "mixtral-8x7b"])
def test_work_is_cut_into_as_many_pieces_as_chance_says(model: str) -> None:
    pieces = []
    for drawn in sample(fit([seen(model, DENSE)]), count=8, seed=2):
        nodes = [n for n in drawn.workload.template("stage0") if n.get("microbatch") == 0]
        pieces.append(sum(_of(n, "num_ops") > _of(n, "tensor_size") * passes.DENSE for n in nodes))
    assert max(pieces) > 1.7 * min(pieces)
    assert min(pieces) > 2 * 32 * 0.7 and max(pieces) < 2 * 128 * 1.5


def test_work_of_a_pass_is_that_of_its_nodes() -> None:
    job = seen("llama3-8b", DENSE)
    nodes = [n for n in job.traces[0] if n.get("microbatch") == 0 and n.get("phase") == "forward"]
    works = [n for n in nodes if n.type == NodeType.COMP]
    dense = [n for n in works if _of(n, "num_ops") >= passes.DENSE * _of(n, "tensor_size")]
    assert job.stages[0].work[passes.FORWARD]["ops"] == pytest.approx(
        sum(_of(n, "num_ops") for n in dense)
    )


def test_a_sample_is_measured_as_what_was_drawn() -> None:
    job = seen("llama3-8b", DENSE)
    (drawn,) = sample(fit([job]))
    again = observed(drawn.workload, "drawn")
    assert again.settings == job.settings
    for one, other in zip(again.stages, job.stages, strict=True):
        assert one.messages == pytest.approx(other.messages, rel=1e-6)
        assert one.work[passes.FORWARD]["ops"] == pytest.approx(
            other.work[passes.FORWARD]["ops"], rel=1e-3
        )


@given(
    st.lists(st.sampled_from([0.0, 0.5, 3.0, 40.0]), min_size=3, max_size=3),
    st.integers(0, 99),
)
def test_sums_of_shares_are_solved_exactly(truth: list[float], seed: int) -> None:
    rows = np.random.default_rng(seed).uniform(0.1, 2, (9, 3))
    values = rows @ np.array(truth)
    found, left = solve(rows.tolist(), values.tolist(), [1.0] * 3)
    assert left < 1e-4
    assert found == pytest.approx(truth, rel=1e-2, abs=1e-2 * max(truth))


def test_the_same_seed_draws_the_same_job_and_another_another() -> None:
    rules = fit([seen("llama3-8b", DENSE)])

    def first(seed: int) -> bytes:
        (drawn,) = sample(rules, seed=seed)
        return drawn.workload.template_bytes("stage0")

    assert first(1) == first(1) != first(2)


def test_a_file_of_rules_is_read_as_written_and_names_no_model(tmp_path: Path) -> None:
    rules = fit([seen(*job) for job in JOBS], "grammar")
    path = str(tmp_path / "jobs.ysyn")
    files.save(rules, path)
    assert files.load(path) == rules
    text = Path(path).read_text()
    assert not any(model.split("-")[0] in text for model, _ in JOBS)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "\x00", '{"format": "yantra synth", "version": 2, "tier": "rules"}',
     '{"format": "yantra synth", "version": 3, "tier": "rules", "components": []}',
     '{"format": "yantra synth", "version": 2, "tier": "rules", "components": []}',
     '{"format": "yantra synth", "version": 2, "tier": "rules", "components": [{}]}'],
)  # fmt: skip
def test_another_file_is_refused_in_a_sentence(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.ysyn"
    path.write_text(text)
    assert main(["synth", "sample", str(path), "-o", str(tmp_path / "drawn")]) == 2
    assert "not rules that `yantra synth fit` wrote, or damaged" in capsys.readouterr().err


def test_rules_of_an_older_version_are_to_be_fitted_again(tmp_path: Path) -> None:
    path = tmp_path / "old.ysyn"
    path.write_text('{"format": "yantra synth", "version": 1, "tier": "rules", "components": []}')
    with pytest.raises(ConfigError, match="older `yantra synth fit`; fit the jobs again"):
        files.load(str(path))


@pytest.mark.parametrize("change", [-1.0, float("nan"), "1", True, None])
def test_numbers_that_no_fit_gives_are_refused(change: object, tmp_path: Path) -> None:
    path = str(tmp_path / "jobs.ysyn")
    files.save(fit([seen("llama3-8b", DENSE)]), path)
    form = json.loads(Path(path).read_text())
    form["components"][0]["work"]["F ops 3"]["coefficients"][0] = change
    Path(path).write_text(json.dumps(form))
    with pytest.raises(ConfigError, match="damaged"):
        files.load(path)


def test_a_split_that_no_job_had_is_refused() -> None:
    rules = fit([seen("llama3-8b", DENSE)])
    with pytest.raises(UnsupportedError, match="no job that was fitted had ep > 1"):
        next(sample(rules, ["ep=2"]))
    with pytest.raises(ConfigError, match="did you mean 'layers'"):
        next(sample(rules, ["layer=2"]))
    with pytest.raises(ConfigError, match="micro_batches x pp is 20000; at most 8192"):
        next(sample(rules, ["micro_batches=10000"]))
    with pytest.raises(ConfigError, match="motifs; at most 32768 are drawn"):
        next(sample(fit([seen("llama3-8b", DENSE)], "grammar"), ["layers=1000000"]))
    with pytest.raises(ConfigError, match="3 stages need as many layers"):
        next(sample(rules, ["pp=3,layers=2"]))


def test_jobs_that_follow_no_rule_are_refused(tmp_path: Path) -> None:
    from yantra.workloads import Plan, train

    with pytest.raises(ConfigError, match="has no job"):
        observe(str(tmp_path))
    train("llama3-8b", Plan(pp=2, vpp=2, global_batch=4), 512).save(tmp_path / "a.yw")
    with pytest.raises(UnsupportedError, match="vpp 2 follows no rule"):
        observe(str(tmp_path))


def test_rules_of_two_families_are_kept_apart() -> None:
    jobs = [seen("llama3-8b", DENSE), seen("gpt3-1.3b", DENSE)]
    rules = fit(jobs)
    assert isinstance(rules, Rules)
    assert len(rules.components) == 2
    sums = {_totals(drawn.workload)["stage0 ops"] for drawn in sample(rules, count=8, seed=1)}
    real = [_totals(made(model, DENSE))["stage0 ops"] for model in ("llama3-8b", "gpt3-1.3b")]
    for value in sums:
        assert min(abs(value / one - 1) for one in real) < 0.01
    assert len({min(real, key=lambda one: abs(one - value)) for value in sums}) == 2


def test_a_job_like_another_is_of_its_kind() -> None:
    rules = fit([seen("llama3-8b", DENSE), seen("gpt3-1.3b", DENSE)])
    for model in ("llama3-8b", "gpt3-1.3b"):
        (drawn,) = sample(rules, like=seen(model, DENSE))
        real = _totals(made(model, DENSE))["stage0 ops"]
        assert _totals(drawn.workload)["stage0 ops"] == pytest.approx(real, rel=0.01)


def test_a_recorded_rank_keeps_its_time(tmp_path: Path) -> None:
    from yantra.chakra import TraceBuilder

    step = TraceBuilder()
    last = step.compute("a", duration_micros=70)
    step.compute("b", duration_micros=30, after=last)
    step.build().write(tmp_path / "job.0.et")
    (drawn,) = sample(fit(observe(str(tmp_path))))
    assert sum(node.duration_micros for node in drawn.workload.template("stage0")) == 100


def test_motifs_are_as_often_as_layers_and_never_long() -> None:
    from random import Random

    from yantra.synth.motifs import LONGEST, body, grammar_of

    def row(layers: int) -> list[tuple[str, float]]:
        return [("ops", 8.0), ("light", 1.0), ("ops", 8.0), ("F 7 tp between", 4.0)] * layers

    motifs = grammar_of([row(4), row(8)], [[4.0], [8.0]], [1.0])
    assert max(len(motif.tokens) for motif in motifs) <= LONGEST
    drawn = [word for word, _ in body(motifs, [16.0], Random(1))]
    assert [drawn.count(word) for word in ("ops", "light", "F 7 tp between")] == [32, 16, 16]


def test_a_learned_tier_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made("llama3-8b", DENSE).save(tmp_path / "job.yw")
    line = ["synth", "fit", str(tmp_path), "-o", str(tmp_path / "a.ysyn"), "--tier", "neural"]
    assert main(line) == 3
    assert "not shown to beat rules" in capsys.readouterr().err
