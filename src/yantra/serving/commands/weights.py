"""Checkpoints by their ids: which model, and in which type its weights were published."""

from __future__ import annotations

import re
from os import path as paths

from yantra.base.errors import ConfigError
from yantra.workloads.models import hub, zoo
from yantra.workloads.models.model import Model


def type_of(model: str, where: str = "model") -> str:
    """The type of a published checkpoint by its id; empty where it has 16 bits.

    Raises ConfigError for one that is not modelled.
    """
    plain, dtype = hub.stored(model, where)
    known = None if dtype else hub.find(plain, of_any_owner=True)
    return "" if dtype == "bf16" else dtype or (known.stored if known else "")


def id_of(model: str) -> str:
    """The id of a model's published checkpoint; a file's folder; else the name as given."""
    from yantra.workloads.models import catalogue

    if not catalogue.is_known(model):
        return paths.dirname(model) if model.endswith("config.json") else model
    found = re.search(r"([\w.-]+/[\w.-]+) config\.json", catalogue.described(model).source)
    return found[1] if found else model


def model_of(model: str, where: str) -> str | Model:
    """The name, file or sizes of a checkpoint's model. Raises ConfigError."""
    from yantra.workloads.frameworks.checkpoints import named_in
    from yantra.workloads.models import catalogue

    beside = paths.join(paths.dirname(where), model)
    if paths.isfile(paths.join(beside, "config.json")):
        return beside
    plain = hub.stored(model, where).id
    if zoo.is_known(plain):
        return plain
    if (known := named_in(plain, where)) is not None:
        return known.model.name
    try:
        catalogue.described(model, "model")
    except ConfigError as error:
        raise ConfigError(where, f"{error}, or give it with --model") from None
    return model
