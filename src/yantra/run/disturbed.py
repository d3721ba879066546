"""The cost of failures and background traffic: a run again without them.

`run_undisturbed: false` in the scenario spares them.
"""

from __future__ import annotations

from collections.abc import Callable

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.compile import Model, compile_like, compile_until
from yantra.compile.what_fails import in_words
from yantra.result import Result
from yantra.result.disturbed import Disturbed
from yantra.scenario import Scenario

Again = Callable[[Model], float]
"""Runs a model as before; returns its makespan in ns."""


def disturbed(result: Result, again: Again | None = None) -> Disturbed | None:
    """What disturbed a run and its cost, or None.

    `again` runs a calmer model; default: `run`.
    """
    model, scenario = result.model, result.model.scenario
    fails = bool(scenario.failures) or scenario.link_changes is not None
    if not fails and model.background is None:
        return None
    makespan = result.makespan_ns
    native, flows = result.outcome.disturbance, model.background
    sizes: list[int] = [] if flows is None else flows.bytes[flows.start_ns < makespan].tolist()
    calm = scenario.replace(failures=(), link_changes=None, reroute_delay_ns=0.0)
    quiet = scenario.replace(background=())
    return Disturbed(
        makespan_ns=makespan,
        failures=tuple(in_words(one) for one in model.failures.events if one.at_ns < makespan),
        changes=sum(at_ns < makespan for at_ns in model.changed_at_ns),
        rerouted=native.rerouted,
        waited=native.waited,
        waiting_ns=native.waited_ticks / model.ticks_per_ns,
        lost_packets=native.lost_packets,
        lost_bytes=native.lost_bytes,
        background_flows=len(sizes),
        background_bytes=sum(sizes),
        without_failures_ns=_without(model, calm, again or _run) if fails else None,
        without_background_ns=None if flows is None else _without(model, quiet, again or _run),
    )


def _without(model: Model, scenario: Scenario, again: Again) -> float | None:
    # None where not asked for, or it does not run.
    if not scenario.run_undisturbed:
        return None
    try:
        return again(compile_like(model, scenario))
    except (DeadlockError, UnsupportedError):
        return None


def _run(model: Model) -> float:
    from yantra.run.simulate import run

    return run(model).makespan_ns


def drawn_further(model: Model, makespan_ns: float) -> Model:
    """The failures may make the run longer still, so ask again."""
    return compile_until(model, max(4.0 * model.failures.known_until_ns, 1.5 * makespan_ns))
