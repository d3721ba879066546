"""Every algorithm and mode of post-training keeps its contract, and each law catches its own."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.kinds import rl_algorithm_laws, rl_mode_laws
from yantra.rl.algorithms import Alone, algorithms, work_of
from yantra.rl.algorithms.grpo import GRPO
from yantra.rl.algorithms.ppo import PPO
from yantra.rl.modes import Asked, Loop, Mode, loop_of, mode_of, modes


@pytest.mark.parametrize("name", algorithms.names())
def test_every_algorithm_keeps_every_law(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rl_algorithm_laws.main([name]) == 0
    assert capsys.readouterr().out.startswith("7 laws hold for 5 steps")


@pytest.mark.parametrize("name", modes.names())
def test_every_mode_keeps_every_law(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rl_mode_laws.main([name]) == 0
    assert capsys.readouterr().out.startswith("6 laws hold for ")


def test_work_is_that_of_the_models_that_there_are() -> None:
    alone = Alone(10.0, 30.0)
    assert work_of(GRPO(), alone) == (10.0, 10.0, 0.0, 30.0)
    assert work_of(GRPO(policy=False, reference=False), alone) == (0.0, 0.0, 0.0, 30.0)
    assert work_of(PPO(), alone) == (10.0, 10.0, 20.0, 60.0)


def test_a_mode_says_its_loop() -> None:
    asked = Asked(6, 2, 3, 0, "pause", "keep")
    assert loop_of(mode_of("k-off"), asked) == Loop("k-off", k=3, refit_rule="pause")
    assert loop_of(mode_of("async"), asked).max_concurrent == 24
    assert loop_of(mode_of("partial"), asked).in_flight_groups == 12
    assert loop_of(mode_of("partial"), asked._replace(at_once=9)).in_flight_groups == 9


_asked: list[int] = []


def _again(self: Any, alone: Alone) -> Any:
    _asked.append(0)
    return GRPO.work(self, alone)._replace(policy=float(len(_asked)))


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"title": ""}, "title: expected a text, got ''"),
        ({"work": lambda self, alone: 3}, "work: expected a Work, got 3"),
        ({"work": lambda self, alone: 1 // 0}, "work raises ZeroDivisionError"),
        ({"work": _again}, "the_same_is_said_twice: "),
        (
            {"work": lambda self, alone: GRPO.work(self, alone)._replace(training=0.0)},
            "every_sample_is_trained: training takes 0 s of 30 s",
        ),
        (
            {"work": lambda self, alone: GRPO.work(self, alone)._replace(critic=alone.scoring)},
            "what_is_not_there_takes_no_time: critic takes 10 s",
        ),
        (
            {
                "critic": True,
                "work": lambda self, alone: GRPO.work(self, alone)._replace(
                    critic=max(1000.0 - 10 * alone.scoring, 0.0)
                ),
            },
            "slower_passes_take_no_less: ",
        ),
        ({"thrown": lambda self, filtered: 0.0}, "0.1 of groups are filtered, and 0 generated"),
        ({"thrown": lambda self, filtered: 1.5}, "thrown: expected a share from 0 to less than 1"),
    ],
)
def test_an_algorithm_that_breaks_a_law_is_caught(own: dict[str, Any], problem: str) -> None:
    wrong = type("Wrong", (GRPO,), own)
    assert any(problem in broken for broken in rl_algorithm_laws.violations(wrong))


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"loop": lambda self, asked: "sync"}, 'loop: expected a Loop, got "sync"'),
        ({"loop": lambda self, asked: 1 // 0}, "loop raises ZeroDivisionError"),
        ({"loop": lambda self, asked: Loop("round")}, "loop: nothing is named 'round'"),
        ({"loop": lambda self, asked: Loop("k-off")}, "k: is not given; the loop 'k-off' needs it"),
        (
            {"loop": lambda self, asked: Loop("sync", groups_per_step=5)},
            "groups_per_step: expected a divisor of the 4 prompts of a step, got 5",
        ),
        (
            {"colocated": True, "loop": lambda self, asked: Loop("k-off", k=1)},
            "placement: replicas and trainer share GPUs",
        ),
        ({"counts": "hours"}, "counts: expected steps, mini-batches or nothing, got 'hours'"),
        (
            {"waits": True, "loop": lambda self, asked: Loop("k-off", k=1)},
            "where_it_waits_nothing_is_generated_beside_training: sample ",
        ),
        ({"most_stale": lambda self, asked: -1}, "and it states -1 at most"),
        (
            {
                "loop": lambda self, asked: Loop(
                    "async",
                    groups_per_step=asked.minibatch,
                    staleness=0,
                    max_concurrent=1,
                    max_age=0,
                    feed="buffer",
                )
            },
            "the_job_plays_to_its_end: after 0 of 4 steps nothing runs",
        ),
    ],
)
def test_a_mode_that_breaks_a_law_is_caught(own: dict[str, Any], problem: str) -> None:
    usual = {"loop": lambda self, asked: Loop("sync")}
    wrong: type[Mode] = type("Wrong", (Mode,), usual | own)
    broken = list(rl_mode_laws.violations(wrong()))
    assert any(problem in one for one in broken)
