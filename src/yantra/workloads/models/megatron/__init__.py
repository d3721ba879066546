"""Models and plans from Megatron-LM's arguments: a list, a line, a script, or a YAML file with
`MODEL_ARGS`, as its functional tests have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from yantra.base.documents import parse_other_yaml, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.notes import note_time
from yantra.base.open_values import Open
from yantra.base.shell import Word, training_arguments
from yantra.workloads.models.megatron.given import launched, read
from yantra.workloads.models.megatron.model import model
from yantra.workloads.models.megatron.plan import plan
from yantra.workloads.models.transformer import Transformer

_SECTION = "MODEL_ARGS"
_SAID = ("True", "False")  # which are texts to YAML
_IN_YAML = re.compile(rf"^{_SECTION}:", re.MULTILINE)


class Job(NamedTuple):
    """What the arguments describe.

    `plan` has Megatron-LM's names. `ignored` arguments cost nothing; the model's notes have what
    the plan does not distinguish.
    """

    model: Transformer
    plan: dict[str, Any]
    ignored: tuple[str, ...]


class Script(NamedTuple):
    """A job in which values may be left open, the model among them."""

    model: Transformer | Open
    plan: dict[str, Any]
    ignored: tuple[str, ...]
    notes: tuple[str, ...]


def load(path: str | PathLike[str], more: Sequence[str] = ()) -> Job:
    """`more` arguments follow, such as `["--vocab-size", "50257"]` for a tokenizer; the last of a
    repeated one counts.
    """
    return from_text(read_text(path), str(path), Path(path).stem, more)


def from_text(
    text: str, where: str = "arguments", name: str = "megatron", more: Sequence[str] = ()
) -> Job:
    """Raises ConfigError for what is unknown, not covered, missing, wrong, or not decided by the
    text.
    """
    launcher, program = _commanded(text, where)
    return _job(launcher, [*program, *map(Word, more)], where, name)


def as_far_as_known(text: str, where: str, more: Sequence[str] = ()) -> Script:
    """What `from_text` reads, with values left open that settings may say. Raises ConfigError."""
    launcher, program = _commanded(text, where)
    left_open: dict[str, Open] = {}
    given = read([*program, *map(Word, more)], where, left_open)
    made = left_open.pop("model", None) or model(given, "megatron")
    return Script(
        made,
        plan(given, launched(launcher, where)) | left_open,
        given.ignored,
        given.notes,
    )


def _commanded(text: str, where: str) -> tuple[list[Word], list[Word]]:
    note_time(text, where, "a script", 0.8)
    if _IN_YAML.search(text):
        return [], [*_words(text, where)]
    return training_arguments(text, where)


def from_arguments(
    arguments: Sequence[str], where: str = "arguments", name: str = "megatron"
) -> Job:
    """The job of a list of arguments such as `["--num-layers", "32", ...]`."""
    return _job([], [Word(argument) for argument in arguments], where, name)


def _words(text: str, where: str) -> Iterator[Word]:
    tree = parse_other_yaml(text, where)
    arguments = tree.get(_SECTION) if isinstance(tree, dict) else None
    if not isinstance(arguments, dict):
        raise ConfigError(where, expected_got(f"arguments by name in {_SECTION}", arguments))
    merged = arguments.pop("<<", {})
    for name, value in (merged | arguments if isinstance(merged, dict) else arguments).items():
        value = {"True": True, "False": False}.get(value, value) if value in _SAID else value
        if value is False or value is None:
            continue
        yield Word(str(name))
        for one in () if value is True else value if isinstance(value, list) else (value,):
            unset = re.search(r"\$\{?(\w+)", str(one))
            doubt = f"it uses ${unset[1]}, which the file does not set" if unset else ""
            is_list = isinstance(value, list) or re.fullmatch(r"\[[\w ]+\]", str(one))
            for word in str(one).strip("[]").split() if is_list else (str(one),):
                yield Word(word, doubt)


def _job(launcher: list[Word], program: list[Word], where: str, name: str) -> Job:
    given = read(program, where)
    described = model(given, name)
    return Job(described, plan(given, launched(launcher, where)), given.ignored)
