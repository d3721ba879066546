"""Every door takes the same price of a device's hour from a cluster's file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import yantra
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import PARTS, price_of, priced
from yantra.result.figures import Figures

MACHINE = Path(clusters.__file__).parent / "machines" / "hgx-h100.yaml"
HIRED = ("  price: {value: 2.5 USD/h, basis: yours}\n", "")
BOUGHT = (
    "  capital: {value: 35064 USD, basis: yours}\n",
    "  years: {value: 5, basis: yours}\n"
    "  utilisation: {value: 0.8, basis: yours}\n"
    "  pue: {value: 1.2, basis: yours}\n"
    "  electricity: {value: 0.10 USD/kWh, basis: yours}\n"
    "  running: {value: 0.05 USD/h, basis: yours}\n",
)
ON_TOP = (
    "  network: {value: 0.2 USD/h, basis: yours}\n  storage: {value: 0.1 USD/h, basis: yours}\n"
)
USD = {
    HIRED: 2.5 + 0.2 + 0.1,
    BOUGHT: 35064 / (5 * 8766 * 0.8) + (0.7 + 0.35) * 1.2 * 0.10 + 0.05 + 0.2 + 0.1,
}
JOB: dict[str, Any] = {
    "model": "llama3-8b",
    "plan": {"tp": 8, "dp": 2, "zero": 1, "global_batch": 16},
}
REQUESTS = "poisson:rate=20/s,count=20,isl=200,osl=8,seed=1"


def cluster_of(folder: Path, device: str, owned: str) -> str:
    text = re.sub(r"(?m)^  price: .*\n", "", MACHINE.read_text(encoding="utf-8"))
    path = folder / "mine.yaml"
    text = text.replace("device:\n", f"device:\n{device}", 1)
    path.write_text(f"{text}\nownership:\n{owned}{ON_TOP}", encoding="utf-8")
    return str(path)


def predicted(cluster: str) -> Figures:
    plan = JOB["plan"]
    return yantra.predict(JOB["model"], cluster=cluster, ranks=16, stack="roofline", **plan).figures


def of_run(cluster: str) -> float:
    told = predicted(cluster)
    assert told.cost_usd is not None and told.step_time_ns is not None
    return told.cost_usd * 3.6e12 / (told.step_time_ns * 16)


def of_plan(cluster: str) -> float:
    found = yantra.plan("llama3-8b", cluster=cluster, ranks=16, global_batch=16, stack="roofline")
    best = found.best
    assert best.cost_usd is not None
    return best.cost_usd * 3.6e12 / (best.time_ns * 16)


def of_study(cluster: str) -> float:
    study = {
        "model": "llama3-8b", "global_batch": 16, "clusters": [cluster], "ranks": [16],
        "stack": "roofline", "objectives": ["usd_per_h"],
    }  # fmt: skip
    from yantra.explore.study.study_file import study_of
    from yantra.explore.study.trial import trial

    return float(trial(study_of(study, "study"), 0)["usd_per_h"]) / 16


def of_serve(cluster: str) -> float:
    told = yantra.serve(
        "llama3-8b", cluster=cluster, requests=REQUESTS, tp=2, replicas=2, stack="roofline",
        intervals=False,
    )  # fmt: skip
    assert told.cost_usd is not None
    return told.cost_usd * 3600 / told.device_s


def of_serve_plan(cluster: str) -> float:
    from yantra.serving.pools import asked
    from yantra.serving.search.candidates import Candidate

    machine = clusters.load(cluster)
    return Candidate(machine, asked(1, "vllm", {"tp": 4}, "test")).usd_per_h / 4


def of_life(cluster: str) -> float:
    told = yantra.life(JOB, cluster=cluster, gpus=16, days=3, lives=4, stack="roofline")
    assert told.usd is not None and told.usd_by_part is not None
    assert sum(told.usd_by_part.values()) == pytest.approx(told.usd)
    return told.usd / told.device_hours


def of_rl(cluster: str) -> float:
    from yantra.rl.answer import answered
    from yantra.rl.question import made

    told = answered(
        made("llama3-8b", cluster, gpus=8, prompts=8, generations=2, prompt_tokens=64,
             lengths="mean=100,cap=200", train_batch=8)
    )  # fmt: skip
    assert told.usd is not None
    return told.usd * 3600 / (told.seconds * 8)


DOORS = [of_run, of_plan, of_study, of_serve, of_serve_plan, of_life, of_rl]


@pytest.mark.parametrize("price", [HIRED, BOUGHT], ids=["hired", "bought"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_has_the_price_of_the_file(
    door: Callable[[str], float], price: tuple[str, str], tmp_path: Path
) -> None:
    assert door(cluster_of(tmp_path, *price)) == pytest.approx(USD[price], rel=1e-6)


def test_parts_of_a_price_add_up_and_yours_is_the_whole_hour(tmp_path: Path) -> None:
    machine = clusters.load(cluster_of(tmp_path, *BOUGHT))
    parts: dict[str, Any] = dict(price_of(machine).parts)
    assert tuple(parts) == PARTS
    assert sum(value or 0.0 for value in parts.values()) == pytest.approx(USD[BOUGHT])
    assert (parts["hire"], parts["network"], parts["storage"]) == (None, 0.2, 0.1)
    said = priced(machine, 3.0)
    assert price_of(said).usd_per_h == 3.0
    assert price_of(said).basis == "yours"


def test_your_price_is_the_whole_hour_of_a_life_too(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, *HIRED)
    told = yantra.life(JOB, cluster=cluster, gpus=16, days=1, lives=2, stack="roofline", price=3.0)
    assert told.price.usd_per_h == 3.0
    more = yantra.life(
        JOB, cluster=cluster, gpus=16, days=1, lives=2, stack="roofline", storage_price="0.4 USD/h"
    )
    assert more.price.usd_per_h == pytest.approx(2.5 + 0.2 + 0.4)


def test_a_point_of_mfu_is_worth_what_it_saves_for_a_million_tokens(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, *HIRED)
    told = predicted(cluster)
    assert told.mfu is not None and told.usd_per_million_tokens is not None
    at_a_point_more = told.usd_per_million_tokens * told.mfu / (told.mfu + 0.01)
    saved = told.usd_per_million_tokens - at_a_point_more
    assert told.usd_per_mfu_point == pytest.approx(saved)
