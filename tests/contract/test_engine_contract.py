"""Every engine keeps the contract, each law catches its own offender, options are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.kinds.engine_laws import Case, main, random_case, serve, violations
from yantra.plugin.engine import Engine, Option, Plan, State
from yantra.serving import batching
from yantra.serving.fleet import Fleet, Linear, Pool
from yantra.serving.requests import Requests


def all_of(state: State) -> list[tuple[int, int]]:
    both = (state.running, state.waiting)
    return [pair for rows in both for pair in zip(rows.request, rows.left, strict=True)]


class Orca(Engine):
    def plan(self, state: State) -> Plan:
        run = []
        tokens, seats, blocks = state.max_num_batched_tokens, state.max_num_seqs, state.num_blocks
        for rows in (state.running, state.waiting):
            for at, left in enumerate(rows.left):
                seats -= 1
                blocks -= state.blocks_for(rows.prompt[at] + rows.limit[at])
                if left > tokens or seats < 0 or blocks < 0:
                    return Plan(run)
                run.append((rows.request[at], left))
                tokens -= left
        return Plan(run)


class Answers(Engine):
    answer: Any = Plan()

    def plan(self, state: State) -> Any:
        return self.answer(state) if callable(self.answer) else self.answer


def preempt(state: State) -> Plan:
    ids = [*state.running.request, *state.waiting.request]
    return Plan([(ids[0], 1)], list(state.running.request))


def last_first(state: State) -> Plan:
    rows = state.running if len(state.running) else state.waiting
    return Plan([(rows.request[-1], 1)])


@pytest.mark.parametrize("name", batching.built_in())
def test_every_engine_keeps_every_law(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name]) == 0
    assert capsys.readouterr().out.startswith("every law holds for 12 sets of random requests")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Plan(), "no request is to run, though request 0 could"),
        (3, "plan: expected a Plan, got 3"),
        (Plan([(99, 1)]), "request 99 is to run, but it is not here"),
        (Plan([(-1, 1)]), "request -1 is to run, but it is not here"),
        (Plan([(0, 0)]), "request 0 gets 0 tokens; expected 1 to 262"),
        (Plan([(0, 1), (0, 1)]), "request 0 is to run twice in one iteration"),
        (Plan([(1.5, 1)]), "plan: run: expected whole numbers, got 1.5"),  # type: ignore[list-item]
        (Plan([7]), "plan: run: expected pairs (request, tokens), got 7"),  # type: ignore[list-item]
        (Plan([], [0]), "request 0 is to begin anew, but it does not run"),
        (lambda state: 1 // 0, "plan raises ZeroDivisionError"),
        (lambda state: Plan(all_of(state)), "an iteration gets 372 tokens; at most 348"),
        (preempt, "request 0 began anew 1000 times"),
        (last_first, "requests_start_by_arrival: request 2 starts before request 1"),
    ],
)
def test_an_engine_that_breaks_a_law_is_caught(answer: Any, problem: str) -> None:
    kind = type(
        "Wrong", (Answers,), {"answer": staticmethod(answer) if callable(answer) else answer}
    )
    assert any(problem in broken for broken in violations(kind))


def test_seats_and_blocks_are_never_exceeded() -> None:
    everything = type("All", (Answers,), {"answer": staticmethod(lambda s: Plan(all_of(s)))})
    case = Case("full", ((0, 20, 5, 0, 0), (0, 20, 5, 0, 0)), 100, 16, 1, 4096)
    with pytest.raises(
        ConfigError, match="request 1 is to start, but all seats are taken; at most 1"
    ):
        serve(everything, case)
    with pytest.raises(ConfigError, match="request 1 needs 2 more blocks; free are 1"):
        serve(everything, case._replace(seats=2, blocks=3))


@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_an_engine_in_python_does_what_one_of_the_core_does(seed: int) -> None:
    case = random_case(seed)._replace(tokens=1 << 20)
    ours = serve(Orca, case)
    core = serve("tensorrt_llm", case, {"enable_chunked_context": "off"})
    for name in ("start", "first_token", "finish"):
        assert np.array_equal(ours[name], core[name])


def test_a_preempted_request_loses_its_blocks_and_waits_at_the_head() -> None:
    seen: list[State] = []

    def answer(state: State) -> Plan:
        seen.append(state)
        again = len(seen) == 3
        rows = state.waiting if len(seen) == 1 else state.running
        kept = rows.request[:1] if again else rows.request
        left = rows.left[:1] if again else rows.left
        if len(seen) > 3 and len(state.waiting):
            return Plan(all_of(state))
        return Plan(list(zip(kept, left, strict=True)), rows.request[1:] if again else ())

    kind = type("Once", (Answers,), {"answer": staticmethod(answer)})
    ran = serve(kind, Case("two", ((0, 20, 5, 0, 3), (0, 30, 5, 0, 4)), 100, 16, 4, 4096))
    assert ran["restarts"].tolist() == [0, 1]
    assert ran["recomputed"].tolist() == [0, 31]
    before, after = seen[2], seen[3]
    assert before.running.computed.tolist() == [21, 31]
    assert before.running.blocks.tolist() == [2, 2]
    assert (before.free_blocks, after.free_blocks) == (96, 98)
    assert after.waiting.request.tolist() == [1]
    assert after.waiting.left.tolist() == [32]
    assert after.waiting.user.tolist() == [4]


def test_options_are_checked_by_name_bound_and_choice() -> None:
    kind = batching.kind_of("tensorrt_llm")
    given = {"capacity_scheduler_policy": "MAX_UTILIZATION", "enable_chunked_context": False}
    read = batching.options_of(kind, given)
    assert (read["capacity_scheduler_policy"], read["enable_chunked_context"]) == (1.0, 0.0)
    assert read["max_batch_size"] == 256
    for wrong, problem in (
        ({"max_batch_sise": 3}, r"no such option; did you mean 'max_batch_size'\?"),
        ({"max_batch_size": 0}, "max_batch_size: expected a number of at least 1, got 0"),
        ({"capacity_scheduler_policy": "NONE"}, "expected one of GUARANTEED_NO_EVICT, "),
    ):
        with pytest.raises(ConfigError, match=problem):
            batching.options_of(kind, wrong)


def test_an_engine_has_options_of_its_own() -> None:
    seen: list[float] = []

    class Own(Orca):
        options = (Option("share", 0.5, 0, "of the seats"),)

        def plan(self, state: State) -> Plan:
            seen.append(self.given["share"])
            return super().plan(state)

    serve(Own, random_case(1), {"share": 0.25})
    assert set(seen) == {0.25}


def test_a_name_that_is_none_is_answered_by_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no engine is named 'saratih'; .* mean 'sarathi'"):
        batching.kind_of("saratih")


def test_a_fleet_takes_an_engine_in_python() -> None:
    asked = Requests.of(arrival_ns=[0, 0], prompt=[100, 50], output=[3, 4])
    cost = Linear(5e-3, 20e-6, 1e-7)
    ours, core = (Fleet((Pool(name, {}, cost),)).run(asked) for name in (Orca, "vllm"))
    assert ours.makespan_s == core.makespan_s == pytest.approx(23.1509e-3)
