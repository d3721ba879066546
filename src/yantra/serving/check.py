"""States of a run, simulated on the fabric: how far the closed form of an iteration is off there.

States are iterations of the run itself, evenly over its time: those that only decode, with their
mean context, and the prompts of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError
from yantra.base.text import table
from yantra.fabric.stacks.choice import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.serving.answer import Served
    from yantra.serving.fleet import Ran
    from yantra.serving.iteration import Predictor

_MOST_LOGGED = 200_000


class State(NamedTuple):
    sequences: int
    context: int
    tokens: int

    def words(self) -> str:
        """Return what the iteration does."""
        if self.tokens:
            return f"prompt of {self.tokens:,} behind {self.context:,}"
        return f"{self.sequences} decode at {self.context:,}"


class Checked(NamedTuple):
    """Seconds of a state by closed form and simulated."""

    state: State
    closed_form: float
    simulated: float

    @property
    def off(self) -> float:
        return self.closed_form / self.simulated - 1


def checked(served: Served, count: int) -> tuple[Checked, ...]:
    """Raises ConfigError without a model."""
    from yantra.serving.iteration import Predictor

    question = served.question
    if question.model is None or question.cluster is None:
        raise ConfigError("check", "needs a model and a cluster; a given cost has nothing to check")
    plan = question.pools[-1][1].plan
    ran = served.fleet.run(question.requests, most_logged=_MOST_LOGGED)
    states = list(_states(ran, count))
    predictor = Predictor(question.model, question.cluster, plan, stack=question.stack or DEFAULT)
    return tuple(
        Checked(state, _by_form(predictor, state), _simulated(question, plan, state))
        for state in states
    )


def lines(states: Sequence[Checked]) -> Iterator[str]:
    """Yield the states in a table."""
    rows = [
        (
            one.state.words(),
            f"{one.closed_form * 1e3:.4g} ms",
            f"{one.simulated * 1e3:.4g} ms",
            f"{one.off:+.2%}",
        )
        for one in states
    ]
    yield from table(("iteration, without the host", "closed form", "simulated", "off"), rows)


def _states(ran: Ran, count: int) -> Iterator[State]:
    first = ran.column("log_first")
    tokens, context = ran.column("item_tokens"), ran.column("item_context")
    chosen = np.unique(np.linspace(0, len(first) - 2, count).astype(int))
    for at in chosen.tolist():
        items = slice(first[at], first[at + 1])
        longest = int(np.argmax(tokens[items]))
        if tokens[items][longest] > 1:
            yield State(0, int(context[items][longest]), int(tokens[items][longest]))
        else:
            yield State(len(tokens[items]), max(int(context[items].mean()), 1), 0)


def _by_form(predictor: Predictor, state: State) -> float:
    if state.tokens:
        return predictor.iteration([(state.tokens, state.context)]).seconds
    return predictor.iteration([(1, state.context)] * state.sequences).seconds


def _simulated(question: Any, plan: Any, state: State) -> float:
    from yantra.run.simulate import simulate
    from yantra.scenario import Scenario, Templates, cluster_parts
    from yantra.workloads.serving import infer

    if state.tokens:
        asked = {"batch": plan.dp, "prompt": state.tokens, "context": state.context}
        workload = infer(question.model, plan, phase="prefill", **asked)
    else:
        asked = {"batch": state.sequences * plan.dp, "context": state.context}
        workload = infer(question.model, plan, phase="decode", **asked)
    stack = question.stack or DEFAULT
    parts = cluster_parts(question.cluster, plan.ranks, workload.dtype, stack=stack)
    result = simulate(Scenario(workload=Templates(workload=workload), **parts))
    return float(result.finish_ns.max()) / 1e9
