"""`yantra.predict` and `yantra.plan`: how long a job takes on a cluster, and which plan is best.

    said = yantra.predict("llama3-70b", ranks=64, cluster="hgx-h100", tp=8, pp=4)
    said.time_s, said.interval_s, said.mfu
    yantra.plan("llama3-70b", ranks=64, cluster="hgx-h100", global_batch=128).best.plan

The scenario is that of `yantra run` on the same job, and the search that of `yantra plan`, so the
answers are the same to the bit. Trade-off: what people ask first; all else is in
`Prediction.result` and `Plans.answer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    """What is predicted of a job; None where the job or the cluster does not state what it takes.

    In a notebook it shows itself; `to_pandas` and `plot` have it as a frame and a figure, and
    `result` has tables, plots, reports and exports.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        """The whole answer of the run."""

    @property
    def figures(self) -> Figures:
        """All figures, by name."""
        return self.result.figures

    @property
    def time_s(self) -> float:
        """The time of a step, or of the run where it is no step, in s."""
        return (self.figures.step_time_ns or self.result.makespan_ns) / 1e9

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The times between which 90 of 100 such jobs are, in s; None where nothing says it."""
        low, high = self.figures.time_low_ns, self.figures.time_high_ns
        return None if low is None or high is None else (low / 1e9, high / 1e9)

    @property
    def rests_on(self) -> str | None:
        """What the time rests on: tables, collectives, the stack."""
        return self.figures.rests_on

    @property
    def mfu(self) -> float | None:
        """Model FLOPs over those of the dense peak, 0 to 1."""
        return self.figures.mfu

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens of all ranks, per second."""
        return self.figures.tokens_per_s

    @property
    def memory_bytes(self) -> int | None:
        """What the fullest rank needs, in bytes."""
        return self.figures.memory_need_bytes

    @property
    def cost_usd(self) -> float | None:
        """What all devices cost for the run, in USD."""
        return self.figures.cost_usd

    @property
    def bound_by(self) -> str:
        """What bounds the run, in words."""
        return str(self.result.bound_by.text)

    def why(self) -> Explanation:
        """Return what takes the time, and what each cause costs; it runs the job without each."""
        from yantra.explain import explain

        return explain(self.result)

    @property
    def table(self) -> Table:
        """One row: the figures above by name, times in ns, what is not known missing."""
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
        """Return the row of `table` as a `pandas.DataFrame`; needs pandas."""
        return self.table.to_pandas()

    def plot(self) -> Any:
        """Return a figure of matplotlib: the time, with its 90 % interval.

        Needs `pip install 'yantra[plots]'`. `result.plot` has other figures.
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


def predict(
    model: Path,
    *,
    ranks: int,
    cluster: str,
    stack: str | None = None,
    sequence: int | None = None,
    **plan: Any,
) -> Prediction:
    """Predict a training step of a model, by name or file, on so many ranks of a cluster.

    `plan` has fields of a plan as `yantra workload train` takes them (tp, pp, global_batch, ...);
    what is left of the ranks are replicas. `stack` says at which speeds, `sequence` how many tokens
    a sequence has. Raises ConfigError for what does not fit, and CapacityError for memory.
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
    """The best plans of a search, the fastest first; in a notebook they show themselves.

    `to_pandas` and `plot` have them as a frame and a figure.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        """What the search found, and what it judged."""

    @property
    def plans(self) -> tuple[Ranked, ...]:
        """The plans with time, interval and chance to win, memory and cost."""
        return self.answer.ranked

    @property
    def best(self) -> Ranked:
        """The fastest plan."""
        return self.answer.ranked[0]

    @property
    def table(self) -> Table:
        """A row for each plan: times in ns with their interval, figures, and the plan's fields."""
        from yantra.explore.answers.views import table

        return table(self.answer)

    def to_pandas(self) -> Any:
        """Return the rows of `table` as a `pandas.DataFrame`; needs pandas."""
        return self.table.to_pandas()

    def plot(self) -> Any:
        """Return a figure of matplotlib: the time of each plan, with its 90 % interval.

        Needs `pip install 'yantra[plots]'`.
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
    """Return the best plans of a training job on so many ranks of a cluster.

    In place of `ranks` a budget in USD/h or a power in W says how many they may be.

    `choices` bound the search as the options of `yantra plan` do: each field of a plan with the
    values that it may have (`tp=(4, 8)`, `schedule=("1f1b",)`), `sequence`, `dtype`. `stack` says
    at which speeds.
    Raises ConfigError where no plan is legal, and CapacityError where none fits.
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
    from yantra.workloads.models.catalogue import find

    chosen = stack or DEFAULT
    check_stack(chosen, "stack")
    others = {name: choices.pop(name) for name in REFINED if name in choices}
    space = PlanSpace(ranks=1 if ranks is None else ranks, global_batch=global_batch, **choices)
    described, machine = find(str(model)), load(cluster)
    shared = Shared(described, space.sequence, space.adapters)
    is_bounded = budget_usd_per_h is not None or power_w is not None
    if is_bounded == (ranks is not None):
        raise ConfigError("ranks", "give ranks, or in their place a budget, a power or both")
    if is_bounded:
        limits = {"usd_per_h": budget_usd_per_h, "power_w": power_w}
        space = sized(described, machine, space, shared.works, chosen, **limits)
    found = best_plans(
        described, machine, space, top=top, shared=shared, stack=chosen, others=others
    )
    return Plans(found)
