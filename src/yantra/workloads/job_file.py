"""A training job as the user gives it: a model, a plan, a sequence length; also as a file.

Words of other programs are read too (`names.py`, `description.py`). Later sources override earlier
ones: Megatron-LM's arguments, the job file, flags.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.base import trust
from yantra.base.documents import Path
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.open_values import Open
from yantra.workloads.models import catalogue, description
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan import names
from yantra.workloads.plan.plan import Plan

SOURCES = ("name", "hf_config", "megatron_args", "bridge_config", "file")
"""How a model is given: by name, or by one of four kinds of file."""
_FILES = (".py", ".json", ".yaml", ".yml")
_FRAMEWORKS = {"megatron_args": "Megatron-LM", "bridge_config": "Megatron-Bridge"}
ENDINGS = (".yaml", ".yml", ".json", ".py")
"""Of schedule files: a list of operations, or a plug-in."""


class Request(NamedTuple):
    source: tuple[str, str] | None = None
    sizes: Mapping[str, Any] = {}
    plan: Mapping[str, Any] = {}
    sequence: int | None = None
    framework: str | None = None

    def over(self, lower: Request) -> Request:
        """Merge both; this one overrides `lower`."""
        return Request(
            self.source or lower.source,
            self.sizes if self.source else {**lower.sizes, **self.sizes},
            names.over(lower.plan, self.plan),
            lower.sequence if self.sequence is None else self.sequence,
            self.framework or lower.framework,
        )


class TrainingJob(NamedTuple):
    """A model, a plan and a sequence length (tokens), ready to make a workload."""

    model: Model
    plan: Plan
    sequence: int
    request: Request

    @property
    def framework(self) -> str | None:
        """The framework that trains it, None where nothing names one."""
        return framework_of(self.request)


def framework_of(request: Request) -> str | None:
    """The framework that a request names, or that its arguments are of."""
    kind = "" if request.source is None else request.source[0]
    return request.framework or _FRAMEWORKS.get(kind)


def by_words(plan: Mapping[str, Any]) -> str | None:
    """The framework in whose words a plan is; None for none or several."""
    programs = names.programs_of(plan)
    if programs == ("DeepSpeed", "Megatron-LM"):
        return "Megatron-DeepSpeed"
    return programs[0] if len(programs) == 1 else None


def resolve(request: Request) -> TrainingJob:
    """Make the job. Raises ConfigError for what is missing, unknown or wrong."""
    described, request = _described(request)
    model = model_of(_changed(described, request))
    sequence = model.sequence if request.sequence is None else request.sequence
    if not isinstance(sequence, int) or isinstance(sequence, bool) or sequence < 1:
        raise ConfigError("sequence", expected_got("a whole number of at least 1", sequence))
    return TrainingJob(model, Plan.of(request.plan), sequence, request)


def _described(request: Request) -> tuple[Transformer | Model, Request]:
    if request.source is None:
        if not request.sizes:
            problem = "expected a name such as llama3-8b, a file that describes one, or its sizes"
            raise ConfigError("model", problem)
        sizes = dict(request.sizes)
        if request.sequence is not None:
            sizes["seq_length"] = request.sequence
        return description.transformer(sizes, "model", "custom"), request
    kind, value = request.source
    if kind == "megatron_args":
        from yantra.workloads.models import megatron

        job = megatron.load(value, _vocabulary(request.sizes))
        return job.model, request.over(Request(plan=job.plan))
    if kind == "bridge_config":
        from yantra.workloads.models.megatron import bridge

        job = bridge.load(value)
        return job.model, request.over(Request(plan=job.plan))
    if kind == "hf_config":
        from yantra.workloads.models import hf

        return hf.load(value), request
    return catalogue.described(value), request


def described_by(name: str) -> Transformer | Model:
    """A model by its name or file, or that of a framework's file. Raises ConfigError."""
    from yantra.base.documents import read_text
    from yantra.workloads import frameworks

    if os.path.isfile(name) and not name.endswith((".py", ".json")):
        tree = frameworks.read(read_text(name), name, quiet=True)
        if tree is not None and "model" in tree:
            return _described(request_of(tree, name, os.path.dirname(name)))[0]
    return catalogue.described(name)


def _vocabulary(sizes: Mapping[str, Any]) -> list[str]:
    given = description.fields_of(sizes, "model").get("vocab_size")
    return [] if given is None else ["--vocab-size", str(given)]


def _changed(model: Transformer | Model, request: Request) -> Transformer | Model:
    if request.source is None or not request.sizes:
        return model
    if isinstance(model, Model):
        first = next(iter(request.sizes))
        raise ConfigError(first, f"{model.name} is made of blocks, not of sizes by name")
    fields = description.fields_of(request.sizes, "model")
    if request.source[0] == "megatron_args":
        fields.pop("vocab_size", None)  # counted among the arguments, which pad it
    patterns = model.patterns(fields.get("num_layers", model.num_layers))
    return model.replace(**{**patterns, **fields})


