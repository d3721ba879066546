"""Throughput at saturation against TensorRT-LLM's own table, where it is beside the repository.

A steady state: of B sequences each iteration emits one token of all and takes B / output prompts;
the B that fits the cache with the highest rate counts. Host terms are fitted on the other models.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.fabric import clusters
from yantra.serving.iteration import Batch, Predictor
from yantra.workloads.models.catalogue import find
from yantra.workloads.serving import InferencePlan
from yantra.workloads.serving.kv_cache import token_bytes
from yantra.workloads.serving.stages import Stages

ROOT = Path(__file__).resolve().parents[3]
ROWS = ROOT.parent / "shared" / "measurements" / "more" / "serving_trtllm_throughput.csv"
CLUSTERS = {"H100": "hgx-h100", "H200": "hgx-h200", "B200": "hgx-b200", "GB200": "gb200-nvl72"}
NAMES = {
    "DeepSeek-R1": "deepseek-v3",
    "Qwen3 235B A22B": "qwen3-235b-a22b",
    "Qwen3 30B A3B": "qwen3-30b-a3b",
    "Llama 3.3 70B": "llama3-70b",
}
HOST = {
    # seconds an iteration, and a sequence of it, of the fit on the other models
    "DeepSeek-R1": (1.0e-3, 12e-6),
    "GPT-OSS 120B": (2.0e-3, 6e-6),
    "GPT-OSS 20B": (1.0e-3, 14e-6),
    "Llama 3.3 70B": (1.5e-3, 12e-6),
    "Qwen3 235B A22B": (0.5e-3, 12e-6),
    "Qwen3 30B A3B": (2.0e-3, 6e-6),
}
SHARE, CONTEXT_BYTES, FULLER = 0.9, 4e9, 1.15
"""Of the memory; beside weights and cache; staggered sequences hold less than their last length."""


def model_of(name: str) -> Any:
    return find(NAMES.get(name) or f"openai/{name.lower().replace(' ', '-')}")


@cache
def served(name: str, gpu: str, parallel: str, dtype: str) -> tuple[Any, Any, float]:
    model, ranks = model_of(name), int(parallel.lstrip("DEPT"))
    kind: Any = {"fp8": "fp8", "fp4": "nvfp4"}[dtype]
    kind = "fp8_block" if (name, kind) == ("DeepSeek-R1", "fp8") else kind
    ways = {"dp": ranks, "ep": ranks} if parallel.startswith("DEP") else {"tp": ranks}
    plan = InferencePlan(dtype=kind, kv_cache_dtype="fp8", **ways)
    most = {"max_tokens": 65_536, "max_sequences": 8192, "max_context": 65_536}
    predictor = Predictor(model, CLUSTERS[gpu], plan, engine="trtllm", **most)
    stages = Stages(model, plan)
    free = clusters.load(CLUSTERS[gpu]).usable_bytes * SHARE
    free -= stages.weight_bytes(0) + CONTEXT_BYTES
    return predictor, plan, free / token_bytes(stages.caches_of(0), plan.tp)


def rate(row: dict[str, str]) -> float:
    """Output tokens a second of a GPU."""
    keys = ("model", "gpu", "parallel", "dtype")
    predictor, plan, room = served(*(row[key] for key in keys))
    isl, osl = int(row["isl"]), int(row["osl"])
    an_iteration, a_sequence = HOST[row["model"]]
    best = 0.0
    for number in np.unique(np.geomspace(1, 4096, 60).astype(int)).tolist():
        prompts = number / osl
        if number * (isl + osl) > FULLER * room or number + (prompts + 1) * isl > 60_000:
            break
        whole = int(prompts)
        few, more = (
            sum(
                part
                for name, part in predictor.iteration(
                    Batch(number, int(number * (isl + osl / 2)), ((isl, 0),) * at, number + at)
                ).parts.items()
                if name != "host"
            )
            for at in (whole, whole + 1)
        )
        seconds = few + (more - few) * (prompts - whole)
        seconds += an_iteration + a_sequence * (number + prompts)
        best = max(best, number / seconds / plan.tp)
    return best


@pytest.mark.slow
@pytest.mark.skipif(not ROWS.exists(), reason="the measured rows are not here")
def test_throughput_at_saturation_held_out_by_model() -> None:
    """86 rows of 6 models: median error 11.9 %, mean 15.3 %, bias 7.4 %.

    Without GPT-OSS on Hopper, whose 4-bit experts run kernels that no table has.
    """
    rows = list(csv.DictReader(ROWS.read_text().splitlines()))
    errors = [
        rate(row) / float(row["output_tokens_per_s_per_gpu"]) - 1
        for row in rows
        if not ("GPT-OSS" in row["model"] and row["gpu"] in ("H100", "H200"))
    ]
    assert len(errors) == 86
    assert np.median(np.abs(errors)) <= 0.15
    assert abs(np.mean(errors)) <= 0.08
