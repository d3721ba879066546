"""A training job as the user gives it: a model, a plan, a sequence length; also as a file.

    model: llama3-70b
    sequence: 8192
    plan: {tp: 8, pp: 8, dp: 16, global_batch: 1024, zero: 1}

What says the same in other programs' words is read too (`names.py`, `model_names.py`). What is
given later covers what was given before: Megatron-LM's arguments, then a job file, then flags. A
job that is written names the model as it was given and every field of the plan.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.documents import Path
from yantra.errors import ConfigError, did_you_mean, expected_got
from yantra.workloads import model_names, names
from yantra.workloads.plan import Plan
from yantra.workloads.transformer import Transformer

SOURCES = ("name", "hf_config", "megatron_args", "file")
"""How a model is given: by its name, or by a file of one of three kinds."""
_PYTHON = ".py"
ENDINGS = (".yaml", ".yml", ".json")
"""Of a file that lists the operations of a schedule."""


class Request(NamedTuple):
    """What was said so far: the model's source and other sizes, the plan's fields by any name."""

    source: tuple[str, str] | None = None
    sizes: Mapping[str, Any] = {}
    plan: Mapping[str, Any] = {}
    sequence: int | None = None

    def over(self, lower: Request) -> Request:
        """Return both; what `lower` says counts where this says nothing."""
        return Request(
            self.source or lower.source,
            self.sizes if self.source else {**lower.sizes, **self.sizes},
            names.over(lower.plan, self.plan),
            lower.sequence if self.sequence is None else self.sequence,
        )


class TrainingJob(NamedTuple):
    """A model, a plan and a sequence length in tokens that are ready to be made a workload of."""

    model: Any
    plan: Plan
    sequence: int
    request: Request
    notes: tuple[str, ...] = ()


def resolve(request: Request) -> TrainingJob:
    """Return the job of a request; raises ConfigError for what is missing, unknown or wrong."""
    model, request, notes = _model(request)
    plan = Plan.of(request.plan)
    sequence = request.sequence
    if sequence is None:
        sequence = model.seq_length if isinstance(model, Transformer) else model.sequence
    if not isinstance(sequence, int) or isinstance(sequence, bool) or sequence < 1:
        raise ConfigError("sequence", expected_got("a whole number of at least 1", sequence))
    return TrainingJob(model, plan, sequence, request, notes)


def _model(request: Request) -> tuple[Any, Request, tuple[str, ...]]:
    """Return the model, the request with what its source says about the plan, and notes."""
    if request.source is None:
        return model_names.custom(request.sizes, request.sequence), request, ()
    kind, value = request.source
    if kind == "megatron_args":
        from yantra.workloads import megatron

        job = megatron.load(value)
        request = request.over(Request(plan=job.plan))
        return model_names.changed(job.model, request.sizes), request, job.model.notes
    model = _loaded(kind, value)
    if not isinstance(model, Transformer):
        if request.sizes:
            first = next(iter(request.sizes))
            raise ConfigError(first, f"{value} gives blocks, whose sizes stand in that file")
        return model, request, ()
    return model_names.changed(model, request.sizes), request, model.notes


def _loaded(kind: str, value: str) -> Any:
    if kind == "hf_config":
        from yantra.workloads import hf

        return hf.load(value)
    if kind == "file":
        return _of_python(value)
    from yantra.workloads import zoo

    return zoo.find(value)


def _of_python(path: str) -> Any:
    """Return the model that a Python file ends with: `PLUGIN = model`, or a tuple of one."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("model_of_file", path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise ConfigError(path, "no such file; expected a Python file, or a name without .py")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        problem = f"cannot be run: {type(error).__name__}: {error}"
        raise ConfigError(path, problem) from None
    given = getattr(module, "PLUGIN", None)
    models = given if isinstance(given, tuple) else (given,)
    if len(models) == 1 and (isinstance(models[0], Transformer) or hasattr(models[0], "layers")):
        return models[0]
    raise ConfigError(path, "gives no model; expected a line PLUGIN = <a model>")


def source_of(text: str) -> tuple[str, str]:
    """Return the source that `--model` means: the path of a Python file, or a name."""
    return ("file" if text.endswith(_PYTHON) else "name", text)


def read(path: Path) -> Request:
    """Read a job file, YAML or JSON; its paths are relative to its folder. Raises ConfigError."""
    from yantra.documents import parse_yaml, read_text

    where = os.fspath(path)
    tree = parse_yaml(read_text(path), where)
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("the keys model, sequence and plan", tree))
    known = ("model", "plan", *names.SEQUENCE_NAMES)
    sequences = [key for key in tree if key in names.SEQUENCE_NAMES]
    for key in tree:
        if key not in known:
            hint = did_you_mean(key, known) or "; expected model, sequence, plan"
            raise ConfigError(f"{where}: {key}", f"unknown key{hint}")
    if len(sequences) > 1:
        raise ConfigError(f"{where}: {sequences[1]}", f"says what {sequences[0]} says; give one")
    plan = tree.get("plan", {})
    if not isinstance(plan, dict):
        raise ConfigError(f"{where}: plan", expected_got("fields of a plan", plan))
    if _is_listed(plan.get("schedule")):
        plan["schedule"] = _beside(where, plan["schedule"])
    source, sizes = _source(tree.get("model"), where)
    sequence = tree[sequences[0]] if sequences else None
    return Request(source, sizes, plan, sequence)


def _source(tree: Any, where: str) -> tuple[tuple[str, str] | None, dict[str, Any]]:
    """Return the source of a job file's model and the sizes that it changes."""
    if tree is None:
        return None, {}
    if isinstance(tree, str):
        kind, value = source_of(tree)
        return (kind, _beside(where, value) if kind == "file" else value), {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{where}: model", expected_got("a name, or a mapping", tree))
    given = [key for key in tree if key in SOURCES]
    sizes = {key: value for key, value in tree.items() if key not in SOURCES}
    if len(given) > 1:
        problem = f"{given[1]} and {given[0]} both say which model; give one"
        raise ConfigError(f"{where}: model", problem)
    if not given:
        return None, sizes
    value = tree[given[0]]
    if not isinstance(value, str):
        raise ConfigError(f"{where}: model.{given[0]}", expected_got("a text", value))
    return (given[0], value if given[0] == "name" else _beside(where, value)), sizes


def _is_listed(schedule: object) -> bool:
    """Return whether a schedule is a file that lists its operations."""
    return isinstance(schedule, str) and schedule.endswith(ENDINGS)


def _beside(where: str, path: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(where), path))


def write(path: Path, job: TrainingJob) -> None:
    """Write a job file that gives the same job: the model's source and the whole plan."""
    from yantra.output import write_text

    write_text(path, text_of(job, os.path.dirname(os.fspath(path))))


def text_of(job: TrainingJob, folder: str = "") -> str:
    """Return the text of a job file in `folder`."""

    model: dict[str, Any] = model_names.sizes_of(job.request.sizes)
    if job.request.source is not None:
        kind, value = job.request.source
        if kind != "name":
            value = os.path.relpath(value, folder or ".")
        model = {kind: value, **model}
    plan = {field: value for field, value in vars(job.plan).items() if value is not None}
    if _is_listed(job.plan.schedule):
        plan["schedule"] = os.path.relpath(job.plan.schedule, folder or ".")
    lines = ["model:", *_lines(model), f"sequence: {job.sequence}", "plan:", *_lines(plan)]
    return "\n".join(lines) + "\n"


def _lines(fields: Mapping[str, Any]) -> list[str]:
    from json import dumps

    return [f"  {name}: {dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
