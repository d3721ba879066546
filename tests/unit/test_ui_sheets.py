"""The pages of serving and post-training: answers are the commands', and no file is opened."""

from __future__ import annotations

from typing import Any

import pytest

import yantra
from yantra.base.errors import CapacityError, ConfigError
from yantra.rl.answer import answered
from yantra.rl.question import made
from yantra.ui.controls import Offered
from yantra.ui.page import SHEETS, html_of
from yantra.ui.rl_sheet import SHEET as RL
from yantra.ui.serve_sheet import SHEET as SERVE
from yantra.ui.sheets import Sheet
from yantra.ui.worker import Room, answer

BOTH = pytest.mark.parametrize("sheet", SHEETS.values(), ids=SHEETS)
ROOM = Room("/nowhere", Offered())


def ask(sheet: Sheet, **form: str) -> dict[str, Any]:
    return answer({"act": f"run {sheet.name}", "form": form}, ROOM)


@BOTH
def test_every_control_is_in_one_group_and_is_explained(sheet: Sheet) -> None:
    inside = [name for group in sheet.groups.values() for name in group]
    assert sorted(inside) == sorted(sheet.first) == sorted(sheet.about)
    assert {*sheet.powers, *sheet.empty, *sheet.choices()} <= set(sheet.first)
    page = html_of(sheet, Offered())
    for name in inside:
        assert f'name="{name}"' in page and f'id="wrong-{name}"' in page


def test_serving_answers_as_the_command() -> None:
    told = ask(SERVE, rate="20", count="100", tpot="p99 20 ms")["told"]
    served = yantra.serve(
        "llama3-8b", "hgx-h100", "poisson:rate=20/s,count=100,isl=1024,osl=128,seed=1", tp=1
    )
    low, high = served.interval("ttft", 99.0) or (0.0, 0.0)
    assert told["time"] == f"{served.ttft.at(99.0) * 1e3:.3g} ms"
    assert told["interval"] == f"{low * 1e3:.3g} ms to {high * 1e3:.3g} ms"
    assert any("keep all" in text for _, text, _ in told["lines"])


def test_post_training_answers_as_the_command() -> None:
    told = ask(RL, prompts="16", generations="8", mode="async", staleness="4", train="tp=2")["told"]
    found = answered(
        made(
            "llama3-8b", "hgx-h100", gpus=16, prompts=16, generations=8, mode="async",
            staleness=4, lengths="mean=800,cap=4096", prompt_tokens=128, train={"tp": 2},
        )
    )  # fmt: skip
    assert told["time"] == f"{found.seconds:.3g} s"
    assert told["interval"] == f"{found.low:.3g} to {found.high:.3g} s"
    assert "tp 2" in told["lines"][0][1]


@pytest.mark.parametrize(
    ("sheet", "form", "control", "problem"),
    [
        (SERVE, {"engine": "/etc/passwd"}, "engine", "expected one of"),
        (SERVE, {"engine": "mine.py"}, "engine", "expected one of"),
        (SERVE, {"model": "config.json"}, "model", "start it with yantra ui --model"),
        (SERVE, {"cluster": "hgx-h10"}, "cluster", "did you mean 'hgx-h100'"),
        (SERVE, {"count": "1e3"}, "count", "expected a whole number from 1 to 20,000"),
        (SERVE, {"rate": "nan"}, "rate", "expected requests a second"),
        (SERVE, {"ttft": "fast"}, "ttft", "fast"),
        (SERVE, {"kv_cache_dtype": "fp3"}, "kv_cache_dtype", "fp3"),
        (SERVE, {"requests": "a.csv"}, "", "requests: no control has this name"),
        (RL, {"mode": "mine.py"}, "mode", "expected one of"),
        (RL, {"gpus": "0"}, "gpus", "expected a whole number"),
        (RL, {"prompts": "4096", "generations": "64"}, "prompts", "yantra rl takes more"),
        (RL, {"cap": "10"}, "mean", "less than the cap"),
        (RL, {"gpus": "10"}, "gpus", "nearest possible: 8 and 16"),
        (RL, {"train": "tp"}, "train", "expected name=value"),
        (RL, {"train": "ttp=2"}, "train", "no field of a trainer"),
        (RL, {"generate": "gpus=99", "mode": "async"}, "generate", "99"),
    ],
)
def test_what_is_wrong_is_said_at_its_control(
    sheet: Sheet, form: dict[str, str], control: str, problem: str
) -> None:
    told = ask(sheet, **form)
    assert told["status"] == 400 and told["told"]["control"] == control
    assert problem in told["told"]["error"]


@BOTH
def test_a_form_that_is_none_is_refused(sheet: Sheet) -> None:
    for form in ([], {"model": 7}, {"model": "x" * 200_000}):
        with pytest.raises(ConfigError):
            sheet.read(form, Offered())


def test_what_does_not_fit_has_no_control() -> None:
    told = ask(SERVE, model="llama3-405b")
    assert told["status"] == 400 and told["told"]["control"] == ""
    with pytest.raises(CapacityError):
        RL.answer(RL.read({"model": "llama3-405b", "train": "tp=1"}, Offered()))
