"""What `${NAME...}` of a shell script asks for, and functions that it defines.

Source: POSIX.1-2017, shell command language, 2.6.2 and 2.9.5; gnu.org/software/bash/manual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from typing import NamedTuple

_ASKED = re.compile(
    r"(?P<counted>#?)!?(?P<name>\w+|[@*#?$!-])(?:\[(?P<key>[^\]]*)\])?(?P<rest>.*)", re.DOTALL
)
_DEFAULT = re.compile(r":?[-=+?]")
_FUNCTION = re.compile(
    r"^(?P<indent>[ \t]*)(?:function[ \t]+(?P<kept>[\w-]+)[ \t]*(?:\(\))?"
    r"|(?P<name>[\w-]+)[ \t]*\(\))"
    r"[ \t]*\n?[ \t]*\{[ \t]*\n(?P<body>(?:.*\n)*?)(?P=indent)\}[^\n]*$",
    re.MULTILINE,
)
_USUAL: Mapping[str, str] = {
    r"(PET_|NUM_|N_|SLURM_|SLURM_JOB_NUM_)?(N?NODES?|NODE_NUM|NNODES)|NODES_NUM|NNODE|NODE_COUNT"
    r"|MLP_WORKER_NUM|ARNOLD_WORKER_NUM|SLURM_JOB_NUM_NODES": "1",
    r"(PET_)?NODE_RANK|RANK|LOCAL_RANK|MLP_ROLE_INDEX|ARNOLD_ID|SLURM_(NODEID|PROCID|LOCALID)"
    r"|MACHINE_RANK|SLURM_ARRAY_TASK_ID": "0",
}
"""What variables of launchers are on one node."""


class Asked(NamedTuple):
    """`key` is an element of an array, `rest` the operation on the value."""

    name: str
    key: str | None
    rest: str
    is_counted: bool


class Function(NamedTuple):
    """A function's body and the line before it."""

    body: str
    line: int


def asked(text: str) -> Asked:
    found = _ASKED.fullmatch(text)
    if found is None:
        return Asked(text, None, "", False)
    return Asked(found["name"], found["key"], found["rest"], bool(found["counted"]))


def default_of(rest: str) -> tuple[str, str]:
    """The operator of a default and its text; empty for other operations."""
    found = _DEFAULT.match(rest)
    return ("", "") if found is None else (found[0], rest[found.end() :])


def changed(value: str, rest: str, expanded: Callable[[str], str]) -> str | None:
    """A value after an operation; None for one that is not read."""
    if not rest:
        return value
    if rest[0] in "#%":
        return _cut(value, rest[0], rest[1:2] == rest[0], expanded(rest.lstrip(rest[0])))
    if rest[0] == "/":
        every, rest = rest[1:2] == "/", rest.lstrip("/")
        old, _, new = re.sub(r"\\(.)", r"\1", rest.replace(r"\/", "\0")).partition("/")
        pattern = _pattern(expanded(old.replace("\0", "/")))
        return re.sub(pattern, lambda _: expanded(new), value, count=0 if every else 1)
    if (part := re.fullmatch(r":\s*(\d+)(?::\s*(\d+))?", rest)) is not None:
        start = int(part[1])
        return value[start : None if part[2] is None else start + int(part[2])]
    return {",,": value.lower(), "^^": value.upper()}.get(rest)


def _cut(value: str, side: str, longest: bool, pattern: str) -> str:
    ends = range(len(value) + 1)
    parts = (value[:at] if side == "#" else value[len(value) - at :] for at in ends)
    found = [part for part in parts if re.fullmatch(_pattern(pattern), part)]
    if not found:
        return value
    cut = len(found[-1] if longest else found[0])
    return value[cut:] if side == "#" else value[: len(value) - cut]


def _pattern(text: str) -> str:
    return translate(text).removesuffix("\\Z").removesuffix("\\z")


def usual(name: str) -> str:
    """The value on one node of a variable that a launcher sets; empty for others."""
    return next((value for names, value in _USUAL.items() if re.fullmatch(names, name)), "")


def without_functions(text: str) -> tuple[str, dict[str, Function]]:
    """A script without the functions that it defines, on the same lines, and these."""
    found: dict[str, Function] = {}

    def kept(match: re.Match[str]) -> str:
        line = text.count("\n", 0, match.start("body"))
        found[match["kept"] or match["name"]] = Function(match["body"], line)
        return "\n" * match[0].count("\n")

    return _FUNCTION.sub(kept, text), found
