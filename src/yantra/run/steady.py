"""The cost of one more decode iteration, from a second run: (T(n) - T(k)) / (n - k), in which
filling and draining a pipeline cancels.
"""

from __future__ import annotations

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.compile import compile, compile_without
from yantra.compile.templates import TemplateGraphs
from yantra.result.result import Result
from yantra.result.what_ran import about_of, whole
from yantra.run.verdict import fold_like
from yantra.scenario import Templates


def steady_ns(result: Result) -> float | None:
    """Time of one more iteration; None where the workload has no other."""
    model = result.model
    if not isinstance(model.graphs, TemplateGraphs) or model.scenario.is_disturbed:
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
