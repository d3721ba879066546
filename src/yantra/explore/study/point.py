"""One trial of a study, simulated: its plan, on its cluster, at its scale."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.output import make_folder
from yantra.compile import compile
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.space import PlanSpace
from yantra.explore.study.trial import space_of
from yantra.run.simulate import run
from yantra.scenario import Scenario, Templates
from yantra.workloads.training.train import train

if TYPE_CHECKING:
    from yantra.explore.study.study import Finished
    from yantra.explore.study.study_file import Study
    from yantra.result import Result

_MOST_RECORDED = 256 << 20


class Run(NamedTuple):
    """A simulated trial: its step in ns, and its report's path from the page."""

    time_ns: float
    report: str


def scenario_of(study: Study, finished: Finished, number: int) -> Scenario:
    """Return a trial's step as a scenario. Raises ConfigError without a plan.

    Scaled delays of collectives are rounded to ns.
    """
    told = finished.trials[number]
    if "plan" not in told:
        raise ConfigError(f"trial {number}", f"has no plan to simulate: {told['broken'][0]}")
    model, cluster, scale, space = space_of(study, number)
    columns = {name: [value] for name, value in told["plan"].items()}
    plan = PlanSpace.plan(space, columns, 0)  # type: ignore[arg-type]
    workload = train(model, plan, space.sequence)
    stack = study.trials()[number][3]
    parts = Machine(cluster, space.ranks, scale, dtype=space.dtype, stack=stack).parts
    return Scenario(workload=Templates(workload=workload), **parts)


def simulate_point(
    study: Study, finished: Finished, number: int, *, record: bool | int = False
) -> Result:
    """Simulate a trial's plan; see `scenario_of` and `run`."""
    return run(compile(scenario_of(study, finished, number)), record=record)


def write_reports(
    study: Study,
    finished: Finished,
    numbers: Sequence[int],
    page: str,
    tell: Callable[[int, int], None] | None = None,
) -> dict[int, Run]:
    """Simulate trials and write their reports into a folder beside the page.

    Raises as `scenario_of`.
    """
    folder = f"{os.path.splitext(page)[0]}-runs"
    found: dict[int, Run] = {}
    if numbers:
        make_folder(folder)
    for done, number in enumerate(numbers):
        if tell is not None:
            tell(done, len(numbers))
        try:
            result = simulate_point(study, finished, number, record=_MOST_RECORDED)
        except UnsupportedError:
            result = simulate_point(study, finished, number)
        name = f"trial-{number}.html"
        result.to_report(os.path.join(folder, name))
        found[number] = Run(result.makespan_ns, f"{os.path.basename(folder)}/{name}")
    return found
