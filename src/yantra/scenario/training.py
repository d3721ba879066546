"""A training step in a scenario: `workload: {model: llama3-70b, plan: {tp: 8}, sequence: 8192}`,

with all that a job file says. It is made on compilation, as by `yantra workload train`, in memory.
"""

from __future__ import annotations

from functools import lru_cache
from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.base import trust
from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import Field, Schema, Section, Text, Whole
from yantra.base.open_values import Open
from yantra.scenario import types
from yantra.scenario.types import ChakraFiles, Templates, TrainingStep, WorkloadFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from yantra.workloads.job_file import TrainingJob
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.templates import Workload

_STEPS_KEPT = 4
_SOURCES = ("name", "hf_config", "megatron_args", "bridge_config", "file")
_ENDINGS = (".yaml", ".yml", ".json", ".py")
_PLAN_NAMES = "the fields of a plan (docs/reference/plans.md)"


class PlanField(Field):
    """A plan's fields, by any name of job files; held as pairs."""

    expected = "a mapping of fields of a plan, such as {tp: 8, dp: 4}"

    def read(self, tree: Any, where: str, folder: str) -> tuple[tuple[str, Any], ...]:
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        pairs = tuple(
            (key, _from_folder(value, folder) if key == "schedule" else _hashable(value))
            for key, value in tree.items()
        )
        for key, value in pairs:  # by any name of the schedule
            if isinstance(value, Open):
                raise value.refusal(f"--set workload.plan.{key}=VALUE")
            if isinstance(value, str):
                trust.require(value, f"{where}.{key}")
        self.check(pairs, where)
        return pairs

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple) or not all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in value
        ):
            raise ConfigError(where, expected_got("a tuple of pairs", value))
        from yantra.workloads.plan.plan import Plan

        try:
            Plan.of(dict(value))
        except ConfigError as error:
            raise type(error)(f"{where}.{error.where}", error.problem) from None

    def write(self, value: tuple[tuple[str, Any], ...], folder: str) -> dict[str, Any]:
        return {
            key: _to_folder(item, folder) if key == "schedule" else _thawed(item)
            for key, item in value
        }

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        from yantra.workloads.plan import names
        from yantra.workloads.plan.plan import Plan

        if not path:
            return value
        present, key = tree or {}, names.key_of(path[0])
        at = f"{where}.{path[0]}"
        if not isinstance(present, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        if not names.is_known(key):
            raise ConfigError(at, names.no_field(key, f"; expected one of {_PLAN_NAMES}"))
        now = present.get(key, getattr(Plan, key, None))
        field = Whole() if isinstance(now, int) and not isinstance(now, bool) else Field()
        new = field.put(now, path[1:], value, at, folder)
        return present | {key: new} if key in present else names.over(present, {key: new})

    def schema(self) -> Schema:
        from yantra.workloads.plan import names

        plain = {"type": ["string", "number", "boolean", "null", "array"]}
        known = {"anyOf": [{"enum": list(names.known_names())}, {"type": "string"}]}
        return {"type": "object", "propertyNames": known, "additionalProperties": plain}


class ModelField(Field):
    """A model: name, file, or a mapping with sizes; held as pairs."""

    expected = "the name of a model, the path of its file, or a mapping with its sizes"

    def read(self, tree: Any, where: str, folder: str) -> Any:
        from yantra.workloads import job_file

        source, sizes = job_file.source_of_tree(tree, where, folder)
        value = (*(() if source is None else (source,)), *_frozen(sizes))
        self.check(value, where)
        return value

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple) or not value:
            raise ConfigError(where, expected_got(self.expected, value))

    def write(self, value: tuple[tuple[str, Any], ...], folder: str) -> Any:
        (kind, named), *sizes = value
        if kind == "name" and not sizes:
            return named
        written = {key: _thawed(item) for key, item in value}
        if kind in _SOURCES and kind != "name":
            written[kind] = _to_folder(named, folder)
        return written

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if not path:
            return value
        from yantra.workloads import job_file

        if isinstance(tree, str):
            tree = dict([job_file.source_of(tree)])
        return Field().put(tree, path[1:], (tree or {}) | {path[0]: value}, where, folder)

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}


STEP = Section(
    TrainingStep,
    {
        "model": ("model", ModelField(), "what is trained, one step of it"),
        "plan": ("plan", PlanField(), "how it is spread over the ranks"),
        "sequence": ("sequence", Whole(at_least=1), "tokens of a sequence; else the model's own"),
        "framework": (
            "framework",
            Text(),
            "what trains it (Megatron-LM, ...), for `stack: auto`",
        ),
    },
)


