"""Makes the workload of a recipe that nothing is timed for: generator, inference, STG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.library.families import Recipe
from yantra.workloads.templates import Workload

_OF_INFERENCE = ("phase", "batch", "prompt", "context", "prompts", "iterations",
                 "max_num_batched_tokens", "transfer")  # fmt: skip


class Made(NamedTuple):
    """A workload; `facts` are what it does not say itself: sizes of the model, tags."""

    workload: Workload
    facts: Mapping[str, int]
    tags: tuple[str, ...]


def made(recipe: Recipe) -> Made:
    """Raises ConfigError, naming the recipe."""
    try:
        return _MAKERS[recipe.makes](recipe)
    except ConfigError as error:
        raise type(error)(f"{recipe.name}: {error.where}", error.problem) from None


def _train(recipe: Recipe) -> Made:
    from os import path as paths

    from yantra.workloads import job_file
    from yantra.workloads.training.train import train

    request = job_file.request_of(dict(recipe.settings), "job", paths.dirname(recipe.file))
    job = job_file.resolve(request)
    plan = job.plan
    workload = train(job.model, plan, job.sequence, framework=job.framework)
    kept = workload.about["plan"]
    batch = kept.get("global_batch") or kept["micro_batch"] * kept["dp"]
    tags = ("training", *_words(job.model, request.source), *(("fsdp",) if plan.zero == 3 else ()))
    if job.framework:
        tags += (job.framework.lower(),)
    return Made(workload, _sizes(job.model) | {"sequence": job.sequence, "batch": batch}, tags)


def _infer(recipe: Recipe) -> Made:
    from yantra.workloads.models.catalogue import find
    from yantra.workloads.serving import InferencePlan, infer

    given = dict(recipe.settings)
    name = given.pop("model", None)
    if not isinstance(name, str):
        raise ConfigError("model", expected_got("a name such as llama3-8b", name))
    model = find(name, "model")
    plans = {key: InferencePlan.of(given.pop(key, {})) for key in ("plan", "decode_plan")
             if key != "decode_plan" or key in given}  # fmt: skip
    for key in given:
        if key not in _OF_INFERENCE:
            raise ConfigError(key, f"unknown key{did_you_mean(key, _OF_INFERENCE)}")
    workload = infer(model, plans["plan"], decode_plan=plans.get("decode_plan"), **given)
    sequence = given.get("prompt") or given.get("context") or model.sequence
    tags = ("inference", given.get("phase", "prefill"), *_words(model, ("name", name)))
    facts = {"sequence": sequence, "batch": workload.about.get("batch", 1)}
    return Made(workload, _sizes(model) | facts, tags)


def _stg(recipe: Recipe) -> Made:
    from yantra.workloads.importers.stg import Settings, from_stg

    for key in recipe.settings:
        if key not in Settings.field_names:
            raise ConfigError(key, f"unknown key{did_you_mean(key, Settings.field_names)}")
    settings = Settings(**recipe.settings)
    phase = {"prefilling": "prefill", "decoding": "decode"}.get(settings.model_type)
    tags = ("stg", *(("inference", phase) if phase else ("training",)))
    tags += ("moe",) if settings.model_type == "moe" else ()
    tags += (settings.model_type,)
    facts = {"layers": settings.num_stacks, "hidden": settings.dmodel, "parameters": 0,
             "sequence": settings.seq, "batch": settings.batch}  # fmt: skip
    return Made(from_stg(settings), facts, tags)


_MAKERS = {"train": _train, "infer": _infer, "stg": _stg}


def _sizes(model: Any) -> dict[str, int]:
    sizes = {"layers": len(getattr(model, "layers", ())), "hidden": getattr(model, "hidden", 0)}
    return sizes | {"parameters": model.parameters()}


def _words(model: Any, source: tuple[str, str] | None) -> tuple[str, ...]:
    from yantra.workloads.models.experts import experts_a_token

    name = () if source is None else (source[1],)
    return (*name, "moe") if experts_a_token(model) else name
