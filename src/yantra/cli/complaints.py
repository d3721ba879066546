"""click's complaints in the words of all other errors.

Other tools' words are known: `--gpus` finds `--ranks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import click

from yantra.base.errors import did_you_mean

_COMMAND_WORDS: Mapping[str, str] = {
    "convert": "workload convert",
    "diff": "compare",
    "gui": "ui",
    "html": "run --report",
    "infer": "workload infer",
    "link": "chakra link",
    "models": "workload show",
    "optimise": "plan",
    "optimize": "plan",
    "report": "run --report",
    "search": "plan",
    "simulate": "run",
    "train": "workload train",
    "trace": "run --trace",
    "web": "ui",
}
_OPTION_WORDS: Mapping[str, tuple[str, ...]] = {
    "--batch": ("--global-batch", "--batch"),
    "--batch-size": ("--global-batch", "--batch"),
    "--devices": ("--ranks",),
    "--gpus": ("--ranks",),
    "--hardware": ("--cluster",),
    "--html": ("--report",),
    "--machine": ("--cluster",),
    "--mbs": ("--micro-batch",),
    "--nodes": ("--ranks",),
    "--npus": ("--ranks",),
    "--out": ("--output",),
    "--sequence-length": ("--seq", "--context"),
    "--system": ("--cluster",),
    "--topology": ("--cluster",),
    "--world-size": ("--ranks",),
}


def meant_command(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'run'?` for an unknown command, or ""."""
    named = tuple(known)
    other = _COMMAND_WORDS.get(word)
    if other and other.partition(" ")[0] in named:
        return f"; did you mean '{other}'?"
    return did_you_mean(word, named)


def problem_of(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        known = () if error.ctx is None else _options(error.ctx)
        return f"no option is named '{error.option_name}'{_meant_option(error.option_name, known)}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return _missing(error.param)
    problem = re.sub(r"\s*\n\s*", " ", error.format_message()).rstrip(".")
    for pattern, make in _CLICKS.items():
        if found := re.fullmatch(pattern, problem):
            return make(*found.groups())
    param = getattr(error, "param", None)
    given = re.fullmatch(r"Invalid value for .*?: '(.*)' is not one of .*", problem)
    if given and param is not None and isinstance(param.type, click.Choice):
        return _not_a_choice(param, param.type, given[1])
    return problem


_CLICKS: Mapping[str, Callable[..., str]] = {
    r"Invalid value for '(.*)': (.*) is not a valid (?:integer|integer range)": (
        lambda name, value: f"{name}: expected a whole number, got {value}"
    ),
    r"Invalid value for '(.*)': (.*) is not in the range (\S+)<=x<=(\S+)": (
        lambda name, value, low, high: f"{name}: expected {low} to {high}, got {value}"
    ),
    r"Invalid value for '(.*)': (.*) is not in the range x>=(\S+)": (
        lambda name, value, least: f"{name}: expected {least} or more, got {value}"
    ),
    r"Option '(.*)' requires an argument": lambda name: f"{name}: expected a value after it",
    r"Got unexpected extra arguments? \((.*)\)": lambda word: f"unexpected argument: {word}",
}


def _not_a_choice(param: click.Parameter, kind: click.Choice[str], value: str) -> str:
    name = f"{_long_name(param)}: " if isinstance(param, click.Option) else ""
    choices = [str(choice) for choice in kind.choices]
    return f"{name}expected {_either(choices)}, got '{value}'{did_you_mean(value, choices)}"


def _long_name(option: click.Option) -> str:
    return next((name for name in option.opts if name.startswith("--")), option.opts[0])


def _missing(param: click.Parameter) -> str:
    if isinstance(param, click.Option):
        said = (param.help or "").rstrip(".")
        return f"{_long_name(param)} is missing{f' ({said[:1].lower()}{said[1:]})' if said else ''}"
    if isinstance(param.type, click.Choice):
        return f"expected {_either([str(choice) for choice in param.type.choices])}"
    return f"expected {(param.metavar or param.human_readable_name).rstrip('.')}"


def _either(choices: list[str]) -> str:
    return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]


def _meant_option(name: str, known: Iterable[str]) -> str:
    named = tuple(known)
    other = next((one for one in _OPTION_WORDS.get(name, ()) if one in named), None)
    return f"; did you mean '{other}'?" if other else did_you_mean(name, named)


def _options(context: click.Context) -> list[str]:
    params = context.command.get_params(context)
    options = [one for one in params if isinstance(one, click.Option)]
    options.sort(key=lambda option: option.hidden)
    return [name for option in options for name in (*option.opts, *option.secondary_opts)]
