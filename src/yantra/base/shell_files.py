"""Files that a shell script writes before it starts a program, and what it asks Slurm for.

Read are here-documents (`cat <<END > NAME`) and templates through `sed "s/OLD/NEW/"`, in a pipe or
not; other `sed` expressions are left out.

Sources: POSIX.1-2017, shell command language, 2.7.4; slurm.schedmd.com/sbatch.html.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

_HERE = re.compile(
    r"(?<!<)<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<rest>[^\n]*)\n"
    r"(?P<body>(?:.*\n)*?)[ \t]*(?P=end)[ \t]*(?=\n|$)"
)
_COMMENT = re.compile(r"[^\n]*(?:^|\s)#")
_SUBSTITUTION = re.compile(r"s(?P<by>[/#|@,])(?P<old>.*?)(?P=by)(?P<new>.*?)(?P=by)g?")
_SBATCH = re.compile(r"^#SBATCH[ \t]+(-\S+?)(?:[= ][ \t]*(\S+))?[ \t]*(?:#.*)?$", re.MULTILINE)
_ASKED: Mapping[str, tuple[str, ...]] = {
    "--nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "-N": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
    "--gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
    "--gres": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
    "--ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "--ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "-n": ("SLURM_NTASKS", "SLURM_NPROCS"),
}
MARK = "<<@"
"""Begins the word that stands for a here-document; its number follows."""


class Here(NamedTuple):
    """A here-document; the variables of one whose end is quoted stay as they are."""

    body: str
    is_quoted: bool


class Written(NamedTuple):
    """A file of a script: its text, or the template that it is made of by replacements."""

    text: str | None
    template: str = ""
    replaced: tuple[tuple[str, str], ...] = ()

    def read(self, files: Mapping[str, str]) -> str:
        text = files[self.template] if self.text is None else self.text
        for old, new in self.replaced:
            text = text.replace(old, new)
        return text


def without_documents(text: str) -> tuple[str, list[Here]]:
    """A script with marks in place of its here-documents, on the same lines, and these."""
    found: list[Here] = []

    def marked(match: re.Match[str]) -> str:
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if _COMMENT.match(line):
            return match[0]
        found.append(Here(match["body"], bool(match["quote"])))
        lines = "\n" * (match[0].count("\n") - 1)
        return f" {MARK}{len(found) - 1} {match['rest']}\n{lines}"

    return _HERE.sub(marked, text), found


def written_by(
    words: Sequence[str], here: Sequence[Here], expanded: Callable[[str], str]
) -> tuple[str, Written] | None:
    """The file that a command line writes, and what; None where it writes none that is read."""
    name = _target(words)
    if not name:
        return None
    marks = [word for word in words if word.startswith(MARK)]
    if words[0] == "cat" and len(marks) == 1:
        document = here[int(marks[0].removeprefix(MARK))]
        body = document.body if document.is_quoted else expanded(document.body)
        return name, Written(body)
    if words[0] != "sed":
        return None
    replaced = [found for word in words if (found := _SUBSTITUTION.fullmatch(word))]
    plain = [word for word in words[1:] if word[:1] not in ("-", "|", ">")]
    others = [word for word in plain if word not in ("sed", name) and not _is_replacing(word)]
    if len(others) != 1 or not replaced:
        return None
    return name, Written(None, others[0], tuple((one["old"], one["new"]) for one in replaced))


def _is_replacing(word: str) -> bool:
    return _SUBSTITUTION.fullmatch(word) is not None


def _target(words: Sequence[str]) -> str:
    for at, word in enumerate(words):
        if word == ">" and at + 1 < len(words):
            return words[at + 1]
        if word[:1] == ">" and len(word) > 1 and word[1] not in ">&":
            return word[1:]
    return ""


def asked_of_slurm(text: str) -> dict[str, str]:
    """Variables that Slurm sets for what the `#SBATCH` lines of a script ask for."""
    found: dict[str, str] = {}
    for name, value in _SBATCH.findall(text):
        number = value.rpartition(":")[2] if name in ("--gres", "--gpus-per-node") else value
        if name in _ASKED and number.isdecimal():
            found |= dict.fromkeys(_ASKED[name], number)
    each, nodes = found.get("SLURM_NTASKS_PER_NODE"), found.get("SLURM_NNODES")
    if each and nodes:
        found.setdefault("SLURM_NTASKS", str(int(each) * int(nodes)))
    return found