def step_of_job(tree: Any, name: str) -> TrainingStep:
    """Paths start from `name`, the file's own."""
    from yantra.workloads import job_file

    request = job_file.request_of(tree, name, paths.dirname(name))
    source = () if request.source is None else (request.source,)
    return TrainingStep(
        model=(*source, *_frozen(request.sizes)),
        plan=_frozen(request.plan),
        sequence=request.sequence,
        framework=request.framework,
    )


def ranks_of(step: TrainingStep) -> int:
    return plan_of(step).ranks


def plan_of(step: TrainingStep) -> Plan:
    return _job(step).plan


def files_of_step(step: TrainingStep) -> Iterator[str]:
    for kind, value in step.model:
        if kind in _SOURCES and kind != "name":
            yield value.partition(".py:")[0] + ".py" if ".py:" in value else value
    for key, value in step.plan:
        if key == "schedule" and isinstance(value, str) and value.endswith(_ENDINGS):
            yield value


def templates_of(workload: WorkloadFile | Templates | TrainingStep) -> Workload:
    from yantra.workloads.templates import load

    if isinstance(workload, WorkloadFile):
        return load(workload.path)
    if isinstance(workload, TrainingStep):
        is_known_by_name = not any(files_of_step(workload))
        return _kept(workload) if is_known_by_name else _trained(workload)
    templates: Workload = workload.workload
    return templates


def stated_dtype(workload: types.Workload) -> str | None:
    """Return a workload's stated type of products, or None;

    traces state it in the first one's metadata.
    """
    if isinstance(workload, WorkloadFile | Templates | TrainingStep):
        return templates_of(workload).dtype
    from yantra.chakra import heads

    if isinstance(workload, ChakraFiles):
        return heads.stated_in(workload.path(0)).get(heads.DTYPE)
    traces = workload.traces
    return heads.texts_of(traces[0].native).get(heads.DTYPE) if traces else None


def stated_experts(workload: types.Workload) -> int | None:
    """Return a model's stated experts per token, or None;

    traces state it in the first one's metadata.
    """
    if isinstance(workload, WorkloadFile | Templates | TrainingStep):
        return templates_of(workload).experts
    from yantra.chakra import heads

    if isinstance(workload, ChakraFiles):
        said = heads.stated_in(workload.path(0)).get(heads.EXPERTS, "")
    else:
        traces = workload.traces
        said = heads.texts_of(traces[0].native).get(heads.EXPERTS, "") if traces else ""
    return int(said) if said.isascii() and said.isdigit() and len(said) < 6 else None


@lru_cache(maxsize=_STEPS_KEPT)
def _kept(step: TrainingStep) -> Workload:
    return _trained(step)


def _trained(step: TrainingStep) -> Workload:
    from yantra.workloads.training.train import train

    job = _job(step)
    try:
        return train(job.model, job.plan, job.sequence, framework=job.framework)
    except ConfigError as error:
        raise type(error)(_place(error.where, step), error.problem) from None


def _job(step: TrainingStep) -> TrainingJob:
    from yantra.workloads import job_file

    source = next((pair for pair in step.model if pair[0] in _SOURCES), None)
    sizes = {key: _thawed(value) for key, value in step.model if key not in _SOURCES}
    plan = dict(step.plan)
    framework = step.framework or job_file.by_words(plan)
    request = job_file.Request(source, sizes, plan, step.sequence, framework)
    try:
        return job_file.resolve(request)
    except ConfigError as error:
        place, problem = _place(error.where, step), error.problem
        if place == "workload.model" and problem.startswith("needs ") and "," not in problem:
            problem += f"; --set workload.model.{problem[6:]}=N says it"
        raise type(error)(place, problem) from None


def _place(where: str, step: TrainingStep) -> str:
    from yantra.workloads.plan.plan import Plan

    in_plan = where in Plan.field_names or where in dict(step.plan)
    in_step = where in ("model", "sequence", "framework")
    return f"workload.plan.{where}" if in_plan else f"workload.{where}" if in_step else where


def _frozen(sizes: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((key, _hashable(value)) for key, value in sizes.items())


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _thawed(value: Any) -> Any:
    return [_thawed(item) for item in value] if isinstance(value, tuple) else value


def _from_folder(value: Any, folder: str) -> Any:
    is_file = isinstance(value, str) and value.endswith(_ENDINGS)
    return paths.normpath(paths.join(folder, value)) if is_file and folder else value


def _to_folder(value: Any, folder: str) -> Any:
    is_file = isinstance(value, str) and value.endswith((*_ENDINGS, ".sh"))
    return paths.relpath(value, folder) if is_file and folder and not paths.isabs(value) else value
