"""`explore`: a study from Python, and `Explored`: its frames, answers and page.

    from yantra.explore import Constraint, Objective, Space, explore

    space = Space(model="llama3-8b", global_batch=32, clusters=["hgx-h100"], ranks=[8, 16])
    found = explore(space, [Objective("step_time"), Objective("ranks")])
    print(found.front.to_pandas())

A study from Python equals one from a file, and writes the same folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yantra.base import text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.output import write_text
from yantra.base.records import Record
from yantra.explore.answers.next_dollar import NextDollar, next_dollar, read_offer
from yantra.explore.answers.odds import Odds, odds_of, read_within
from yantra.explore.answers.why import Why, read_plan, why_not, winner
from yantra.explore.closed_form.space import FIELDS, FURTHER, NAMES, SWITCHES
from yantra.explore.pages.study_page import study_page
from yantra.explore.study.confirmed import USUAL, Confirmed, confirm
from yantra.explore.study.objectives import OBJECTIVES, Constraint, Objective
from yantra.explore.study.point import simulate_point, write_reports
from yantra.explore.study.study import Finished, as_points, run_study
from yantra.explore.study.study_file import Search, Study, read_study, study_of
from yantra.result.columns import Kind
from yantra.result.table import Column, Table

if TYPE_CHECKING:
    from yantra.result import Result

_WHERE = "space"


class Space(Record):
    """What a study chooses from: clusters, sizes, factors of rates, and plans.

    `clusters` are names or paths, `ranks` numbers of devices. `scale` has factors of a rate
    (`peak`, `memory`, `latency`, `links 0` the innermost), `between` two ends to draw from. `plan`
    has allowed values of plan fields. `prices` are texts such as "2.50 USD/h" by cluster;
    `upgrades` likewise by rate, per 100 % more. `steps` and `failures` ({"checkpoint": "60 s",
    "restart": "300 s", "rates": "fleets"}) are for objectives under failures.
    """

    model: str
    """The name of a model, or the path of its file."""
    global_batch: int
    """Sequences of a step."""
    clusters: Sequence[str]
    """Names of clusters, or paths of their files."""
    ranks: Sequence[int]
    """Numbers of devices."""
    sequence: int | None = None
    """Tokens of a sequence; None for the model's usual number."""
    scale: Mapping[str, Sequence[float]] = {}
    """Factors to try, by rate."""
    between: Mapping[str, Sequence[float]] = {}
    """The lowest and the highest factor to draw from, by rate."""
    plan: Mapping[str, Sequence[Any]] = {}
    """Allowed values, by field of a plan."""
    prices: Mapping[str, str] = {}
    """The price of a device such as "2.50 USD/h", by cluster."""
    upgrades: Mapping[str, str] = {}
    """The price of 100 % more, by rate."""
    steps: int | None = None
    """Steps of the whole training, for `time_to_train`."""
    dtype: str | None = None
    """The type of products of every plan, such as fp8; None for bf16."""
    stack: str | Sequence[str] | None = None
    """At which speeds: a stack by name or file, unknown, roofline or nominal; several are tried."""
    failures: Mapping[str, str] = {}
    """Times of a checkpoint and a restart, and rates as of `yantra life`, if not the cluster's."""

    def as_tree(self) -> dict[str, Any]:
        """The tree of a study's file."""
        tree = {name: _plain(getattr(self, name)) for name in self.field_names}
        return {name: value for name, value in tree.items() if value is not None and value != {}}


def explore(
    space: Space | str | os.PathLike[str],
    objectives: Sequence[Objective | str] = ("step_time",),
    constraints: Sequence[Constraint] = (),
    *,
    search: Search | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    workers: int = 1,
    backend: str = "local",
    progress: Callable[[int, int], None] | None = None,
) -> Explored:
    """Find the best plan of every cluster, size and scale of a space, and their Pareto front.

    `space` may be the path of a study's file. With `search` Optuna, which it needs, draws trials.
    A `folder` keeps finished trials; `resume` continues it. `progress` is called with trials done
    and in all. The result does not depend on `workers` or `backend`.

    Raises ConfigError at the wrong field, UnsupportedError for a missing package.
    """
    if isinstance(space, Space):
        study = study_of(_tree(space, objectives, constraints, search), _WHERE)
    else:
        study = read_study(os.fspath(space))
    finished = run_study(
        study,
        None if folder is None else os.fspath(folder),
        resume=resume,
        workers=workers,
        backend=backend,
        tell=progress,
    )
    return Explored(as_points(study, finished.trials), finished)


def _tree(
    space: Space,
    objectives: Sequence[Objective | str],
    constraints: Sequence[Constraint],
    search: Search | None,
) -> dict[str, Any]:
    tree = space.as_tree()
    tree["objectives"] = [one.name if isinstance(one, Objective) else one for one in objectives]
    for one in constraints:
        bounds = {"at_most": one.at_most, "at_least": one.at_least}
        if all(value is None for value in bounds.values()):
            problem = expected_got("at_most or at_least", None)
            raise ConfigError(f"{_WHERE}: Constraint({one.name!r})", problem)
        for side, value in bounds.items():
            if value is not None and one.name in tree.setdefault(side, {}):
                raise ConfigError(f"{_WHERE}: {side}", f"names {one.name} twice")
            if value is not None:
                tree[side][one.name] = value
    if search is not None:
        tree["search"] = search._asdict()
    return {name: value for name, value in tree.items() if value != {}}


