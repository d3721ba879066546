"""Compute models: how long kernels take on a device, one file each."""

from __future__ import annotations

from yantra.base.fields import PluginChoice, PluginField, made
from yantra.base.registry import Registry
from yantra.compute.model import ComputeModel

models: Registry[type[ComputeModel]] = Registry(
    "compute model", "yantra.compute", "yantra.compute_models", base=ComputeModel
)


def model_of(choice: PluginChoice, where: str | None = None) -> ComputeModel:
    """The model that a scenario chooses, with its options."""
    return made(models, choice, where)


FIELD = PluginField(models)
"""The field `compute` of a device."""
