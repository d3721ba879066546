"""Where modules come from: a checkout of STG or STAGE, your own folder, or the built-in ones.

Source: astra-sim/stage@9ec6c02.
"""

from __future__ import annotations

import os
from functools import cache

from yantra.base.errors import ConfigError, did_you_mean
from yantra.workloads.importers.stg.module import Library, Module
from yantra.workloads.importers.stg.settings import Settings
from yantra.workloads.importers.stg.sheets import read_module


def sheets_of(folder: str, settings: Settings) -> Library:
    if not os.path.isdir(folder):
        raise ConfigError(folder, "expected the folder of spreadsheets, got no folder")
    own, attention = folder, folder
    roots = (
        () if settings.family == "own" else (folder, os.path.join(folder, "sharding_spreadsheets"))
    )
    for root in roots:
        of_model, of_attention = _folders(settings)
        if os.path.isdir(os.path.join(root, of_model)):
            own, attention = os.path.join(root, of_model), os.path.join(root, of_attention)

    @cache
    def module(name: str) -> Module:
        return _read_in(attention if name.startswith("group_query") else own, name)

    return module


def _folders(settings: Settings) -> tuple[str, str]:
    if settings.is_inference:
        sharded = "_fully_sharded" if settings.weight_sharded else ""
        folder = f"module/{settings.model_type}{sharded}_fullset"
        return folder, folder
    if settings.family == "moe":
        return "module3/tpsp_moe", "module3/tpsp"
    if settings.family == "llama" and not settings.splits_sequence:
        problem = "there are no sheets of llama without it; the built-in modules have it"
        raise ConfigError("tpsp", f"{problem} (leave out --sheets)")
    folder = "module3/tpsp" if settings.splits_sequence else "module3/tp"
    if settings.family == "gpt":
        folder += "_gpt"
    return folder, folder


def _read_in(folder: str, name: str) -> Module:
    path = os.path.join(folder, f"{name}.csv")
    if not os.path.isfile(path):
        there = sorted(f[:-4] for f in os.listdir(folder) if f.endswith(".csv"))
        hint = did_you_mean(name, there) or f"; there are {', '.join(there) or 'no tables'}"
        raise ConfigError(folder, f"expected the table {name}.csv{hint}")
    return read_module(path)
