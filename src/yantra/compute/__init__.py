"""Compute models: how long kernels take on a device, one file each. Nothing of order in here."""

from __future__ import annotations

from yantra.compute.model import ComputeModel
from yantra.errors import ConfigError
from yantra.fields import PluginChoice, PluginField, kind_of, options_of
from yantra.registry import Registry

models: Registry[type[ComputeModel]] = Registry(
    "compute model", "yantra.compute", "yantra.compute_models"
)


def find(kind: str | type, where: str | None = None) -> type[ComputeModel]:
    """Return the class of a name, or a class as it is; else ConfigError at the field `where`."""
    where = where or models.kind
    if not isinstance(kind, type):
        return models.get(kind, where)
    if not issubclass(kind, ComputeModel):
        raise ConfigError(where, f"expected a ComputeModel class, got {kind.__name__}")
    return kind


def model_of(choice: PluginChoice, where: str | None = None) -> ComputeModel:
    """Return the model that a scenario chooses, with its options."""
    model = find(kind_of(choice), where)
    return model(options_of(choice, model.options, where or models.kind))


FIELD = PluginField("compute model", models.names, find)
"""The field `compute` of a device."""
