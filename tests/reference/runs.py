"""One job on ASTRA-sim's binary and on `yantra astra-sim`: do their finish lines agree?"""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.child import in_child
from tests.reference import jobs
from tests.reference.reasons import Reason, why_ours_refuses, why_theirs_stops

LONGEST_SECONDS = 60  # of Yantra, wall time
WALL_TIMES = 10  # times the reference's limit, before one that sleeps is ended
TRIES = 6
LATE = "the reference does not end"
_IN_32_BITS = "in the 32 bits that ASTRA-sim keeps of it"
_LINE = re.compile(r"sys\[(\d+)\] finished, (\d+) cycles, exposed communication (\d+) cycles")


class Finish(NamedTuple):
    """A finish line: a rank, its last tick, the ticks that no kernel hides."""

    rank: int
    tick: int
    exposed: int


class Verdict(NamedTuple):
    """`reference_s` is the processor time that the reference took."""

    name: str
    kind: str
    text: str = ""
    reference_s: float = 0.0


def finishes(text: str) -> list[Finish]:
    return [Finish(*map(int, found.groups())) for found in _LINE.finditer(text)]


def reference(binary: Path, files: jobs.Files, limit_s: int) -> tuple[list[Finish], str]:
    command = [str(binary), *files.options(), f"--logging-folder={files.folder / 'theirs'}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=files.folder
    ) as process:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit_s, limit_s + 1))
        try:
            out, err = process.communicate(timeout=WALL_TIMES * limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGXCPU)
            out, err = process.communicate()
        except BaseException:
            process.kill()
            raise
    if process.returncode == -signal.SIGXCPU:
        return finishes(out), LATE
    last = (out + err).strip().splitlines()[-1:]
    return finishes(out), f"status {process.returncode}: {''.join(last)[-200:]}"


def _complete_if_it_can(binary: Path, files: jobs.Files, limit_s: int) -> tuple[list[Finish], str]:
    """It reads beyond a list there, so what it does differs from run to run."""
    for _ in range(TRIES if "five dimensions" in files.features else 1):
        theirs, said = reference(binary, files, limit_s)
        if len(theirs) == files.ranks:
            break
    return theirs, said


def ours(backend: str, files: jobs.Files) -> tuple[list[Finish], str]:
    command = [
        *("astra-sim", *files.options(), f"--network-backend=congestion-{backend}"),
        f"--logging-folder={files.folder / 'ours'}",
    ]
    status, text, _ = in_child(command, LONGEST_SECONDS)
    if status is None:
        return [], f"takes more than {LONGEST_SECONDS} s"
    return finishes(text), f"status {status}: {text.strip()[-300:]}"


def compared(kind: str, seed: int, backend: str, binary: Path, limit_s: int) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        files = jobs.write(kind, seed, Path(folder))
        before = _children_s()
        theirs, said = _complete_if_it_can(binary, files, limit_s)
        took = round(_children_s() - before, 3)
        mine, told = ours(backend, files)
    how, text = _how(files, mine, theirs, told, said)
    return Verdict(f"{kind} {seed} {backend}", how, text, took)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _both_complete(mine: list[Finish], theirs: list[Finish], told: str) -> tuple[str, str]:
    if mine == theirs:
        return "equal", ""
    if len(mine) < len(theirs):
        return "only the reference completes", told
    return "different", _first_difference(mine, theirs)


def _how(
    files: jobs.Files, mine: list[Finish], theirs: list[Finish], told: str, said: str
) -> tuple[str, str]:
    refused = told[:9].startswith(("status 2", "status 3"))
    if len(theirs) == files.ranks and refused and _IN_32_BITS in told:
        return _of_reason(why_ours_refuses(told, files.features), "refused on purpose", told)
    if len(theirs) == files.ranks:
        return _both_complete(mine, theirs, told)
    if len(mine) == files.ranks:
        return _half_way(files, mine, theirs, said)
    if said == LATE:
        return LATE, told
    if not refused:
        return "fault", f"{told} / {said}"
    reason = why_ours_refuses(told, files.features)
    return _of_reason(reason, "neither completes", f"{told} / {said}")


def _of_reason(reason: Reason | None, kind: str, text: str) -> tuple[str, str]:
    return ("no known reason", text) if reason is None else (kind, text)


def _half_way(
    files: jobs.Files, mine: list[Finish], theirs: list[Finish], said: str
) -> tuple[str, str]:
    unlike = {each.rank: each for each in theirs}
    agrees = all(unlike.get(each.rank, each) == each for each in mine)
    if not agrees and "five dimensions" in files.features and said.startswith("status 0"):
        return "the reference reads beyond a list", said
    if not agrees:
        return "different before the reference stops", said
    if said == LATE:
        return LATE, ""
    reason = why_theirs_stops(said, files.features, len(theirs))
    return _of_reason(reason, "only Yantra completes", said)


def _first_difference(mine: list[Finish], theirs: list[Finish]) -> str:
    at = next(at for at, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])
    return f"line {at}: {mine[at]}, reference {theirs[at]}"
