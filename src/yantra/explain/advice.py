"""What to change, ranked by what a simulation says it gains: rates 10 % lower, 10 % higher, twice
and infinite, and other plans, compared by time per sequence.

Trade-off: one change at a time; combinations are for a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf
from typing import Any, NamedTuple

from yantra.base.errors import DeadlockError, UnsupportedError, YantraError
from yantra.base.text import Grid
from yantra.base.units import format_size
from yantra.compile import Model, compile, compile_like, compile_without
from yantra.compile.removal import bandwidth_of_dimension
from yantra.compile.templates import TemplateGraphs
from yantra.explain.parts import block
from yantra.result import Result
from yantra.run.removals import PEAK
from yantra.run.simulate import run
from yantra.run.verdict import fold_like
from yantra.scenario import Device, Dimension, Scenario, Templates
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

FACTORS = (0.9, 1.1, 2.0, inf)
_HEADS = ("-10 %", "+10 %", "x2", "infinite")
_SCHEDULES = ("zb-h1",)


class Rate(NamedTuple):
    """What a rate times FACTORS saves, as shares; None if it cannot run."""

    text: str
    gains: tuple[float | None, ...]


class Change(NamedTuple):
    """What another plan saves a sequence, as a share, and the memory of the fullest."""

    text: str
    gain: float
    memory_bytes: int
    fits: bool = True

    def memory(self) -> str:
        return format_size(self.memory_bytes) + ("" if self.fits else ", does not fit")


class Advice(NamedTuple):
    """Other rates and plans, largest gains first."""

    rates: tuple[Rate, ...]
    """Largest gain first."""
    changes: tuple[Change, ...]
    """Largest gain first."""

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "factors": list(_HEADS),
            "rates": [row._asdict() for row in self.rates],
            "plans": [row._asdict() for row in self.changes],
        }

    def text(self) -> str:
        """The tables."""
        heads = ("with another rate", *_HEADS)
        rates: list[tuple[str, ...]] = [(row.text, *map(_percent, row.gains)) for row in self.rates]
        changes: list[tuple[str, ...]] = [
            (row.text, _percent(row.gain), row.memory()) for row in self.changes
        ]
        blocks = [
            block("How much less time the run takes", Grid(heads, rates)),
            block(
                "How much less time a sequence takes",
                Grid(("with another plan", "less", "memory of a rank"), changes),
            ),
        ]
        tables = zip((rates, changes), blocks, strict=True)
        return "\n\n".join(text for rows, text in tables if rows)


def advice(result: Result) -> Advice:
    """What to change about a result's run, by runs of each change."""
    rates = sorted(_rates(result), key=lambda row: -(row.gains[FACTORS.index(2.0)] or 0))
    changes = sorted(_changes(result), key=lambda row: -row.gain)
    return Advice(tuple(rates), tuple(changes))


def in_words(data: Mapping[str, Any]) -> str:
    rates = (Rate(row["text"], tuple(row["gains"])) for row in data["rates"])
    return Advice(tuple(rates), tuple(Change(**row) for row in data["plans"])).text()


def _percent(gain: float | None) -> str:
    return "not run" if gain is None else f"{100 * gain:.1f} %"


def _rates(result: Result) -> Iterator[Rate]:
    scenario = result.model.scenario
    for text, cause, scaled in _scalings(scenario):
        models = (
            compile_without(result.model, {*result.model.without, cause})
            if factor == inf
            else compile_like(result.model, scaled(factor))
            for factor in FACTORS
        )
        yield Rate(text, tuple(_gain(result, model) for model in models))


def _scalings(scenario: Scenario) -> Iterator[tuple[str, str, Callable[[float], Scenario]]]:
    if PEAK.applies(scenario):
        for text, cause, rate in (
            ("peak performance", "peak", "peak_flops"),
            ("bandwidth of memory", "memory_bandwidth", "memory_bytes_per_s"),
        ):
            yield text, cause, partial(_of_devices, scenario, rate)
    for at, dimension in enumerate(scenario.topology.dimensions):

        def bandwidth(factor: float, at: int = at, of: Dimension = dimension) -> Scenario:
            faster = of.replace(bytes_per_ns=of.bytes_per_ns * factor)
            dimensions = [*scenario.topology.dimensions]
            dimensions[at] = faster
            return _over(scenario, dimensions)

        yield f"bandwidth of dimension {at}", bandwidth_of_dimension(at), bandwidth

    def latency(factor: float) -> Scenario:
        dimensions = scenario.topology.dimensions
        return _over(scenario, [d.replace(latency_ns=d.latency_ns / factor) for d in dimensions])

    yield "latency of links (its inverse)", "latency", latency


def _of_devices(scenario: Scenario, rate: str, factor: float) -> Scenario:
    def faster(device: Device) -> Device:
        return device.replace(**{rate: getattr(device, rate) * factor})

    parts = tuple(part.replace(device=faster(part.device)) for part in scenario.devices)
    return scenario.replace(device=faster(scenario.device), devices=parts)


def _over(scenario: Scenario, dimensions: list[Dimension]) -> Scenario:
    return scenario.replace(topology=scenario.topology.replace(dimensions=tuple(dimensions)))


def _gain(result: Result, model: Model) -> float | None:
    try:
        changed = run(model, fold=fold_like(result, model), like=result)
    except (DeadlockError, UnsupportedError):
        return None
    return 1 - changed.makespan_ns / result.makespan_ns if result.makespan_ns else 0.0


def _changes(result: Result) -> Iterator[Change]:
    graphs = result.model.graphs
    about = graphs.workload.about if isinstance(graphs, TemplateGraphs) else None
    if not isinstance(about, dict) or about.get("kind") != "training":
        return
    plan = Plan.of(about["plan"])
    for text, changed in _plans(plan):
        try:
            workload = train(about["model"], plan.replace(**changed), about["sequence"])
            model = compile(result.model.scenario.replace(workload=Templates(workload=workload)))
            other = run(model, fold=fold_like(result, model))
        except YantraError:  # an impossible plan, or a model that only its file describes
            continue
        batch = changed.get("global_batch", plan.global_batch)
        share = other.makespan_ns * plan.global_batch / (batch * result.makespan_ns)
        yield Change(text, 1 - share, _memory(workload), not model.lacks_memory)


def _plans(plan: Plan) -> Iterator[tuple[str, dict[str, Any]]]:
    for factor in (2, 4):
        batch = factor * plan.global_batch
        count = factor * plan.micro_batches
        yield f"{count} micro-batches (global batch {batch})", {"global_batch": batch}
    if plan.micro_batch > 1:
        half: dict[str, Any] = {"micro_batch": plan.micro_batch // 2}
        yield f"micro-batches of {plan.micro_batch // 2}", half
    if plan.pp > 1:
        for vpp in (2, 4):
            stages: dict[str, Any] = {"vpp": vpp, "schedule": "interleaved"}
            yield f"{vpp} virtual stages on a rank", stages
        for schedule in _SCHEDULES:
            yield f"schedule {schedule}", {"schedule": schedule, "vpp": 1}
    if plan.recompute != "none":
        yield "no recomputing", {"recompute": "none"}


def _memory(workload: Workload) -> int:
    return max(workload.peaks().values(), default=0)
