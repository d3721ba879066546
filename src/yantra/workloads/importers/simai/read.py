"""Reads a workload file of SimAI, as AICB writes them: a line of sizes, then a row per operation.

    HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 4 pp: 2 ... pp_comm: 4096
    <number of rows>
    name  -1  forward: time type bytes  input gradient: time type bytes
              weight gradient: time type bytes  time of processing

Source: SimAI, Workload.cc, and AICB's workload generators, 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got, show
from yantra.chakra import CollectiveType

KEYWORDS = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER")
COLLECTIVES: Mapping[str, CollectiveType] = {
    "ALLREDUCE": CollectiveType.ALL_REDUCE,
    "ALLGATHER": CollectiveType.ALL_GATHER,
    "REDUCESCATTER": CollectiveType.REDUCE_SCATTER,
    "ALLTOALL": CollectiveType.ALL_TO_ALL,
}
NOT_RUN = "BROADCAST"
"""AICB has written it; SimAI runs nothing there."""
_GROUPS = {"EP": "ep", "DP_EP": "edp"}
_SIZES = {
    "model_parallel_NPU_group": "tp",
    "ep": "ep",
    "expert_parallel_npu_group": "ep",
    "pp": "pp",
    "vpp": "vpp",
    "ga": "micro_batches",
    "all_gpus": "ranks",
    "pp_comm": "pp_bytes",
    "mode": "mode",
}
_LISTS = ("checkpoints", "checkpoint_initiates")
_COLUMNS = 12
_LARGEST = 2**62
_INFERENCE = 1
_MOST = 2**16
_LIMITS = {"pp_comm": (0, _LARGEST), "mode": (0, _INFERENCE), "all_gpus": (1, 2**31)}


class Phase(NamedTuple):
    """A pass of a row: computing time in ns, then a collective over a group, if `kind`."""

    time_ns: int
    kind: CollectiveType | None = None
    group: str = ""
    size_bytes: int = 0


class Row(NamedTuple):
    """One operation; `update_ns` is the delay after each of its collectives."""

    name: str
    forward: Phase
    input_gradient: Phase
    weight_gradient: Phase
    update_ns: int


class Job(NamedTuple):
    """`ranks` is None if not given; `pp_bytes` cross stages."""

    where: str
    rows: tuple[Row, ...]
    tp: int
    ep: int = 1
    pp: int = 1
    vpp: int = 1
    micro_batches: int = 1
    ranks: int | None = None
    pp_bytes: int = 0
    is_inference: bool = False
    notes: tuple[str, ...] = ()


def read(path: Path) -> Job:
    return parse(read_text(path), str(path))


def parse(text: str, name: str) -> Job:
    """Parse a file; `name` is the file for errors."""
    lines = [
        (f"{name}:{number}", line.split())
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    if len(lines) < 2:
        raise ConfigError(name, f"ends early; expected {KEYWORDS[0]}, the number of rows, rows")
    sizes = _header(*lines[0])
    where, words = lines[1]
    if len(words) != 1:
        problem = expected_got("the number of rows alone", " ".join(words))
        raise ConfigError(where, problem)
    count = _number(where, "the number of rows", words[0])
    left_out: list[str] = []
    rows = tuple(_row(where, words, left_out) for where, words in lines[2:])
    if len(rows) != count or not rows:
        problem = expected_got(f"{count} rows, as line 2 says, at least 1", len(rows))
        raise ConfigError(name, problem)
    is_inference = sizes.pop("mode", 0) == _INFERENCE
    return Job(name, rows, is_inference=is_inference, notes=tuple(left_out), **sizes)


def _header(where: str, words: list[str]) -> dict[str, int]:
    if words[0] not in KEYWORDS:
        known = f"one of {', '.join(KEYWORDS)} (others are text workloads of ASTRA-sim 1.0)"
        raise ConfigError(where, expected_got(known, words[0]) + did_you_mean(words[0], KEYWORDS))
    sizes: dict[str, int] = {}
    rest = iter(words[1:])
    for word in rest:
        label = word.rstrip(":")
        number = next(rest, "")
        if label in _LISTS:
            if number != "0":
                what = f"{label}: SimAI's files say what is recomputed by their rows"
                raise UnsupportedError(f"{where}: {what}; expected {label}: 0, got {number}")
            continue
        if label not in _SIZES:
            hint = did_you_mean(label, _SIZES)
            raise ConfigError(where, f"{show(word)} is no word of SimAI's{hint}")
        size = _number(where, label, number.removesuffix(".0"))
        least, most = _LIMITS.get(label, (1, _MOST))
        if not least <= size <= most:
            raise ConfigError(where, expected_got(f"{label} from {least} to {most}", size))
        sizes[_SIZES[label]] = size
    if "tp" not in sizes:
        raise ConfigError(where, "has no model_parallel_NPU_group: N, the ranks of a layer")
    return sizes


def _row(where: str, words: list[str], left_out: list[str]) -> Row:
    if len(words) != _COLUMNS:
        raise ConfigError(where, expected_got(f"{_COLUMNS} columns", len(words)))
    return Row(
        words[0],
        _phase(f"{where}: forward", words[2:5], "tp", left_out),
        _phase(f"{where}: input gradient", words[5:8], "tp", left_out),
        _phase(f"{where}: weight gradient", words[8:11], "dp", left_out),
        _number(where, "the time of processing", words[11]),
    )


def _phase(where: str, words: list[str], base: str, left_out: list[str]) -> Phase:
    time = _number(where, "a time in ns", words[0])
    size = _number(where, "a size in bytes", words[2])
    if words[1] == "NONE" or size == 0:
        return Phase(time)
    if words[1] == NOT_RUN:
        left_out.append(f"{where}: {NOT_RUN} of {size} bytes is left out: SimAI does not run it")
        return Phase(time)
    kind, group = _communication(where, words[1], base)
    return Phase(time, kind, group, size)


def _communication(where: str, word: str, base: str) -> tuple[CollectiveType, str]:
    name, _, suffix = word.partition("_")
    if name not in COLLECTIVES or (suffix and suffix not in _GROUPS):
        known = [f"{kind}{end}" for kind in COLLECTIVES for end in ("", "_EP", "_DP_EP")]
        hint = did_you_mean(word, known) or f"; the types are {', '.join(known)}, NONE"
        raise ConfigError(where, expected_got("a type of communication", word) + hint)
    return COLLECTIVES[name], _GROUPS.get(suffix, base)


def _number(where: str, what: str, word: str) -> int:
    if not (word.isascii() and word.isdigit()) or len(word) > 20 or int(word) > _LARGEST:
        raise ConfigError(where, expected_got(f"{what}, a whole number from 0", word))
    return int(word)
