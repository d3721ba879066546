"""The journal of a study, `trials.jsonl`: the study, then a line for each finished trial.

Each line is on the disk before it counts, sealed by length and digest (`base/seals.py`). A line
whose seal or figures do not fit is reported and dropped, and its trial runs again. An unfinished
last line, left by a kill, is dropped silently.

Unsealed lines of older versions are read with a note, if none is sealed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import IO, Any, NamedTuple

from yantra.base.errors import ConfigError, YantraError
from yantra.base.notes import note
from yantra.base.output import whole_file
from yantra.base.regular import read_regular
from yantra.base.seals import MEMBER, seal_line, state_of_json
from yantra.explore.study.objectives import OBJECTIVES
from yantra.explore.study.study_file import Point, Study
from yantra.explore.study.trial import agree, broken_bounds, excess

TRIALS = "trials.jsonl"
Trials = dict[int, dict[str, Any]]
"""What came of the finished trials, by their number."""

_SHOWN = 5
_AGAIN = "run the study again into another folder: yantra explore run STUDY.yaml -o FOLDER"


class Read(NamedTuple):
    """A journal's study, if readable, its trials, and their sealed lines.

    `is_whole`: the file has these lines and no others.
    """

    study: Study | None
    trials: Trials
    lines: tuple[str, ...]
    is_whole: bool


def nothing() -> Read:
    return Read(None, {}, (), False)


def read_journal(path: str, study: Study | None = None) -> Read:
    """Read a journal, of `study` or that of its first line; report damage.

    Raises ConfigError if it cannot be read, is of another study or version, or names none.
    """
    lines, is_cut = _lines(path)
    if not lines:
        return nothing()
    is_sealed = any(_has_seal(line) for line in lines)
    digest, found = _first_line(lines[0])
    of = found if study is None else study
    if of is None or (digest is None and not is_sealed):
        raise ConfigError(path, _of_no_study(digest, is_sealed))
    if digest not in (None, of.digest):
        problem = f"holds trials of another study, or of another version; {_AGAIN}"
        raise ConfigError(path, problem)
    trials: Trials = {}
    whole, damaged = [], [] if found else [1]
    points = None if of.search else of.trials()
    for at, line in enumerate(lines[1:], 2):
        trial = _trial_in(line, of, points, is_sealed)
        if trial is None:
            damaged.append(at)
        else:
            trials[trial.pop("number")] = trial
            whole.append(line if is_sealed else seal_line(line, of.digest))
    if digest is None and len(lines) > 1 and not trials:
        raise ConfigError(path, "is damaged, or of another study; give another folder")
    _tell(path, damaged, is_sealed)
    return Read(found, trials, tuple(whole), is_sealed and not (damaged or is_cut))


@contextmanager
def open_journal(path: str, study: Study, read: Read) -> Iterator[IO[str]]:
    """Yield the journal to append to, rewritten if empty or damaged."""
    if not read.is_whole:
        first = json.dumps({"study": study.digest, "of": study._replace(points=None)})
        kept = (seal_line(first), *read.lines)
        with whole_file(path, is_durable=True) as name, open(name, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in kept)
    with open(path, "a", encoding="utf-8") as file:
        yield file


def append(file: IO[str], study: Study, number: int, found: Mapping[str, Any]) -> None:
    try:
        file.write(seal_line(json.dumps({"number": number, **found}), study.digest) + "\n")
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}; go on with --resume"
        raise ConfigError(file.name, problem) from None


def _lines(path: str) -> tuple[list[str], bool]:
    """Return the lines of a file, and whether the last was cut off and dropped."""
    try:
        content = read_regular(path)
    except OSError as error:
        raise ConfigError(path, f"cannot be read: {error.strerror or error}") from None
    whole, _, cut = content.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    return [line.decode(errors="surrogateescape") for line in lines], bool(cut)


def _has_seal(line: str) -> bool:
    return f'"{MEMBER}": {{' in line


def _first_line(line: str) -> tuple[str | None, Study | None]:
    told = _object_in(line)
    if told is None or state_of_json(line) == "changed" or not isinstance(told.get("study"), str):
        return None, None
    try:
        study = Study.of(told["of"])
        return told["study"], study if study.digest == told["study"] else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return told["study"], None


def _of_no_study(digest: str | None, is_sealed: bool) -> str:
    if digest is not None:
        return f"has no study in its first line, or one of another version; {_AGAIN}"
    if is_sealed:
        return "its first line is damaged; yantra explore run STUDY --resume writes it again"
    return f"its first line is damaged, so nothing says which study it is of; {_AGAIN}"


def _trial_in(
    line: str, study: Study, points: list[Point] | None, is_sealed: bool
) -> dict[str, Any] | None:
    state = state_of_json(line, study.digest)
    told = _object_in(line)
    if told is None or state != ("whole" if is_sealed else "unsealed"):
        return None
    told.pop(MEMBER, None)
    try:
        fits = _fits(told, study, points) and (
            is_sealed or "plan" not in told or agree(study, told)
        )
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, YantraError):
        return None
    return told if fits else None


def _fits(told: Mapping[str, Any], study: Study, points: list[Point] | None) -> bool:
    number, name = told["number"], told["cluster"]
    if type(number) is not int or not 0 <= number < study.trial_count:
        return False
    if points is not None:
        stack = told.get("stack", study.stacks[0])
        if (name, told["ranks"], told["scale"], stack) != points[number]:
            return False
    elif name not in study.clusters or told["ranks"] not in study.ranks:
        return False
    if (told.get("stack") in study.stacks) != (len(study.stacks) > 1):
        return False
    if not all(_is_figure(told.get(one)) for one in (*OBJECTIVES, "excess")):
        return False
    if "plan" not in told:
        return bool(told["broken"]) and told["excess"] is None and _are_texts(told["broken"])
    if not all(type(size) is int for size in told["plan"].values()) or not told["step_time"] > 0:
        return False
    broken = list(broken_bounds(study, name, told))
    return bool(told["broken"] == broken and told["excess"] == excess(study, told))


def _is_figure(value: object) -> bool:
    if value is None:
        return True
    return type(value) in (int, float) and isfinite(value) and value >= 0  # type: ignore[arg-type, operator]


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _tell(path: str, damaged: list[int], is_sealed: bool) -> None:
    if not is_sealed:
        note(f"{path}: has no digests, so damage may not be noticed; an older Yantra wrote it")
    if damaged:
        some = ", ".join(map(str, damaged[:_SHOWN]))
        more = f" and {len(damaged) - _SHOWN} more" if len(damaged) > _SHOWN else ""
        lines = f"line {some} is" if len(damaged) == 1 else f"lines {some}{more} are"
        note(f"{path}: {lines} damaged and left out")


def _object_in(line: str) -> dict[str, Any] | None:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        line.encode()
        told = json.loads(line, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None
