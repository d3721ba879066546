"""From a file, a scenario or a result to its explanation.

A result's scenario is run again, recorded, then without each cause of time.
"""

from __future__ import annotations

from yantra.base.documents import Path
from yantra.base.errors import ConfigError
from yantra.base.text import count
from yantra.base.trust import NotTrustedError
from yantra.compile import compile
from yantra.explain.advice import advice
from yantra.explain.collectives import told
from yantra.explain.explanation import Explanation, explained
from yantra.explain.what_if import BoundsProgress, what_if
from yantra.export.json import head_of
from yantra.export.stored import Form, folder_of, result_of
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario import Case, Scenario, load
from yantra.scenario.origin import changed, scenario_of_result
from yantra.scenario.recognise import recognise
from yantra.scenario.text import placing

NO_PATH = "the result holds no critical path: yantra run --record keeps it"
NO_BOUNDS = "what-if bounds were not run"


def explain(
    of: Path | Case | Scenario | Result,
    *,
    runs: bool = True,
    progress: BoundsProgress | None = None,
    advise: bool = False,
) -> Explanation:
    """Explain a run: a result, a scenario, or the path of a file with either.

    A `yantra.scenario.Case` is a file with its cluster, or settings. With `runs`, the run is
    recorded if it was not, and bounds are run; with `advise`, also what to change
    (`yantra.explain.advice`). Raises ConfigError for any other file, and where a result's files
    have changed.
    """
    if isinstance(of, Result):
        return _of_result(of, runs, progress, advise)
    if isinstance(of, Scenario):
        return _of_result(run(compile(of), record=True), runs, progress, advise)
    case = of if isinstance(of, Case) else Case(of)
    known = recognise(case.path)
    name, text = known.name, known.text
    if known.kind != "result" or case.settings or case.cluster:
        if not runs:
            raise ConfigError(name, "not a result in JSON, and a scenario has to be run")
        scenario = load(case.path, cluster=case.cluster, settings=case.settings)
        with placing(name):
            model = compile(scenario)
        return _of_result(run(model, record=True), True, progress, advise)
    form = result_of(text, name)
    if not runs:
        return explained(form, notes=_missing(form))
    why_not = _cannot_run(form, name)
    if why_not:
        return explained(form, notes=(*_missing(form), why_not))
    check_inputs(form, name)
    result = run(compile(_scenario_of(text, name)), record=True)
    if result.makespan_ns != form["makespan_ns"]:
        raise ConfigError(
            f"{name}: makespan_ns",
            f"{form['makespan_ns']} here, {result.makespan_ns} when run again (written by Yantra "
            f"{form.get('yantra_version', '?')}); write it again, or explain it as it is "
            "with --no-runs",
        )
    return _of_result(result, True, progress, advise)


def _scenario_of(text: str, name: str) -> Scenario:
    try:
        return scenario_of_result(text, name, folder_of(name))
    except NotTrustedError as error:
        problem = f"{error.problem}; --no-runs explains what the result holds"
        raise NotTrustedError(error.where, problem) from None


def check_inputs(form: Form, name: str) -> None:
    problems = changed(form.get("inputs", {}), folder_of(name))
    if problems:
        more = f" ({count(len(problems) - 1, 'more file')} changed)" if len(problems) > 1 else ""
        raise ConfigError(
            name,
            f"{problems[0]}{more}; run it again (yantra run {name}), or explain "
            "what it holds with --no-runs",
        )


def _of_result(
    result: Result, runs: bool, progress: BoundsProgress | None, advise: bool
) -> Explanation:
    if runs and not result.recorded:
        result = run(result.model, record=True)
    form = head_of(result) | {"tables": {"ranks": result.ranks}}
    if not runs:
        return explained(form, notes=_missing(form))
    explanation = explained(form, what_if(result, progress=progress))
    explanation.data["collectives"] = told(result)
    if advise:
        explanation.data["advice"] = advice(result).as_dict()
    return explanation


def _missing(form: Form) -> tuple[str, ...]:
    return (NO_BOUNDS,) if form.get("critical_path") else (NO_PATH, NO_BOUNDS)


def _cannot_run(form: Form, name: str) -> str:
    if "scenario" not in form:
        version = form.get("yantra_version", "?")
        return f"it was written by Yantra {version}, which left its scenario out"
    workload = form["scenario"].get("workload")
    if isinstance(workload, dict) and "in_memory" in workload:
        return f"it cannot be run again: {workload['in_memory']}"
    return ""
