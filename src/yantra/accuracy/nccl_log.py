"""Reads what nccl-tests print: which collective, on which ranks and nodes, and the time by size.

    # nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) ...
    #  Rank  0 Group  0 Pid 15429 on     node-1 device  0 [0x1b] NVIDIA H100 80GB HBM3
    #       size         count      type   redop    root     time   algbw   busbw #wrong  ...
              8             2     float     sum      -1    25.53    0.00    0.00      0  ...

A file may hold several runs, of other collectives and numbers of ranks; a run begins with its
line `# nThread`. The collective is the program's name (`all_reduce_perf`, built for MPI
`all_reduce_perf_mpi`), in a line of the run or before it, or in the name of the file. Prefixes of
mpirun (`[1,0]<stdout>:`, `[prterun-node-1@1,0]<stdout>:`) and of srun (`0: `) are taken off, and
what a log is indented by. Ranks that name no host are on one node. Sizes are bytes as nccl-tests
count them: of an all-gather what all ranks have together, else what one has. The out-of-place time
counts, in microseconds.

Trade-off: columns are found by their names, so that old and new versions are read alike; other
collectives than the four that a training step has are passed over, and told.
Source: NVIDIA nccl-tests, README.md and doc/PERFORMANCE.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from os import path as paths
from typing import NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got

COLLECTIVES = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
}
_PREFIX = re.compile(r"^(?:\[[^\[\]\s]{1,200},\d+\]<std(?:out|err)>:|\d{1,6}: ?)\s?(?=.)")
_PROGRAM = re.compile(r"\b([a-z_]+?)_perf(?:_mpi)?\b")
_RANK = re.compile(
    r"#\s+Rank\s+(\d+)\s.*?(?:\bon\s+(\S+)\s+)?\bdevice\s+\d+(?:\s+\[\S{1,40}\]\s+(.{1,200}))?"
)
_BEGINS = re.compile(r"#\s*nThread\b")
_LONGEST_US = 1e12
_MOST_BYTES = 2**53
_MOST_RANKS = 1 << 20


class Timing(NamedTuple):
    """The time of a collective of so many bytes, and the line it was printed in."""

    size: int
    us: float
    line: int


class Run(NamedTuple):
    """A run of one program: its collective, ranks, nodes, times by size, and what a device is.

    `device` is empty where the log does not say.
    """

    collective: str
    ranks: int
    nodes: int
    timings: tuple[Timing, ...]
    device: str = ""

    @property
    def where(self) -> str:
        """Return `node` where all ranks are on one, else `nodes`."""
        return "node" if self.nodes == 1 else "nodes"


class Log(NamedTuple):
    """The runs of a file, and what was passed over, in words."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...]


class _Block:
    """A run while it is read."""

    def __init__(self, program: str | None) -> None:
        self.program = program
        self.ranks: dict[int, str] = {}
        self.device = ""
        self.columns: list[str] = []
        self.timings: list[Timing] = []


def read_log(path: Path) -> Log:
    """Return the runs of a file of nccl-tests. Raises ConfigError with file and line."""
    return parse(read_text(path), str(path))


def parse(text: str, name: str) -> Log:
    """Return the runs of a text; `name` is what errors call it. Raises ConfigError."""
    blocks = list(_blocks(text, name))
    runs, notes = [], []
    for block in blocks:
        if not block.timings:
            continue
        program = block.program or _program(paths.basename(name))
        where = f"{name}:{block.timings[0].line}"
        if program is None:
            expected = f"the name of a program above ({_programs()}), or in the name of the file"
            raise ConfigError(where, expected_got(expected, "none"))
        if program not in COLLECTIVES:
            notes.append(f"{where}: {program}_perf is skipped; the programs read are {_programs()}")
            continue
        runs.append(_run(block, COLLECTIVES[program], where))
    if not runs and not notes:
        expected = "lines of nccl-tests: a size in bytes, a count, a type, ... and times"
        raise ConfigError(name, f"expected {expected}; there are none")
    return Log(tuple(runs), tuple(notes))


def _blocks(text: str, name: str) -> Iterator[_Block]:
    block = _Block(None)
    for at, whole in enumerate(text.split("\n"), 1):
        line = _PREFIX.sub("", whole.rstrip("\r")).lstrip()
        if _BEGINS.match(line) or (block.timings and _program(line)):
            # Of some logs the program is named above its first line, of others below.
            yield block
            block = _Block(None if block.timings else block.program)
        program = _program(line)
        if program is not None:
            block.program = program
        rank = _RANK.match(line)
        if rank is not None:
            block.ranks[int(rank[1][:7])] = rank[2] or ""
            block.device = rank[3] or block.device
        elif line.startswith("#"):
            words = line.lstrip("# ").split()
            if "size" in words[:1] and "time" in words:
                block.columns = words
        elif _is_data(line, block):
            block.timings.append(_timing(line.split(), block.columns, f"{name}:{at}", at))
    yield block


def _is_data(line: str, block: _Block) -> bool:
    """Return whether a line has times: below the names of the columns, and begins with a number."""
    words = line.split()
    return bool(words) and bool(block.columns) and words[0].isascii() and words[0].isdecimal()


def _program(line: str) -> str | None:
    found = _PROGRAM.search(line)
    return found[1] if found else None


def _programs() -> str:
    return ", ".join(f"{one}_perf" for one in COLLECTIVES)


def _timing(words: list[str], columns: list[str], where: str, line: int) -> Timing:
    """Return the time of a line, by where its column stands among the names."""
    at = columns.index("time")
    if len(words) <= at:
        raise ConfigError(where, f"expected {len(columns)} columns, got {len(words)}: cut off?")
    size = int(words[0]) if len(words[0]) < 17 else _MOST_BYTES
    if size >= _MOST_BYTES:
        raise ConfigError(where, f"size: {expected_got('bytes below 2^53', words[0])}")
    try:
        us = float(words[at])
    except ValueError:
        us = -1.0
    if not 0 <= us < _LONGEST_US or not isfinite(us):
        raise ConfigError(where, f"time: {expected_got('microseconds', words[at])}")
    return Timing(size, us, line)


def _run(block: _Block, collective: str, where: str) -> Run:
    ranks = len(block.ranks)
    if ranks < 2 or max(block.ranks) >= _MOST_RANKS:
        problem = f"expected two or more lines '# Rank 0 ... on HOST device 0' above; got {ranks}"
        raise ConfigError(where, f"{problem}. nccl-tests print them; keep the whole output")
    nodes = len(set(block.ranks.values()))
    timings = tuple(one for one in block.timings if one.size > 0 and one.us > 0)
    return Run(collective, ranks, nodes, timings, block.device)
