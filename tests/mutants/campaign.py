"""Tries a sample of mutants. One is killed if a test of its part fails, crashes or exceeds the
limit of processor time; survivors known to be equivalent are in equivalent.toml.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import count, groupby
from pathlib import Path
from typing import NamedTuple

from tests.mutants import python_rules, slow_tests
from tests.mutants.build import FOLDER, ROOT, BuildError, Core, built_core, package
from tests.mutants.parts import LEFT_OUT, NOT_OF_A_PART, PARTS, Part, laws
from tests.mutants.python_parts import PYTHON_PARTS
from tests.mutants.rules import Mutant, mutants

RESULTS = FOLDER / "results.json"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MOST_BYTES = 6 << 30
SLOWEST_OF_PYTHON = 30  # seconds of one test
WALL_TIMES = 15  # times the limit, before a process that does nothing is ended


class Candidate(NamedTuple):
    part: str
    file: str
    text: str
    mutant: Mutant

    @property
    def line(self) -> str:
        return self.text.splitlines()[self.mutant.line - 1].strip()

    @property
    def place(self) -> str:
        return f"{self.file}:{self.mutant.line}"

    @property
    def name(self) -> str:
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:16]
        return f"{self.file} {digest} {self.mutant.start} {self.mutant.change}"

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            self.text.splitlines(), self.mutant.applied(self.text).splitlines(), n=2, lineterm=""
        )
        names = [f"--- {self.file}", f"+++ {self.file}"]
        return "\n".join([*names, *list(lines)[2:]])


class Result(NamedTuple):
    fate: str
    by: str = ""
    seconds: float = 0.0
    place: str = ""
    change: str = ""


def sample(seed: int, only: str | None, *, python: bool = False) -> Iterator[Candidate]:
    """Each line is drawn by its text, so a change of one leaves the places of all others."""
    drawn: list[tuple[float, list[Candidate]]] = []
    for part, file in files(PYTHON_PARTS if python else PARTS, only):
        alike: Counter[str] = Counter()
        for of_line in by_line(part, file):
            line = f"{file} {of_line[0].line}"
            alike[line] += 1
            draw = random.Random(f"{seed} {line} {alike[line]}")
            draw.shuffle(of_line)
            drawn.append((draw.random(), of_line))
    lines = [of_line for _, of_line in sorted(drawn, key=lambda one: one[0])]
    for turn in range(max(map(len, lines), default=0)):
        for of_line in lines:
            if turn < len(of_line):
                yield of_line[turn]


def files(parts: Mapping[str, Part], only: str | None = None) -> list[tuple[str, str]]:
    """Return the files of all parts, or of one, each after its part."""
    chosen = [(part, patterns) for part, (patterns, _) in parts.items() if only in (None, part)]
    return [(part, file) for part, given in chosen for one in given for file in _files(one)]


def _files(pattern: str) -> list[str]:
    found = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob(pattern))]
    return [file for file in found if not NOT_OF_A_PART.search(file)]


def by_line(part: str, file: str) -> Iterator[list[Candidate]]:
    text = (ROOT / file).read_text()
    is_python = file.endswith(".py")
    made = python_rules.mutants(text) if is_python else mutants(text, left_out=LEFT_OUT)
    for _, of_line in groupby(made, key=lambda mutant: mutant.line):
        yield [Candidate(part, file, text, mutant) for mutant in of_line]


def equivalents() -> dict[tuple[str, str, str], str]:
    listed = tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])
    return {(one["file"], one["line"], one["change"]): one["reason"] for one in listed}


def reason(candidate: Candidate, known: dict[tuple[str, str, str], str]) -> str:
    where = candidate.file, candidate.line
    return known.get((*where, candidate.mutant.change)) or known.get((*where, "any"), "")


# --- Trying one


class Trials(ABC):
    def __init__(self, workers: int, limit: int) -> None:
        self.limit = limit
        self.packages = [package(worker) for worker in range(workers)]

    @abstractmethod
    def run(self, candidate: Candidate, worker: int) -> Result:
        """Make and test a mutant."""

    @abstractmethod
    def unchanged(self, part: str) -> Result:
        """Run the tests of a part as things are."""

    def check(self, parts: set[str]) -> None:
        for part in sorted(parts):
            result = self.unchanged(part)
            if result.fate == "killed":
                raise BuildError(f"without a change, the tests of {part} fail: {result.by}")
            if result.seconds > self.limit * 0.8:
                raise BuildError(f"the tests of {part} take {result.seconds:.0f} s; make it less")

    def tested(self, tests: tuple[str, ...], worker: int, **variables: str) -> Result:
        there = self.packages[worker]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(there), str(ROOT)]),
            "OPENBLAS_NUM_THREADS": "1",
        }
        command = [sys.executable, "-X", "faulthandler", "-m", "pytest", "-x", "-vv", "--tb=line"]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.mutants.slow_tests"]
        command += ["--hypothesis-seed=0", *tests]
        output = there / "output"
        with output.open("w") as file:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment | variables,
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: _limit(self.limit),
            )
            status, seconds = _waited(process, WALL_TIMES * self.limit)
        if status == 0:
            return Result("survived", "", seconds)
        return Result("killed", _killer(output.read_text(errors="replace"), status), seconds)


class CoreTrials(Trials):
    def __init__(self, workers: int, limit: int) -> None:
        super().__init__(workers, limit)
        self.core = Core(workers)

    def unchanged(self, part: str) -> Result:
        stated = sorted({law for _, file in files(PARTS, part) for law in laws(file)})
        return self._with(built_core(), (*stated, *PARTS[part].tests), 0, [self.core.native])

    def run(self, candidate: Candidate, worker: int) -> Result:
        text = candidate.mutant.applied(candidate.text)
        built = self.core.build(candidate.file, text, worker)
        if built is None:
            return Result("stillborn")
        sources = [self.core.overlay(worker), self.core.native]
        tests = (*laws(candidate.file), *PARTS[candidate.part].tests)
        return self._with(built, tests, worker, sources)

    def _with(
        self, module: Path, tests: tuple[str, ...], worker: int, sources: list[Path]
    ) -> Result:
        shutil.copy(module, self.packages[worker] / "yantra" / module.name)
        native = os.pathsep.join(map(str, sources))
        return self.tested(tests, worker, YANTRA_NATIVE=native, PYTHONDONTWRITEBYTECODE="1")


class PythonTrials(Trials):
    def __init__(self, workers: int, limit: int) -> None:
        super().__init__(workers, limit)
        found = find_spec("yantra._core")
        if found is None or found.origin is None:
            raise BuildError("yantra has no core to run; `pip install .` builds it")
        core = Path(found.origin)
        for there in self.packages:
            (there / "yantra" / core.name).symlink_to(core)
        self.times = count(1)

    def unchanged(self, part: str) -> Result:
        return self._with(part, 0)

    def run(self, candidate: Candidate, worker: int) -> Result:
        """Compiled files are kept and recognized by time, so every mutant has a time of its own."""
        path = self.packages[worker] / Path(candidate.file).relative_to("src")
        kept = path.rename(path.with_suffix(".kept"))
        path.write_text(candidate.mutant.applied(candidate.text))
        time = next(self.times)
        os.utime(path, (time, time))
        try:
            return self._with(candidate.part, worker)
        finally:
            kept.replace(path)

    def _with(self, part: str, worker: int) -> Result:
        slowest = {slow_tests.VARIABLE: str(SLOWEST_OF_PYTHON)}
        return self.tested(PYTHON_PARTS[part].tests, worker, **slowest)


def _waited(process: subprocess.Popen[bytes], most: int) -> tuple[int, float]:
    alarm = threading.Timer(most, process.kill)
    alarm.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    finally:
        alarm.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, round(used.ru_utime + used.ru_stime, 1)


def _limit(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _killer(output: str, status: int) -> str:
    named = re.findall(r"^(?:ERROR |FAILED )?(tests/\S+(?:::\S+)?)", output, re.M)
    slow = " (too slow)"
    ends = {-signal.SIGXCPU: slow, -signal.SIGPROF: slow, -signal.SIGKILL: " (waits for ever)"}
    how = ends.get(status, f" (crash, signal {-status})" if status < 0 else "")
    return (named[-1] if named else f"exit status {status}") + how


# --- Trying many


class Campaign:
    def __init__(self, *, fresh: bool) -> None:
        self.results: dict[str, Result] = {}
        self.lock = threading.Lock()
        if RESULTS.exists() and not fresh:
            stored = json.loads(RESULTS.read_text())
            self.results = {name: Result(**one) for name, one in stored.items()}

    def forget_survivors(self) -> None:
        self.results = {n: one for n, one in self.results.items() if one.fate != "survived"}

    def keep(self, candidate: Candidate, result: Result) -> None:
        result = result._replace(place=candidate.place, change=candidate.mutant.change)
        with self.lock:
            self.results[candidate.name] = result
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            beside = RESULTS.with_suffix(".new")
            told = {name: one._asdict() for name, one in self.results.items()}
            beside.write_text(json.dumps(told, indent=1))
            beside.replace(RESULTS)

    def run(
        self,
        order: Iterator[Candidate],
        wanted: int,
        trials: Callable[[], Trials],
        told: Callable[[Candidate, Result, int], None],
        workers: int,
    ) -> list[tuple[Candidate, Result]]:
        born: list[tuple[Candidate, Result]] = []
        failure: list[BaseException] = []
        made: list[Trials] = []
        making = threading.Lock()
        equal = equivalents()

        def next_one() -> Candidate | None:
            with self.lock:
                while len(born) < wanted and (candidate := next(order, None)) is not None:
                    why = reason(candidate, equal)
                    known = Result("equivalent", why) if why else self.results.get(candidate.name)
                    if known is None:
                        return candidate
                    if known.fate != "stillborn":
                        born.append((candidate, known))
                return None

        def work(worker: int) -> None:
            try:
                while not failure and len(born) < wanted and (candidate := next_one()) is not None:
                    with making:
                        if not made:
                            made.append(trials())
                    result = made[0].run(candidate, worker)
                    self.keep(candidate, result)
                    if result.fate != "stillborn":
                        born.append((candidate, result))
                    told(candidate, result, len(born))
            except BaseException as error:
                failure.append(error)

        work_in_threads(work, workers)
        if failure:
            raise failure[0]
        return born[:wanted]


def work_in_threads(work: Callable[[int], None], workers: int) -> None:
    threads = [threading.Thread(target=work, args=(at,)) for at in range(1, workers)]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
