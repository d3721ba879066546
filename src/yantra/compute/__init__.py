"""Compute models: how long kernels take on a device, one file each. Nothing of order in here."""

from __future__ import annotations

from yantra.compute.model import ComputeModel
from yantra.fields import PluginChoice, PluginField, kind_of, options_of
from yantra.registry import Registry

models: Registry[type[ComputeModel]] = Registry(
    "compute model", "yantra.compute", "yantra.compute_models", base=ComputeModel
)


def find(kind: str | type, where: str | None = None) -> type[ComputeModel]:
    """Return the class of a name, of a file or a class itself; else ConfigError at `where`."""
    return models.get(kind, where)


def model_of(choice: PluginChoice, where: str | None = None) -> ComputeModel:
    """Return the model that a scenario chooses, with its options."""
    model = find(kind_of(choice), where)
    return model(options_of(choice, model.options, where or models.kind))


FIELD = PluginField("compute model", models.names, find, models)
"""The field `compute` of a device."""
