"""A compute model is not asked again for variations that cannot change its answer."""

from __future__ import annotations

import pytest

from yantra.compile import Model, compile, compile_like, compile_without
from yantra.compile.kernels import Asked
from yantra.compute import answers
from yantra.run.simulate import run
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

SCENARIO = Scenario(
    workload=Templates(workload=train("gpt3-1.3b", Plan(tp=2, dp=4, global_batch=8), 512)),
    **cluster_parts("hgx-h100", 8),
)


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []
    ask = answers.ask

    def counted(*given: object) -> object:
        asked.append(str(given[3]))
        return ask(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(answers, "ask", counted)
    return asked


def makespan(model: Model) -> int:
    return max(run(model).outcome.finish)


def test_variations_ask_again_only_where_the_question_is_another(questions: list[str]) -> None:
    model = compile(SCENARIO)
    assert questions == ["measured"]
    stack = SCENARIO.stack
    assert stack is not None
    longer = SCENARIO.replace(stack=stack.replace(products=2.0 * stack.products))
    variations = [
        compile_like(model, longer),
        compile_without(model, ["latency"]),
        compile_like(compile_like(model, longer), SCENARIO),
    ]
    assert questions == ["measured"]
    compile_without(model, ["peak"])
    assert questions == ["measured"] * 2
    assert makespan(variations[0]) == makespan(compile(longer)) > makespan(model)
    assert makespan(variations[2]) == makespan(model) > makespan(variations[1])


@pytest.mark.parametrize("cause", ["peak", "memory_bandwidth"])
def test_a_rate_that_is_removed_is_another_question(cause: str) -> None:
    model = compile(SCENARIO)
    device = SCENARIO.device
    known = Asked(model.kernels, frozenset())
    assert known.of(0, device, frozenset(["latency"])) is model.kernels[0]
    assert known.of(0, device, frozenset([cause])) is None
    assert known.of(1, device, frozenset()) is None
    slower = device.replace(peak_flops=device.peak_flops / 2)
    assert known.of(0, slower, frozenset()) is None
    half = compile_like(model, SCENARIO.replace(device=slower))
    assert makespan(half) == makespan(compile(SCENARIO.replace(device=slower)))
