"""The passes in order: modules to a graph, micro-batches, updates, stages, steps."""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg.assembly import Assembly, Context, build
from yantra.workloads.importers.stg.expressions import Expression, number, symbol
from yantra.workloads.importers.stg.micro_batches import repeat
from yantra.workloads.importers.stg.models import DENSE, INFERENCE, MOE
from yantra.workloads.importers.stg.module import Library
from yantra.workloads.importers.stg.nodes import Step, steps_of
from yantra.workloads.importers.stg.settings import Settings
from yantra.workloads.importers.stg.stages import StageOf, equal_slices, slices_of, split
from yantra.workloads.importers.stg.units import Values
from yantra.workloads.importers.stg.updates import updates


class Program(NamedTuple):
    settings: Settings
    values: Values
    stages: dict[int, list[Step]]


def generate(settings: Settings, library: Library, assembly: Assembly | None = None) -> Program:
    values = Values(settings.values)
    model = assembly or assembly_of(settings)
    context = Context(library, values.symbols, _fixed(settings, model))
    graph = build(model, settings.num_stacks, context)
    if model.trains:
        graph = repeat(graph, settings.micro_batches)
        graph += updates(graph)
    stages = split(graph, _stage_of(settings))
    empty = set(range(settings.pp)) - set(stages.graphs)
    if empty:
        raise ConfigError("pp", f"expected every stage to have layers; stage {min(empty)} has none")
    if settings.units == "yantra":
        stages = stages._replace(graphs=dict(sorted(stages.graphs.items())))
    axes = [name for name, size in settings.axes if size > 1]
    return Program(settings, values, steps_of(stages, axes, values.is_zero))


def assembly_of(settings: Settings) -> Assembly:
    if settings.is_inference:
        return INFERENCE
    return MOE if settings.family == "moe" else DENSE


def _fixed(settings: Settings, model: Assembly) -> dict[str, Expression]:
    fixed = {"fsdp": symbol("dp") if settings.weight_sharded else number(1)}
    return fixed | {"Batch": symbol("MicroBatch")} if model.trains else fixed


def _stage_of(settings: Settings) -> StageOf:
    layers, pp = settings.num_stacks, settings.pp
    if settings.is_inference and settings.layer_each_stage is not None:
        return slices_of(settings.layer_each_stage, layers, pp)
    # Upstream puts the tail on a middle stage where the layers do not divide evenly.
    as_upstream = settings.units == "stg" and not settings.mixed_precision
    misplaced = as_upstream and settings.family != "own"
    return equal_slices(layers, pp, (layers - 1) % pp if misplaced else pp - 1)
