"""What one more iteration of a decode costs, by a second run of another number of iterations.

With times T(n) of n and T(k) of k iterations it is (T(n) - T(k)) / (n - k): what fills and drains a
pipeline is in both and falls out. A workload of a pipeline carries the templates of such another
number beside its own (`Workload.steady`): two iterations where it has one, else one.

Trade-off: a run of one iteration costs three in all. Where failures or background traffic hit both
runs at the same times, but not at the same work, the difference would mean nothing, so there is
none.
"""

from __future__ import annotations

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.compile import compile, compile_without
from yantra.compile.templates import TemplateGraphs
from yantra.result.result import Result
from yantra.result.what_ran import about_of, whole
from yantra.run.verdict import fold_like
from yantra.scenario import Scenario, Templates


def steady_ns(result: Result) -> float | None:
    """Return the time of one more iteration; None where the workload does not carry another."""
    model = result.model
    if not isinstance(model.graphs, TemplateGraphs) or _is_disturbed(model.scenario):
        return None
    here = whole(about_of(model), "iterations")
    steady = model.graphs.workload.steady
    if steady is None or here is None or here == steady.iterations:
        return None
    from yantra.run.simulate import run

    other = compile(model.scenario.replace(workload=Templates(workload=steady.workload)))
    if model.without:
        other = compile_without(other, model.without)
    try:
        ran = run(other, fold=fold_like(result, other))
    except (DeadlockError, UnsupportedError):
        return None
    return (ran.makespan_ns - result.makespan_ns) / (steady.iterations - here)


def _is_disturbed(scenario: Scenario) -> bool:
    return bool(scenario.failures or scenario.link_changes is not None or scenario.background)
