"""Rules make the arrivals and lengths that they say, the same for the same seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serving.requests.samples import AZURE, tokens
from yantra.base.errors import ConfigError
from yantra.serving.requests import Requests, generate, load, read
from yantra.serving.requests.arrivals import rules

MANY = 40_000
SHORT: dict[str, Any] = {"isl": 20, "osl": 5}
EACH = {
    "at_once": {"samples": 4, "count": 12},
    "closed": {"users": 3, "count": 10, "think": "2 s", "think_cv": 1},
    "constant": {"rate": 2, "count": 10},
    "gamma": {"rate": 2, "cv": 3, "count": 10},
    "poisson": {"rate": "600/min", "count": 10},
    "sessions": {"rate": 1, "count": 4, "turns": "uniform:1:6", "delay": "3 s", "delay_cv": 2},
}


def gaps(them: Requests) -> np.ndarray:
    return np.diff(them.arrival_ns, prepend=0) / 1e9


def test_all_rules_are_tried_here() -> None:
    assert set(rules.names()) == set(EACH)


@pytest.mark.parametrize("kind", EACH)
def test_equal_seeds_give_equal_requests(kind: str) -> None:
    drawn = EACH[kind] | {"isl": "lognormal:100:400", "osl": "normal:50:90", "system": 30}
    once = generate(kind, **drawn, seed=7)
    assert generate(kind, **drawn, seed=7) == once
    assert generate(kind, **drawn, seed=8) != once


@pytest.mark.parametrize("kind", EACH)
def test_all_prompts_begin_with_the_common_tokens(kind: str) -> None:
    them = generate(kind, **EACH[kind], **SHORT, system=30, limit=64)
    assert {tuple(tokens(them, at, 30)) for at in range(len(them))} == {
        tuple((0, position) for position in range(30))
    }
    assert set(them.limit.tolist()) == {64}
    assert them.prompt.min() == 50


@pytest.mark.parametrize(("kind", "cv"), [("poisson", 1.0), ("gamma", 0.5), ("gamma", 3.0)])
def test_gaps_have_their_mean_and_deviation(kind: str, cv: float) -> None:
    options = {"cv": cv} if kind == "gamma" else {}
    found = gaps(generate(kind, rate=4, count=MANY, **SHORT, **options))
    assert found.mean() == pytest.approx(0.25, rel=5 * cv / MANY**0.5)
    assert found.std() / found.mean() == pytest.approx(cv, rel=0.08)


def test_a_gamma_of_deviation_1_is_poisson() -> None:
    found = np.sort(gaps(generate("gamma", rate=1, cv=1, count=MANY, **SHORT)))
    distance = np.abs(1 - np.exp(-found) - np.arange(MANY) / MANY).max()  # Kolmogorov-Smirnov
    assert distance < 1.63 / MANY**0.5  # 1 %


def test_constant_arrivals_are_exact() -> None:
    them = generate("constant", rate=3, count=4, **SHORT)
    assert them.arrival_ns.tolist() == [0, 333333333, 666666667, 1000000000]


def test_a_change_of_rate_leaves_the_lengths() -> None:
    slow, fast = (
        generate("poisson", rate=rate, count=100, isl="normal:90:150", osl="uniform:1:9")
        for rate in (1, 9)
    )
    assert np.array_equal(slow.prompt, fast.prompt)
    assert np.array_equal(slow.output, fast.output)


@pytest.mark.parametrize("kind", ["lognormal", "normal"])
@pytest.mark.parametrize(("mean", "p99"), [(1000, 2000), (500, 520), (4000, 9000)])
def test_lengths_have_their_mean_and_percentile(kind: str, mean: int, p99: int) -> None:
    them = generate("at_once", count=MANY, isl=f"{kind}:{mean}:{p99}", osl=1)
    found = them.statistics().prompt
    assert found.mean == pytest.approx(mean, rel=0.01)
    assert found.p99 == pytest.approx(p99, rel=0.03)


def test_uniform_lengths_reach_both_ends() -> None:
    them = generate("at_once", count=1000, isl="uniform:3:5", osl=1)
    assert set(them.prompt.tolist()) == {3, 4, 5}


def test_lengths_of_a_trace_are_drawn_in_pairs(tmp_path: Path) -> None:
    (tmp_path / "azure.csv").write_text(AZURE)
    trace = read(tmp_path / "azure.csv")
    them = load(f"poisson:rate=1,count=200,like={tmp_path}/azure.csv")
    pairs = set(zip(trace.prompt.tolist(), trace.output.tolist(), strict=True))
    assert set(zip(them.prompt.tolist(), them.output.tolist(), strict=True)) == pairs


def test_samples_of_a_prompt_share_it() -> None:
    them = generate("at_once", count=6, samples=3, isl="uniform:5:90", osl="uniform:1:99")
    assert them.prompt[0] == them.prompt[2] != them.prompt[3]
    assert tokens(them, 0) == tokens(them, 2) != tokens(them, 3)
    assert len(set(them.output.tolist())) > 2


def test_each_user_of_a_closed_loop_waits_for_its_last_answer() -> None:
    them = generate("closed", users=3, count=8, think="2 s", **SHORT)
    assert them.user.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert them.after.tolist() == [-1, -1, -1, 0, 1, 2, 3, 4]
    assert them.delay_ns.tolist() == [0, 0, 0, *[2 * 10**9] * 5]
    assert them.arrival_ns.tolist() == [0] * 8


@given(st.integers(1, 6), st.integers(0, 40), st.integers(0, 5))
def test_a_turn_is_the_conversation_and_what_is_new(turns: int, system: int, seed: int) -> None:
    lengths = {"isl": "uniform:1:30", "osl": "uniform:1:30", "system": system}
    them = generate("sessions", rate=1, count=3, turns=turns, delay="1 s", seed=seed, **lengths)
    assert len(them) == 3 * turns
    for at in range(len(them)):
        if at % turns == 0:
            assert them.after[at] == -1
            continue
        before = at - 1
        so_far = int(them.prompt[before] + them.output[before])
        assert them.after[at] == before
        assert them.session[at] == them.session[before]
        assert them.arrival_ns[at] == them.arrival_ns[before]
        assert them.delay_ns[at] == 10**9
        assert 1 <= them.prompt[at] - so_far <= 30
        assert tokens(them, at, so_far) == tokens(them, before, so_far)


def test_texts_and_options_are_the_same_rule() -> None:
    options: dict[str, Any] = {"rate": 10, "count": 9, "isl": 4, "osl": "normal:8:9", "seed": 3}
    text = "poisson:rate=10/s, count=9,isl=4,osl=normal:8:9,seed=3"
    assert load(text) == generate("poisson", **options)
    assert load("at-once:count=3,isl=1,osl=1") == generate("at_once", count=3, isl=1, osl=1)


def test_a_file_comes_before_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poisson").write_text("arrival_s,prompt,output\n0,7,1\n")
    assert load("poisson").prompt.tolist() == [7]


RULES = "expected one of at_once, closed, constant, gamma, poisson, sessions"
TOKENS = 'expected tokens such as 1024, or "lognormal:1024:4096" by mean and p99'
RATE = 'expected a rate such as "10/s"'
ONE = "count=1,isl=1,osl=1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "poison:rate=1",
            f"requests: no rule of arrivals is named 'poison'; {RULES}; did you mean 'poisson'?",
        ),
        ("poisson:rat=1,count=2", "poisson.rat: unknown option; did you mean 'rate'?"),
        ("poisson:count=1,osl=1", f"poisson.isl: missing; {TOKENS}, or 'like' with a trace"),
        ("poisson", "poisson.count: missing; expected a whole number"),
        (f"poisson:{ONE}", f"poisson.rate: missing; {RATE}"),
        (f"poisson:rate=1/day,{ONE}", f'poisson.rate: {RATE}, /min or /h, got "1/day"'),
        (f"poisson:rate=0,{ONE}", f"poisson.rate: {RATE}, from 1e-6 to 1e9, got 0"),
        (f"poisson:rate=1,{ONE},like=x", "poisson.isl: given with 'like', which has lengths; take"),
        ("poisson:rate=1,rate=2", "poisson.rate: given twice; expected once"),
        ("poisson:x", 'poisson: expected key=value,key=value behind the colon, got "x"'),
        (f"poisson:rate=1e-6,{ONE.replace('1', '5000', 1)}", "poisson.rate: the last request arr"),
        (f"gamma:rate=1,cv=0,{ONE}", "gamma.cv: must be above 0; got 0"),
        (f"closed:users=1,think=3,{ONE}", "closed.think: a number needs its unit; expected a time"),
        (
            f"at_once:samples=2,{ONE}",
            "at_once.samples: expected a divisor of the 1 requests, got 2",
        ),
        (
            "at_once:count=1,isl=0,osl=1",
            'at_once.isl: expected from 1 to 1000000000 tokens, got "0',
        ),
        ("at_once:count=1,isl=1.5,osl=1", 'at_once.isl: expected whole tokens, got "1.5"'),
        (
            "at_once:count=1,isl=lognorml:1:2,osl=1",
            f"at_once.isl: {TOKENS}, got \"lognorml:1:2\"; did you mean 'lognormal'?",
        ),
        (
            "at_once:count=1,isl=lognormal:10:1000,osl=1",
            "at_once.isl: expected a p99 of at most 14.97 times the mean, as a lognormal has, got",
        ),
        (
            "at_once:count=1,isl=normal:10:5,osl=1",
            "at_once.isl: expected a rising mean and p99 from 1 to 1000000000 tokens, got",
        ),
        (
            "sessions:count=1,turns=100000,isl=1,osl=1",
            "sessions.count: 100000 requests with all turns before them; take fewer",
        ),
        ("nofile.csv", "nofile.csv: cannot be read: No such file or directory"),
    ],
)
def test_what_is_wrong_is_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(text)
    assert str(refused.value).startswith(said)