def source_of(text: str) -> tuple[str, str]:
    """What `--model` means: a name, or the path of a file."""
    looks_so = text.endswith(_FILES) or f"{_FILES[0]}:" in text or os.sep in text
    is_path = looks_so and not catalogue.is_known(text)
    return ("file" if is_path else "name", text)


def read(path: Path) -> Request:
    """Read a job file, YAML, JSON or a framework's; its paths are relative to its folder.

    Raises ConfigError.
    """
    from yantra.base.documents import parse_yaml, read_text
    from yantra.workloads import frameworks

    where, text = os.fspath(path), read_text(path)
    tree = frameworks.read(text, where) or parse_yaml(text, where)
    with trust.Reading(where):
        return request_of(tree, where, os.path.dirname(where))


def request_of(tree: Any, where: str, folder: str) -> Request:
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("the keys model, sequence and plan", tree))
    known = ("model", "plan", "framework", *names.SEQUENCE_NAMES)
    sequences = [key for key in tree if key in names.SEQUENCE_NAMES]
    for key in tree:
        if key not in known:
            hint = did_you_mean(key, known) or "; expected model, sequence, plan, framework"
            raise ConfigError(f"{where}: {key}", f"unknown key{hint}")
    if len(sequences) > 1:
        raise ConfigError(f"{where}: {sequences[1]}", f"means the same as {sequences[0]}; give one")
    plan = tree.get("plan", {})
    if not isinstance(plan, dict):
        raise ConfigError(f"{where}: plan", expected_got("fields of a plan", plan))
    for name in plan:
        if not names.is_known(str(name)):
            raise ConfigError(f"{where}: plan.{name}", names.no_field(names.key_of(str(name))))
    if _is_file(plan.get("schedule")):
        plan["schedule"] = _beside(folder, plan["schedule"])
    for name, value in plan.items():  # by any name of the schedule
        if isinstance(value, str):
            trust.require(value, f"{where}: plan.{name}")
    source, sizes = source_of_tree(tree.get("model"), f"{where}: model", folder)
    sequence = tree[sequences[0]] if sequences else None
    framework = tree.get("framework")
    if framework is not None and not (isinstance(framework, str) and framework.strip()):
        problem = expected_got("the name of a framework, such as Megatron-LM", framework)
        raise ConfigError(f"{where}: framework", problem)
    return Request(source, sizes, plan, sequence, framework or by_words(plan))


def source_of_tree(
    tree: Any, where: str, folder: str
) -> tuple[tuple[str, str] | None, dict[str, Any]]:
    """Raises ConfigError for code that may not run (`yantra.base.trust`)."""
    if tree is None:
        return None, {}
    if isinstance(tree, Open):
        raise tree.refusal("--set workload.model=NAME")
    if isinstance(tree, str):
        kind, value = source_of(tree)
        source = (kind, _beside(folder, value) if kind == "file" else value)
        trust.require(source[1], where)
        return source, {}
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("a name, or a mapping", tree))
    given = [key for key in tree if key in SOURCES]
    sizes = {key: value for key, value in tree.items() if key not in SOURCES}
    if len(given) > 1:
        problem = f"{given[1]} and {given[0]} both say which model; give one"
        raise ConfigError(where, problem)
    if not given:
        return None, sizes
    value = tree[given[0]]
    if not isinstance(value, str):
        raise ConfigError(f"{where}.{given[0]}", expected_got("a text", value))
    source = (given[0], value if given[0] == "name" else _beside(folder, value))
    trust.require(source[1], f"{where}.{given[0]}")
    return source, sizes


def _is_file(schedule: object) -> bool:
    return isinstance(schedule, str) and schedule.endswith(ENDINGS)


def _beside(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))


def write(path: Path, job: TrainingJob) -> None:
    from yantra.base.output import write_text

    write_text(path, text_of(job, os.path.dirname(os.fspath(path))))


def text_of(job: TrainingJob, folder: str = "") -> str:
    """The text of a job file in `folder`, sealed."""
    from json import dumps

    from yantra.base.seals import seal_yaml

    model: dict[str, Any] = description.fields_of(job.request.sizes, "model")
    if job.request.source is not None:
        kind, value = job.request.source
        if kind != "name":
            value = os.path.relpath(value, folder or ".")
        model = {kind: value, **model}
    plan = {field: value for field, value in vars(job.plan).items() if value is not None}
    if _is_file(job.plan.schedule):
        plan["schedule"] = os.path.relpath(job.plan.schedule, folder or ".")
    lines = ["model:", *_lines(model), f"sequence: {job.sequence}", "plan:", *_lines(plan)]
    if job.framework:
        lines.append(f"framework: {dumps(job.framework, ensure_ascii=False)}")
    return seal_yaml("\n".join(lines) + "\n")


def _lines(fields: Mapping[str, Any]) -> list[str]:
    from json import dumps

    return [f"  {name}: {dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
