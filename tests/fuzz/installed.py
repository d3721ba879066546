"""Runs the installed command on broken files, as its user does.

    python -m tests.fuzz --target installed --runs 10000 [--command /path/of/yantra]

A target is a command line and one of the files that it reads, mostly from the examples of `--help`.
A run changes the file, by structure, by bytes or by one of the hostile values below. A fault is a
status that no command has for an input (70 for a bug in Yantra), a signal, a refusal that does not
name the file, a character that controls the terminal, and, without any message, more than two
seconds of processor time or 500 MB beyond what the unchanged file takes. Each run is a fresh
process: one that has imported everything hides mistakes of those that have not.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

from tests.cli import example_files
from tests.cli.tree import COMMANDS
from tests.fuzz import readers
from tests.fuzz.mutate import mutated

OWN = (sys.executable, "-m", "yantra")
LONGEST_S = 60.0
MOST_CPU_S, MOST_BYTES = 2.0, 500 << 20
STATUSES = (0, 1, 2, 3)  # 1: `chakra diff` found a difference, as `diff` does
_SPAWNS = ("service", "ui", "microbench", "chakra replay", "doctor", "contract", "new", "demo")
_READ = {".json", ".yaml", ".yml", ".csv", ".et", ".gz", ".xml", ".txt", ".sh", ".yw", ".log"}
_READ |= {".graphml", ".infragraph"}
_OBEYED = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
_SAYS_WHERE = re.compile(
    rb"error: --|\"--[a-z]|\.(?:\d+|\{rank\})\.et: no such file|\.\d+\.et: node"
)
_SAYS_WHAT_IT_NEEDS = re.compile(rb"unpacks from|memory: |takes about|more than")

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NUMBERS = (
    *(b"9" * 301, b"9" * 5000, b"1e999", b"-1e999", b"Infinity", b"NaN", b"-1", b"0", b"-0.0"),
    *(b"1e-320", b"9007199254740993", b"9223372036854775808", b"18446744073709551616", b"1e308"),
    *(b"0x10", b"1_000", "٣".encode(), b"1" + b"0" * 100, b"4294967296", b"2147483648"),
)
_TEXT = re.compile(rb'"[^"\\\n]{1,60}"')
_TEXTS = (
    *(b"\x1b[31m", b"\\u001b[2J", b"\xff\xfe", b"=1+1", b"\\ud800", b"x" * 140_000, b"\xc2\x9b"),
    *(b"../../x", b"\\u0000", "\u202e".encode(), b"{rank}", b"-", b"*a", b"&a", b"%s", b"{}"),
)


def _packed_zeros() -> bytes:
    return gzip.compress(bytes(80 << 20), 9)


def _aliases(data: bytes) -> bytes:
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%s]" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)]
    return data + b"\n" + b"\n".join(lines)


WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "a block of NULs": lambda data: data[: len(data) // 2] + bytes(4096),
    "not UTF-8": lambda data: data[: len(data) // 2] + b"\xff\xfe\x80" + data[len(data) // 2 :],
    "UTF-16": lambda data: data.decode(errors="replace").encode("utf-16"),
    "half": lambda data: data[: len(data) // 2],
    "lists in lists": lambda data: b"[" * 100_000,
    "objects in objects": lambda data: b'{"a":' * 100_000,
    "closed lists in lists": lambda data: b"[" * 5000 + b"]" * 5000,
    "a long line": lambda data: b"x" * 200_000,
    "digits": lambda data: b"9" * 6000,
    "a gzip bomb": lambda data: _packed_zeros(),
    "half of a gzip": lambda data: gzip.compress(data)[:-9],
    "gzip in gzip": lambda data: gzip.compress(gzip.compress(data)),
    "a ZIP": lambda data: b"PK\x03\x04" + data,
    "aliases of aliases": _aliases,
    "twice": lambda data: data + data,
    "another newline": lambda data: data.replace(b"\n", b"\r"),
}


class Target(NamedTuple):
    words: tuple[str, ...]
    file: str

    @property
    def name(self) -> str:
        return f"{' '.join(self.words)} <- {self.file}"

    @property
    def names(self) -> tuple[str, ...]:
        jobs = [word for word in self.words if os.path.splitext(word)[1] in _READ]
        return (os.path.basename(self.file), *map(os.path.basename, jobs))


class Ended(NamedTuple):
    status: int | None
    said: bytes
    cpu_s: float
    peak_bytes: int


def targets(folder: Path) -> list[Target]:
    found: dict[Target, None] = {}
    for command in COMMANDS:
        name = " ".join(command.words)
        if name.startswith(_SPAWNS):
            continue
        lines = [example_files.words(example) for example in command.examples]
        lines += [words for words in MORE if " ".join(words).startswith(f"{name} ")]
        for words in lines:
            for file in _read_by(words, folder):
                found.setdefault(Target(tuple(words), file))
    return list(found)


MORE = [
    line.split()
    for line in (
        "run result.json -o again.json",
        "run step.yaml --record --csv nodes.csv --table nodes",
        "run grouped.yaml",
        "run --workload step.yw --cluster hgx-h100",
        "validate grouped.yaml",
        "validate result.json",
        "compare result.json other.json --json",
        "explain result.json --json",
        "chakra stats packed.0.et",
        "chakra show trace.json",
        "chakra show packed.0.et",
        "chakra rewrite job.0.et -o new.et",
        "topology show pod.csv",
        "topology show pod.graphml",
        "topology show pod.yaml",
        "topology show pod.infragraph.yaml --set links.*.bandwidth=1GB/s --set links.*.latency=1us",
        "topology show pod.txt",
        "workload show step.yw",
        "workload train --hf-config config.json --tp 2 -o w.yw",
        "sweep step.yaml other.yaml --json",
        "network flows flows.csv --topology pod.csv --json",
    )
]


def write(folder: Path) -> None:
    example_files.write(folder)
    write_more(folder)


def write_more(folder: Path) -> None:
    (folder / "groups.json").write_text('{"1": [0, 1], "2": [2, 3]}')
    scenario = (folder / "step.yaml").read_text()
    (folder / "grouped.yaml").write_text(
        scenario.replace('"job.{rank}.et"}', '"job.{rank}.et", groups: groups.json}')
    )
    (folder / "packed.0.et").write_bytes(gzip.compress((folder / "job.0.et").read_bytes()))
    for ending, reader in _FABRICS.items():
        (folder / f"pod.{ending}").write_bytes(readers.load(reader).seeds()[0])


_FABRICS = {
    "graphml": "fabric_graphml",
    "yaml": "fabric_yaml",
    "infragraph.yaml": "fabric_infragraph",
    "txt": "fabric_ns3",
}


def _read_by(words: Sequence[str], folder: Path) -> Iterator[str]:
    before = ""
    for word in words:
        is_output, before = before in ("-o", "--output", "--export"), word
        name = word.partition("=")[2] if word.startswith("--") else word
        for file in (name, name.replace("{rank}", "0"), f"{name}.0.et"):
            path = folder / file
            if not is_output and path.suffix in _READ and path.is_file():
                yield file
                yield from _BESIDE.get(file, ())
    if "finished-study" in words:
        yield "finished-study/trials.jsonl"


_BESIDE = {
    "step.yaml": ("job.0.et",),
    "grouped.yaml": ("groups.json",),
    "tenants.yaml": ("step.yaml",),
}


def changed(data: bytes, other: bytes, file: str, dice: random.Random) -> tuple[str, bytes]:
    kind = dice.randrange(10)
    if kind < 2:
        what = dice.choice(list(WHOLE))
        return what, WHOLE[what](data)
    for pattern, values, above in ((_NUMBER, _NUMBERS, 5), (_TEXT, _TEXTS, 6)):
        spots = list(pattern.finditer(data)) if kind < above else []
        if spots:
            spot, value = dice.choice(spots), dice.choice(values)
            value = b'"' + value + b'"' if pattern is _TEXT else value
            return "a value", data[: spot.start()] + value + data[spot.end() :]
    is_json = file.endswith((".json", ".jsonl"))
    form = "json" if is_json else "xml" if file.endswith((".xml", ".graphml")) else ""
    return "a mutation", mutated(data, other, form, dice)


def ended(command: Sequence[str], words: Sequence[str], folder: Path) -> Ended:
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [*command, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True, preexec_fn=_without_core,
        )  # fmt: skip
        end = time.monotonic() + LONGEST_S
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                process.kill()
                _, _, usage = os.wait4(process.pid, 0)
                process.returncode = -9
                return Ended(None, b"", usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        cpu = usage.ru_utime + usage.ru_stime
        return Ended(process.returncode, out.read(), cpu, usage.ru_maxrss << 10)


def _without_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault(made: Ended, usual: Ended, named: Sequence[str]) -> str | None:
    if made.status is None:
        return f"took more than {LONGEST_S:.0f} s"
    if made.status not in STATUSES:
        return f"status {made.status}"
    if b"Traceback" in made.said or b"This is a bug in Yantra" in made.said:
        return "a trace of Python"
    if _OBEYED.search(made.said):
        return "a control character reached the terminal"
    says_where = any(name.encode() in made.said for name in named) or _SAYS_WHERE.search(made.said)
    if made.status == 2 and not says_where:
        return "a refusal that names no file"
    says = _SAYS_WHAT_IT_NEEDS.search(made.said)
    if made.cpu_s > max(MOST_CPU_S, 2 * usual.cpu_s + 1) and not says:
        return f"{made.cpu_s:.1f} s of processor time without a word"
    if made.peak_bytes > max(MOST_BYTES, 2 * usual.peak_bytes) and not says:
        return f"{made.peak_bytes >> 20} MiB without a word"
    return None


def campaign(
    runs: int,
    seconds: float,
    seed: int,
    *,
    command: Sequence[str] = OWN,
    kept: Path | None = None,
    only: str = "",
    also: Callable[[Path], object] = lambda folder: None,
) -> list[str]:
    """`only` is a part of the names of the targets; `also` writes more into their folder."""
    dice, end = random.Random(seed), time.monotonic() + seconds
    faults: list[str] = []
    statuses: Counter[int | None] = Counter()
    done = 0
    with tempfile.TemporaryDirectory() as name:
        original, work = Path(name) / "original", Path(name) / "work"
        original.mkdir()
        with redirect_stdout(StringIO()):
            write(original)
        also(original)
        chosen = [one for one in targets(original) if only in one.name]
        usual: dict[Target, Ended] = {}
        for target in chain.from_iterable(repeat(chosen)):
            if done >= runs or time.monotonic() > end:
                break
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(original, work, symlinks=True)
            if target not in usual:
                usual[target] = ended(command, target.words, work)
                if usual[target].status not in (0, 1):
                    said = usual[target].said[-300:].decode(errors="replace")
                    print(f"left out, as its file is refused unchanged: {target.name}\n{said}")
                continue  # it may have written its own input
            if usual[target].status not in (0, 1):
                continue
            path = work / target.file
            data = path.read_bytes()
            other = (work / dice.choice(chosen).file).read_bytes()
            what, broken = changed(data, other, target.file, dice)
            path.write_bytes(broken)
            made = ended(command, target.words, work)
            statuses[made.status] += 1
            done += 1
            if problem := fault(made, usual[target], target.names):
                faults.append(f"{target.name}: {what}: {problem}")
                print(faults[-1], made.said[-400:].decode(errors="replace"), sep="\n", flush=True)
                _keep(kept, broken, target, len(faults))
    counts = ", ".join(f"{count} x {status}" for status, count in statuses.most_common())
    ran = sum(one.status in (0, 1) for one in usual.values())
    out = len(usual) - ran
    print(
        f"installed: {done} runs, {ran} targets, {out} left out, {len(faults)} faults; {counts}",
        flush=True,
    )
    return faults


def _keep(folder: Path | None, broken: bytes, target: Target, number: int) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}-{os.path.basename(target.file)}").write_bytes(broken)
        (folder / f"{number}.line").write_text(target.name + "\n")
