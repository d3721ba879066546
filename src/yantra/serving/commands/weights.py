"""Checkpoints by their ids: which model, and in which type its weights were published.

Sources: the cards of the checkpoints; DeepSeek and Qwen publish blocks of 128 in 8 bits.
"""

from __future__ import annotations

import re
from os import path as paths

from yantra.base.errors import ConfigError
from yantra.workloads.models.model import Model

_BLOCKS = re.compile(r"deepseek-ai/DeepSeek-(V3|R1)|Qwen/.*-FP8$|zai-org/.*-FP8$")
_EIGHT = re.compile(r"-FP8(-dynamic|-KV)?$", re.IGNORECASE)
_FOUR = re.compile(r"-(NV)?FP4(-v\d)?$", re.IGNORECASE)


def type_of(model: str) -> str:
    """The type of a published checkpoint by its id; empty where it has 16 bits."""
    if _BLOCKS.match(model):
        return "fp8_block"
    return "fp8" if _EIGHT.search(model) else "nvfp4" if _FOUR.search(model) else ""


def id_of(model: str) -> str:
    """The id of a model's published checkpoint; a file's folder; else the name as given."""
    from yantra.workloads.models import catalogue, zoo

    if not catalogue.is_known(model):
        return paths.dirname(model) if model.endswith("config.json") else model
    found = re.search(r"([\w.-]+/[\w.-]+) config\.json", zoo.get(model).source)
    return found[1] if found else model


def model_of(model: str, where: str) -> str | Model:
    """The name, file or sizes of a checkpoint's model. Raises ConfigError."""
    from yantra.workloads.frameworks.checkpoints import sizes_of_id
    from yantra.workloads.models import catalogue
    from yantra.workloads.models.assemble import model_of as built

    beside = paths.join(paths.dirname(where), model)
    if paths.isfile(paths.join(beside, "config.json")):
        return beside
    plain = _FOUR.sub("", _EIGHT.sub("", model))
    if catalogue.is_known(plain):
        return plain
    if (sizes := sizes_of_id(plain)) is not None:
        return sizes.name if catalogue.is_known(sizes.name) else built(sizes)
    try:
        catalogue.described(model, "model")
    except ConfigError as error:
        raise ConfigError(where, f"{error}, or give it with --model") from None
    return model
