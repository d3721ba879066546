"""`yantra.predict` and `yantra.plan`: how long a job takes on a cluster, and which plan is best.

    said = yantra.predict("llama3-70b", ranks=64, cluster="hgx-h100", tp=8, pp=4)
    said.time_s, said.interval_s, said.mfu
    yantra.plan("llama3-70b", ranks=64, cluster="hgx-h100", global_batch=128).best.plan

Answers equal those of `yantra run` and `yantra plan` to the bit. Trade-off: common questions; all
else is in `Prediction.result` and `Plans.answer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.notebook import progress_line
from yantra.run.simulate import simulate
from yantra.scenario.on_cluster import on_cluster

if TYPE_CHECKING:
    from yantra.base.documents import Path
    from yantra.explain import Explanation
    from yantra.explore.answers.best import Answer
    from yantra.explore.answers.ranked import Ranked
    from yantra.result import Result, Table
    from yantra.result.figures import Figures
    from yantra.result.table import Column


class Prediction:
    """What is predicted of a job; None if job or cluster does not state what it takes.

    Shows itself in notebooks; `result` has tables, plots, reports and exports.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        """The whole answer of the run."""

    @property
    def figures(self) -> Figures:
        """See `Result.figures`."""
        return self.result.figures

    @property
    def time_s(self) -> float:
        """The time of a step, or of the run, in s."""
        return (self.figures.step_time_ns or self.result.makespan_ns) / 1e9

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The 90 % interval of the time in s, or None."""
        low, high = self.figures.time_low_ns, self.figures.time_high_ns
        return None if low is None or high is None else (low / 1e9, high / 1e9)

    @property
    def rests_on(self) -> str | None:
        """What the time rests on: tables, collectives, the stack."""
        return self.figures.rests_on

    @property
    def mfu(self) -> float | None:
        """Model FLOPs over dense peak, 0 to 1."""
        return self.figures.mfu

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens of all ranks, per second."""
        return self.figures.tokens_per_s

    @property
    def memory_bytes(self) -> int | None:
        """The fullest rank's need, in bytes."""
        return self.figures.memory_need_bytes

    @property
    def cost_usd(self) -> float | None:
        """The cost of all devices for the run, in USD."""
        return self.figures.cost_usd

    @property
    def bound_by(self) -> str:
        """What bounds the run, in words."""
        return str(self.result.bound_by.text)

    def why(self) -> Explanation:
        """Return what takes the time, and each cause's cost, by runs without it."""
        from yantra.explain import explain

        return explain(self.result)

    @property
    def table(self) -> Table:
        """One row: the figures by name, times in ns."""
        from yantra.result import Table

        of = self.figures
        numbers = {
            "time_ns": self.time_s * 1e9,
            "time_low_ns": of.time_low_ns,
            "time_high_ns": of.time_high_ns,
            "mfu": of.mfu,
            "tokens_per_s": of.tokens_per_s,
            "cost_usd": of.cost_usd,
        }
        texts = {"bound_by": self.bound_by, "rests_on": self.rests_on}
        columns: dict[str, Column] = {name: _real(value) for name, value in numbers.items()}
        columns["memory_bytes"] = "whole", lambda: [of.memory_need_bytes]
        columns |= {name: _text(value) for name, value in texts.items()}
        return Table("prediction", 1, columns)

    def to_pandas(self) -> Any:
        """Return `table` as a `pandas.DataFrame`."""
        return self.table.to_pandas()

    def plot(self) -> Any:
        """Return a matplotlib figure: the time with its 90 % interval.

        Needs matplotlib. See also `result.plot`.
        """
        from yantra.export.intervals import bars

        ran = self.result.what_ran
        span = self.interval_s
        held = None if span is None else (span[0] * 1e9, span[1] * 1e9)
        name = str(self.result.model.scenario.machine.name or "")
        return bars([name], [self.time_s * 1e9], [held], ran.short if ran else "")

    def __repr__(self) -> str:
        return self.result.summary()

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


