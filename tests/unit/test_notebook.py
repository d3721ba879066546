"""A line of progress in notebooks: while work lasts, gone after it, and nowhere else."""

from __future__ import annotations

import sys
from time import monotonic, sleep
from types import SimpleNamespace

import pytest

import yantra
from yantra.base import notebook
from yantra.base.notebook import progress_line
from yantra.rl.answer import answered
from yantra.rl.question import made


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(notebook, "EVERY_S", 0.01)


def until(done: object, capsys: pytest.CaptureFixture[str]) -> str:
    """What is written until it has a text, within 5 s."""
    end, seen = monotonic() + 5, ""
    while str(done) not in seen and monotonic() < end:
        sleep(0.005)
        seen += capsys.readouterr().err
    return seen


@pytest.mark.usefixtures("kernel")
def test_a_line_has_the_note_and_the_seconds_and_is_blank_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress_line("plans") as tell:
        assert tell is not None
        assert "\rplans: 0 s" in until("plans: 0 s", capsys)
        tell("3 of 8")
        assert "\rplans (3 of 8): 0 s" in until("3 of 8", capsys)
        with progress_line("steps") as inner:
            assert inner is None
    *_, blank, last = capsys.readouterr().err.split("\r")
    assert (blank, last) == (" " * len("plans (3 of 8): 0 s"), "")
    with pytest.raises(ValueError, match="given up"), progress_line("plans"):
        raise ValueError("given up")
    with progress_line("plans") as tell:
        assert tell is not None


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_where_no_kernel_runs_nothing_is_written(
    shell: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(notebook, "EVERY_S", 0.001)
    with progress_line("plans") as tell:
        assert tell is None
        sleep(0.01)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("kernel")
def test_a_search_of_plans_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = yantra.plan("llama3-8b", ranks=8, cluster="hgx-h100", global_batch=16, top=1)
    assert found.best.plan.tp and "\rplans (" in capsys.readouterr().err


@pytest.mark.usefixtures("kernel")
def test_a_step_of_post_training_says_that_it_is_sought(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = made(
        model="llama3-8b", cluster="hgx-h100", gpus=16, prompts=16, generations=8,
        lengths="mean=300,cap=900",
    )  # fmt: skip
    assert answered(asked).seconds > 0
    assert "\rpost-training: 0 s" in capsys.readouterr().err