class Explored:
    """A finished study: trials and front as tables, and questions.

    Trials count from 0; the default is the best in the first objective.
    """

    def __init__(self, study: Study, finished: Finished) -> None:
        self.study, self.finished = study, finished

    @property
    def trials(self) -> Table:
        """All trials: cluster, ranks, a column for each rate and objective, the plan, `broken`.

        Times in s, memory in bytes, money in USD; `on_front` is 1 or 0. Missing without a plan, or
        if the cluster does not state it.
        """
        return self._table("trials", list(range(len(self.finished.trials))))

    @property
    def front(self) -> Table:
        """The trials that no other dominates."""
        return self._table("front", self.finished.front)

    @property
    def best(self) -> dict[str, Any]:
        """The best trial in the first objective. Raises ConfigError if none is feasible."""
        return self.finished.trials[self.number_of_best]

    @property
    def number_of_best(self) -> int:
        """The best trial's number."""
        return winner(self.study, self.finished)

    def why_not(self, plan: str, trial: int | None = None) -> Why:
        """Say why a trial did not choose a plan such as "tp=16 pp=4"; see `Why`."""
        return why_not(self.study, self._number(trial), read_plan(plan))

    def next_dollar(self, *offers: str, trial: int | None = None) -> NextDollar:
        """Say what offers such as "links 1 x2 0.15 USD/h" are worth; see `NextDollar`."""
        return next_dollar(self.study, self._number(trial), [read_offer(one) for one in offers])

    def odds(self, *within: str, stack: str | None = None) -> tuple[Odds, ...]:
        """Return the probability of each trial to be the best,

        by the intervals of its stack, or of `stack`. `within`, such as "10%" or "hgx-h100=5%",
        replaces them.
        """
        widths = dict(read_within(text) for text in within)
        return odds_of(self.study, self.finished, widths, stack)

    def simulate(self, trial: int | None = None) -> Result:
        """Simulate the plan of a trial at its scale, exactly."""
        return simulate_point(self.study, self.finished, self._number(trial))

    def confirm(self, count: int = USUAL) -> list[Confirmed]:
        """Simulate the best trials of the front; see `confirmed.py`."""
        return confirm(self.study, self.finished, count)

    def report(self, path: str | os.PathLike[str], runs: Sequence[int] = ()) -> None:
        """Write the study's page: one file that opens offline.

        Points of the simulated trials `runs` open reports beside it.
        """
        page = os.fspath(path)
        dollar = next_dollar(self.study, self.number_of_best)
        reports = write_reports(self.study, self.finished, runs, page)
        write_text(page, study_page(self.study, self.finished, dollar, self.odds(), reports))

    def _number(self, trial: int | None) -> int:
        if trial is None:
            return self.number_of_best
        count = len(self.finished.trials)
        if not 0 <= trial < count:
            raise ConfigError("trial", expected_got(f"a trial from 0 to {count - 1}", trial))
        return trial

    def _table(self, name: str, numbers: list[int]) -> Table:
        trials = [self.finished.trials[number] for number in numbers]
        on_front = set(self.finished.front)

        def column(kind: Any, values: list[Any]) -> Column:
            return kind, lambda: values

        columns: dict[str, Column] = {
            "trial": column("whole", numbers),
            "cluster": column("text", [one["cluster"] for one in trials]),
            "ranks": column("whole", [one["ranks"] for one in trials]),
        }
        if len(self.study.stacks) > 1:
            columns["stack"] = column("text", [one["stack"] for one in trials])
        for rate in (rate for rate, _ in (*self.study.scale, *self.study.between)):
            columns[f"{rate} factor"] = column("real", [one["scale"][rate] for one in trials])
        for objective in OBJECTIVES:
            if objective != "ranks":
                columns[objective] = column("real", [_real(one.get(objective)) for one in trials])
        plans = [plan for one in trials if (plan := one.get("plan")) is not None]
        told = (name for name in (*FURTHER, *SWITCHES) if any(name in plan for plan in plans))
        for field in (*FIELDS, *told):
            columns[field] = column(*_field([one.get("plan") for one in trials], field))
        columns["on_front"] = column("whole", [int(number in on_front) for number in numbers])
        columns["broken"] = column("text", ["; ".join(one["broken"]) for one in trials])
        return Table(name, len(numbers), columns)

    def __repr__(self) -> str:
        trials = text.count(len(self.finished.trials), "trial")
        return f"<Explored {self.study.model}: {trials}, {len(self.finished.front)} on the front>"


def _field(plans: Sequence[Mapping[str, int] | None], name: str) -> tuple[Kind, list[Any]]:
    values = [None if plan is None else plan[name] for plan in plans]
    if name in NAMES:
        return "text", [None if value is None else NAMES[name][value] for value in values]
    return "whole", values


def _real(value: float | None) -> float | None:
    return None if value is None else float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(of) for key, of in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value
