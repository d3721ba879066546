"""`yantra life` and `yantra.life`: answers, money, and what is wrong with a question."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from typing import Any

import pytest

import yantra
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.compute.power import UNJUDGED
from yantra.fabric import clusters
from yantra.lives.life import Life
from yantra.lives.play import PARTS

JOB = "model: llama3-8b\nplan: {tp: 2, pp: 2, global_batch: 128}\n"
ASKED: dict[str, Any] = {"cluster": "hgx-h100", "gpus": 64, "days": 54}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("life") / "job.yaml"
    path.write_text(JOB)
    return path


@pytest.fixture(scope="module")
def said(job: Path) -> Life:
    return yantra.life(job, **ASKED, lives=60)


def test_the_step_is_that_of_the_run(said: Life) -> None:
    ran = yantra.predict("llama3-8b", ranks=64, cluster="hgx-h100", tp=2, pp=2, global_batch=128)
    assert said.question.job.step == ran.time_s * 1e9
    assert said.question.job.groups == 16


def test_without_failures_steps_times_their_time_is_the_life(job: Path, tmp_path: Path) -> None:
    from yantra.fabric import failures

    text = Path(failures.__file__).with_name("files").joinpath("fleets.yaml").read_text()
    calm = [line for line in text.splitlines() if "does:" not in line or "planned" in line]
    path = tmp_path / "calm.yaml"
    path.write_text("\n".join(calm).replace("events: 6,", "events: 0,"))
    found = yantra.life(job, **ASKED, lives=4, rates=path)
    assert found.goodput == (1.0, 1.0, 1.0)
    assert found.mttf_h is None
    assert found.interval_s is None
    horizon = found.question.horizon
    assert (found.lives.useful == horizon).all()
    steps = horizon / found.question.job.step
    each = yantra.predict("llama3-8b", ranks=64, cluster="hgx-h100", tp=2, pp=2, global_batch=128)
    step = each.result.energy
    assert step is not None
    draws = found.question.job.draws
    assert draws is not None
    assert draws.waiting_w == step.idle_w
    (phase,) = found.power  # as nothing fails, nothing is kept
    assert phase[:3] == ("step", step.seconds, step.facility_j / step.seconds)
    assert phase.times == pytest.approx(steps)
    assert draws.peak_w == step.peak_w >= phase.watts
    assert found.kwh is not None
    assert found.kwh.mean == pytest.approx(steps * step.facility_j / 3.6e6, rel=1e-9)
    assert found.kwh.high / found.kwh.mean == pytest.approx(exp(UNJUDGED))
    assert found.kwh_by_part == {**dict.fromkeys([*PARTS, "spares"], 0.0), "useful": found.kwh.mean}
    assert found.steps.low < steps < found.steps.high


def test_a_checkpoint_and_a_restart_draw_what_devices_that_wait_do(said: Life) -> None:
    draws = said.question.job.draws
    assert draws is not None
    of = {one.name: one for one in said.power}
    step, checkpoint, restart = of["step"], of["checkpoint"], of["restarting"]
    assert step.watts > checkpoint.watts == restart.watts == draws.waiting_w
    assert checkpoint.seconds == said.policy.block / 1e9
    assert 300 < restart.seconds < 1200
    assert of["working again"].watts == step.watts
    assert 0 < of["working again"].seconds * of["working again"].times < 54 * 86_400
    assert said.as_dict()["power"][0]["watts"] == step.watts
    assert f"peak {draws.peak_w / 1e3:.4g} kW" in " ".join(str(said).split())


@pytest.mark.parametrize(
    "settings",
    [{}, {"checkpoint": "sync", "pue": 1.3}, {"evict": False, "elastic": True}, {"spares": 0}],
)
def test_phases_add_up_to_the_time_and_the_energy(job: Path, settings: dict[str, Any]) -> None:
    found = yantra.life(job, **ASKED, lives=20, **settings)
    parts, draws = found.kwh_by_part, found.question.job.draws
    assert parts is not None
    assert draws is not None
    kwh = sum(parts.values()) - parts["spares"]
    assert sum(one.kwh for one in found.power) == pytest.approx(kwh, rel=1e-12)
    spent = sum(one.seconds * one.times for one in found.power)
    assert spent == pytest.approx(54 * 86_400, rel=1e-9)
    assert sum(draws.profile_w) / len(draws.profile_w) == pytest.approx(draws.working_w)
    assert max(draws.profile_w) <= draws.peak_w


def test_the_same_seed_gives_the_same_life_and_another_another(said: Life, job: Path) -> None:
    assert yantra.life(job, **ASKED, lives=60).as_dict() == said.as_dict()
    assert yantra.life(job, **ASKED, lives=60, seed=2).goodput != said.goodput


def test_shares_and_dollars_add_up(said: Life) -> None:
    assert said.goodput.mean + sum(said.lost.values()) == pytest.approx(1.0, abs=1e-12)
    assert said.usd is not None
    assert said.usd_by_part is not None
    assert set(said.usd_by_part) == {*PARTS, "spares"}
    assert sum(said.usd_by_part.values()) == pytest.approx(said.usd, rel=1e-12)
    devices = 64 + 8 * said.spares
    assert said.usd == pytest.approx(6.155 * devices * 54 * 24, rel=1e-12)
    per = said.usd_per_million_tokens
    assert per is not None
    assert per.low < said.usd / said.tokens.mean * 1e6 < per.high


def test_energy_adds_up_over_parts_and_spares(job: Path) -> None:
    found = yantra.life(job, **ASKED, lives=20, spares=3, grid="350 g/kWh")
    kwh, parts, draws = found.kwh, found.kwh_by_part, found.question.job.draws
    assert kwh is not None
    assert parts is not None
    assert draws is not None
    assert set(parts) == {*PARTS, "spares"}
    assert sum(parts.values()) == pytest.approx(kwh.mean, rel=1e-12)
    assert 0 < draws.waiting_w < draws.working_w
    hours = 54 * 24.0
    shares = {"useful": found.goodput.mean} | found.lost
    for name, share in shares.items():
        watts = draws.working_w if name in ("useful", "redone") else draws.waiting_w
        assert parts[name] == pytest.approx(share * hours * watts / 1e3)
    assert parts["spares"] == pytest.approx(3 / 8 * hours * draws.waiting_w / 1e3)
    assert found.kg_co2 == pytest.approx(tuple(end * 0.35 for end in kwh))
    assert "UNKNOWN, left out: switch power, pue" in repr(found)
    twice = yantra.life(job, **ASKED, lives=20, spares=3, pue=2)
    assert twice.kwh == pytest.approx(tuple(2 * end for end in kwh))
    assert twice.kg_co2 is None
    assert "CO2 UNKNOWN" in repr(twice)


def test_a_cluster_without_a_power_has_unknown_energy(job: Path, tmp_path: Path) -> None:
    text = Path(clusters.__file__).with_name("machines").joinpath("hgx-h100.yaml").read_text()
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace("  power: {value: 700 W", "  #"))
    found = yantra.life(job, cluster=str(path), gpus=64, days=10, lives=4, grid="350 g/kWh")
    assert (found.kwh, found.kg_co2, found.kwh_per_million_tokens) == (None, None, None)
    assert found.as_dict()["kwh_by_part"] is None
    assert "energy       UNKNOWN" in repr(found)


def test_owning_costs_its_parts_and_what_nobody_states_is_unknown(job: Path) -> None:
    owned: dict[str, Any] = {
        "capital": "30000 USD", "years": 4, "utilisation": 0.8, "pue": 1.3,
        "electricity": "0.08 USD/kWh", "network_price": "0.10 USD/h",
    }  # fmt: skip
    found = yantra.life(job, **ASKED, lives=10, **owned)
    parts = dict(found.price.parts)
    assert parts["capital"] == pytest.approx(30_000 / (4 * 8766 * 0.8))
    assert parts["power"] == pytest.approx((0.7 + 0.35) * 1.3 * 0.08)
    assert (parts["network"], parts["storage"], parts["hire"]) == (0.10, None, None)
    known = sum(value for value in parts.values() if value is not None)
    assert found.price.usd_per_h == pytest.approx(known)
    assert "storage UNKNOWN" in repr(found)


def test_a_cluster_without_a_price_has_unknown_costs(job: Path, tmp_path: Path) -> None:
    text = Path(clusters.__file__).with_name("machines").joinpath("hgx-h100.yaml").read_text()
    path = tmp_path / "mine.yaml"
    path.write_text("".join(line for line in text.splitlines(True) if "  price:" not in line))
    found = yantra.life(job, cluster=str(path), gpus=64, days=10, lives=4)
    assert (found.usd, found.usd_per_million_tokens, found.usd_by_part) == (None, None, None)
    assert "cost         UNKNOWN" in repr(found)


def test_the_best_is_no_worse_than_other_times_and_the_closed_form_is_near(said: Life) -> None:
    gains = {one.name: one.gains for one in said.bought}
    assert gains["checkpoints twice as often"] < 1e-3
    assert said.spares == 0  # one of 8 hosts costs more than it saves
    assert 0 < gains["one spare host"] < 1 / 8
    assert gains["no checkpoints"] < gains["training waits for checkpoints"] < 0
    assert gains["slow ranks stay"] < 0
    assert said.interval_s is not None
    assert said.closed_interval_s is not None
    assert 0.4 < said.interval_s / said.closed_interval_s < 2.5


def test_the_command_prints_the_answer(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["life", str(job), "--cluster", "hgx-h100", "--gpus", "64", "--days", "54"]
    assert main([*line, "--set", "lives=20"]) == 0
    text = capsys.readouterr().out
    for word in ("goodput", "interrupted", "lost to", "checkpoints", "spare hosts", "cost"):
        assert word in text
    assert "UNKNOWN      rate of switch" in text
    assert main([*line, "--set", "lives=20", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["goodput"]["low"] <= told["goodput"]["mean"] <= told["goodput"]["high"]


@pytest.mark.parametrize(
    ("settings", "where", "problem"),
    [
        ({"checkpoint": "often"}, "--set checkpoint", "expected one of async, sync, memory, none"),
        ({"spares": -1}, "--set spares", "expected a whole number from 0"),
        ({"foreseen": 0.3}, "--set foreseen", "give both"),
        ({"interval": "ten minutes"}, "--set interval", "expected"),
        ({"queues": "1 h"}, "--set", "did you mean 'queue'"),
        ({"capital": "30000 USD"}, "ownership.years", "missing"),
        ({"price": "2 USD/h", "capital": "1 USD"}, "--set price", "hired or bought"),
        ({"interval": "1 h", "checkpoint": "none"}, "--set interval", "without checkpoints"),
        ({"lives": 1}, "--set lives", "from 2"),
        ({"lives": 10**5, "days": 20_000}, "--set lives", "take fewer"),
        ({"spares": 10**5}, "--set spares", "take fewer"),
        ({"grid": "350 g"}, "--set grid", "350 g/kWh"),
        ({"interval": "1 ms"}, "--set interval", "until the checkpoint before is safe"),
        ({"gpus": 24}, "plan.global_batch", "128"),
        ({"days": -1}, "--days", "expected"),
        ({"gpus": 63}, "--gpus", "expected whole hosts"),
        ({"rates": "mine"}, "--rates", "fleets, llama3"),
    ],
)
def test_a_wrong_question_is_refused(
    job: Path, settings: dict[str, Any], where: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        yantra.life(job, **ASKED | settings)
    assert caught.value.where == where
    assert problem in caught.value.problem
