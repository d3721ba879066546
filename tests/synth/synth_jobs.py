"""Jobs of the workload generator, small enough to draw many."""

from __future__ import annotations

from functools import cache

from yantra.synth.observe import Observed, observed
from yantra.synth.settings import Settings
from yantra.workloads.models import catalogue
from yantra.workloads.models.assemble import model_of
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train


@cache
def made(model: str, settings: Settings) -> Workload:
    described = catalogue.described(model).replace(num_layers=settings.layers)
    return train(model_of(described), settings.plan, settings.sequence)


def seen(model: str, settings: Settings) -> Observed:
    return observed(made(model, settings), model)
