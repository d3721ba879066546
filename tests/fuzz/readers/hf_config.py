"""Configs of Hugging Face models of every covered type, read and put together as blocks."""

from __future__ import annotations

import json

from tests.workloads.models.hf_configs import CONFIGS
from tests.workloads.models.test_hf_models import MODELS
from yantra.base.documents import parse_json
from yantra.base.errors import ConfigError
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.hf import from_config

FORM = "json"


def seeds() -> list[bytes]:
    configs = [*CONFIGS.values(), *(one["config"] for one in MODELS.values())]
    return [json.dumps(config).encode() for config in configs]


def read(data: bytes) -> object:
    tree, _ = parse_json(data.decode("utf-8", "replace"), "config.json")
    if not isinstance(tree, dict):
        raise ConfigError("config.json", "no object")
    return model_of(from_config(tree))