@progress_line("step")
def predict(
    model: Path,
    *,
    ranks: int,
    cluster: str,
    stack: str | None = None,
    sequence: int | None = None,
    **plan: Any,
) -> Prediction:
    """Predict a training step of a model, by name or file, on a cluster.

    `plan` has fields as `yantra workload train` (tp, pp, global_batch, ...); remaining ranks are
    replicas. `stack` says at which speeds, `sequence` is in tokens. Raises ConfigError for what
    does not fit, CapacityError for memory.
    """
    workload: dict[str, Any] = {"model": str(model), "plan": plan | {"ranks": ranks}}
    if sequence is not None:
        workload["sequence"] = sequence
    return Prediction(simulate(on_cluster(workload, cluster, stack=stack)))


def _real(value: float | None) -> Column:
    return "real", lambda: [value]


def _text(value: str | None) -> Column:
    return "text", lambda: [value]


class Plans:
    """The best plans of a search, fastest first."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        """What the search found, and what it judged."""

    @property
    def plans(self) -> tuple[Ranked, ...]:
        """The plans with time, interval, chance to win, memory and cost."""
        return self.answer.ranked

    @property
    def best(self) -> Ranked:
        """The fastest plan."""
        return self.answer.ranked[0]

    @property
    def table(self) -> Table:
        """A row per plan: times in ns with intervals, figures, fields."""
        from yantra.explore.answers.views import table

        return table(self.answer)

    def to_pandas(self) -> Any:
        """Return `table` as a `pandas.DataFrame`."""
        return self.table.to_pandas()

    def plot(self) -> Any:
        """Return a matplotlib figure: each plan's time with its 90 % interval.

        Needs matplotlib.
        """
        from yantra.explore.answers.views import figure

        return figure(self.answer)

    def __repr__(self) -> str:
        from yantra.explore.answers.words import lines

        return "\n".join(lines(self.answer))

    def _repr_html_(self) -> str:
        from yantra.explore.answers.views import html

        return html(self.answer)


def plan(
    model: Path,
    *,
    ranks: int | None = None,
    cluster: str,
    global_batch: int,
    stack: str | None = None,
    top: int = 5,
    budget_usd_per_h: float | None = None,
    power_w: float | None = None,
    **choices: Any,
) -> Plans:
    """Return the best plans of a training job on a cluster.

    A budget in USD/h or a power in W may replace `ranks`.

    `choices` bound the search as options of `yantra plan`: allowed values by field (`tp=(4, 8)`,
    `schedule=("1f1b",)`), `sequence`, `dtype`. `stack` says at which speeds. Raises ConfigError if
    no plan is legal, CapacityError if none fits.
    """
    from yantra.base.errors import ConfigError
    from yantra.explore.answers.best import best_plans
    from yantra.explore.answers.refine import REFINED
    from yantra.explore.answers.runner import Shared
    from yantra.explore.answers.sizes import sized
    from yantra.explore.closed_form.on_stack import check_stack
    from yantra.explore.closed_form.space import PlanSpace
    from yantra.fabric.clusters import load
    from yantra.fabric.stacks.choice import DEFAULT
    from yantra.fabric.stacks.find import of_kind
    from yantra.workloads.models.catalogue import find
    from yantra.workloads.models.experts import experts_of

    chosen = stack or DEFAULT
    check_stack(chosen, "stack")
    others = {name: choices.pop(name) for name in REFINED if name in choices}
    space = PlanSpace(ranks=1 if ranks is None else ranks, global_batch=global_batch, **choices)
    described, machine = find(str(model)), load(cluster)
    chosen = of_kind(chosen, experts_of(described) is not None)
    shared = Shared(described, space.sequence, space.held)
    is_bounded = budget_usd_per_h is not None or power_w is not None
    if is_bounded == (ranks is not None):
        raise ConfigError("ranks", "give ranks, or in their place a budget, a power or both")
    if is_bounded:
        limits = {"usd_per_h": budget_usd_per_h, "power_w": power_w}
        space = sized(described, machine, space, shared.works, chosen, **limits)
    given: dict[str, Any] = {"top": top, "shared": shared, "stack": chosen, "others": others}
    with progress_line("plans") as tell:
        return Plans(best_plans(described, machine, space, tell=tell, **given))
