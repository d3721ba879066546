"""Flags of a training job (model, plan, sequence), by every known name.

Help shows ours; commands get a `Request`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import WithExamples
from yantra.cli.complete import files, models, schedules
from yantra.cli.typed import as_typed
from yantra.workloads.models import description
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan import names, plan
from yantra.workloads.plan.fields import MEANINGS

if TYPE_CHECKING:
    from yantra.workloads.job_file import Request

MODEL, PLAN, OUTPUT = "Model", "Plan", "Output"
_SOURCES = {
    "--model": "A name such as llama3-70b, or a file that describes one (.py, .yaml, .json).",
    "--hf-config": "A Hugging Face config.json, or the folder that holds one.",
    "--megatron-args": "Megatron-LM's arguments for model and plan: a script, or a list of flags.",
    "--bridge-config": "A configuration of Megatron-Bridge or NeMo (YAML): model and plan.",
}
_SEQUENCE_HELP = "Tokens of a sequence; the model's usual number if left out."
_FRAMEWORK_HELP = "What trains it, such as Megatron-LM, for --stack auto; --megatron-args says so."
_USUAL = (
    *("tp", "cp", "pp", "vpp", "ep", "dp", "zero", "micro_batch", "global_batch", "schedule"),
    *("recompute", "dtype"),
)
_SELDOM = (
    *(field for field in MEANINGS if field not in _USUAL),
    *("framework", "memory", "save_job"),
)
_NOT_A_FLAG = ("name", "source", "notes", "seq_length")
_TYPES: Mapping[str, click.ParamType[Any]] = {
    "int": click.INT,
    "bool": click.BOOL,
    "str": click.STRING,
}


class JobOption(click.Option):
    """A flag; `about` is its section of the help, or it is hidden."""

    def __init__(self, flag: str, about: str, **more: Any) -> None:
        super().__init__([flag], default=None, **more)
        self.about = about
        self.flag = flag.partition("/")[0]


class JobCommand(WithExamples):
    """A command with sections of options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records: dict[str, list[tuple[str, str]]] = {MODEL: [], PLAN: [], OUTPUT: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                records[getattr(param, "about", OUTPUT)].append(record)
        for section, rows in records.items():
            with formatter.section(section):
                formatter.write_dl(rows)
        self.format_common(formatter)


def job_command(examples: Sequence[str]) -> Callable[[Callable[..., Any]], click.Command]:
    options = {option.name or "": option for option in _options()}

    def made(function: Callable[..., Any]) -> click.Command:
        own = list(reversed(getattr(function, "__click_params__", [])))

        def callback(**values: Any) -> Any:
            given = [one.flag for name, one in options.items() if values[name] is not None]
            file = values.get("job")
            with _of_job(file, given), as_typed(_flags(given, values)):
                return function(request=_request(options, values), **values)

        params = [*own, *options.values()]
        about = function.__doc__
        return JobCommand(
            "train",
            callback=callback,
            params=params,
            help=about,
            examples=examples,
            seldom=_SELDOM,
        )

    return made


@contextmanager
def _of_job(file: str | None, given: Sequence[str]) -> Iterator[None]:
    """Within the block, errors name the job file and place, unless flags said it."""
    try:
        yield
    except ConfigError as error:
        place = None if file is None else _place(error.where, given)
        if place is None or str(file) in str(error):
            raise
        raise type(error)(f"{file}: {place}", error.problem) from None


def _place(where: str, given: Sequence[str]) -> str | None:
    """Return an error's place in a job file, None if a flag may have said it."""
    head = where.partition(":")[0].partition(".")[0].partition("[")[0]
    if names.is_known(head) and not head.startswith("-"):
        return f"plan.{where}"
    if head in names.SEQUENCE_NAMES:
        return where
    flags = {names.key_of(flag) for flag in given}
    said_by_flags = flags & _SOURCE_KEYS or names.key_of(where.partition(":")[2]) in flags
    return where if head == "model" and not said_by_flags else None


def _flags(given: Sequence[str], values: Mapping[str, Any]) -> dict[str, str]:
    flags = {} if "--job" in given else {"model": "--model", "sequence": "--seq"}
    flags |= {"cluster": "--cluster", "memory": "--memory"}
    if values.get("memory") is None:
        flags["memory"] = "--cluster"
    for flag in given:
        if flag in _SOURCES:
            flags["model"] = flag
        if flag in _SEQUENCES:
            flags["sequence"] = flag
    return flags


def _request(options: Mapping[str, JobOption], values: dict[str, Any]) -> Request:
    from yantra.workloads import job_file

    given: dict[str, dict[str, Any]] = {MODEL: {}, PLAN: {}}
    for name, option in options.items():
        value = values.pop(name)
        if value is None or (option.is_flag and not option.secondary_opts and not value):
            continue
        if value is False:
            given[option.about][f"--no-{option.flag.removeprefix('--')}"] = True
        else:
            given[option.about][option.flag] = value
    about = given[MODEL]
    file, framework = about.pop("--job", None), about.pop("--framework", None)
    sources = {flag: about.pop(flag) for flag in _SOURCES if flag in about}
    sequences = {flag: about.pop(flag) for flag in _SEQUENCES if flag in about}
    _check_one(sources)
    _check_one(sequences)
    request = job_file.Request(
        next((_source(flag, value) for flag, value in sources.items()), None),
        _sizes(about),
        given[PLAN],
        next(iter(sequences.values()), None),
        framework,
    )
    return request if file is None else request.over(job_file.read(file))


def _source(flag: str, value: str) -> tuple[str, str]:
    from yantra.workloads import job_file

    return job_file.source_of(value) if flag == "--model" else (names.key_of(flag), value)


def _check_one(given: Mapping[str, Any]) -> None:
    if len(set(given.values())) > 1:
        first, second, *_ = given
        problem = f"contradicts {first}: {given[second]} and {given[first]}; give one"
        raise ConfigError(second, problem)


def _sizes(model: dict[str, Any]) -> dict[str, Any]:
    """Return sizes, `--no-swiglu` as swiglu = False."""
    return {
        name.replace("--no-", "--", 1) if name.startswith("--no-") else name: (
            False if name.startswith("--no-") else value
        )
        for name, value in model.items()
    }


def _options() -> Iterator[JobOption]:
    for flag, source in _SOURCES.items():
        is_file = "-" in flag[2:]
        offer = files if is_file else models
        name = "FILE" if is_file else "NAME"
        yield JobOption(flag, MODEL, metavar=name, help=source, shell_complete=offer)
    job_help = "A job file; flags override it."
    yield JobOption("--job", MODEL, metavar="FILE", help=job_help, shell_complete=files)
    yield JobOption("--framework", MODEL, metavar="NAME", help=_FRAMEWORK_HELP)
    for name in names.SEQUENCE_NAMES:
        is_ours = name == "seq"
        text = _SEQUENCE_HELP if is_ours else None
        yield JobOption(_flag(name), MODEL, type=click.INT, help=text, hidden=not is_ours)
    yield from _size_options()
    yield JobOption("--ranks", PLAN, type=click.INT, help="Ranks; dp is what tp, cp and pp leave.")
    for field, meaning in MEANINGS.items():
        yield _plan_option(field, field, help=f"{meaning[0].upper()}{meaning[1:]}.")
    for alias in names.ALIASES:
        if alias.values is None:
            yield _plan_option(alias.name, alias.field, hidden=True)
        elif alias.is_switch:
            yield JobOption(_flag(alias.name), PLAN, is_flag=True, hidden=True)
        else:
            yield JobOption(_flag(alias.name), PLAN, type=click.STRING, hidden=True)
    for name in names.COMPUTED:
        if name != "ranks":
            yield JobOption(_flag(name), PLAN, type=click.INT, hidden=True)


def _plan_option(name: str, field: str, **more: Any) -> JobOption:
    if field in plan.SWITCHES:
        flag = _flag(name)
        return JobOption(f"{flag}/--no-{flag.removeprefix('--')}", PLAN, **more)
    if field in plan.CHOICES and name == field:
        more["type"] = click.Choice(plan.CHOICES[field])
    elif field in (*plan.SIZES, *plan.OPTIONAL_SIZES, "zero"):
        more["type"] = click.INT
    elif field in (*plan.SHARES, "capacity_factor"):
        more["type"] = click.FLOAT
    else:
        more["type"] = click.STRING
        more["shell_complete"] = schedules if name == "schedule" else None
    return JobOption(_flag(name), PLAN, **more)


def _size_options() -> Iterator[JobOption]:
    taken = {*names.SEQUENCE_NAMES, *names.known_names()}
    for field in Transformer.field_names:
        kind = Transformer.__annotations__[field].partition("[")[0].replace("Literal", "str")
        if field in _NOT_A_FLAG or kind not in _TYPES:
            continue
        for name in (field, *description.ALIASES.get(field, ())):
            if name in taken:
                continue
            flag = _flag(name)
            if kind == "bool":
                yield JobOption(f"{flag}/--no-{flag.removeprefix('--')}", MODEL, hidden=True)
            else:
                yield JobOption(flag, MODEL, type=_TYPES[kind], hidden=True)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


_SEQUENCES = tuple(map(_flag, names.SEQUENCE_NAMES))
_SOURCE_KEYS = frozenset(map(names.key_of, _SOURCES))
