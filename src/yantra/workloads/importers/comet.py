"""Text workloads of COMET: those of ASTRA-sim 1.0 with columns for a roofline.

A layer's pass has its sizes beside its time:

| form | columns of a pass (forward, input gradient, weight gradient) | columns in all |
|---|---|---| | products | time, memory, M, K, N, communication, bytes | 24 | | operations |
operations, bytes moved, time, communication, bytes | 18 | | operations of a layer | the first two
with the forward pass alone | 14 |

The name and a reserved column come first, the update time last. A roofline replaces the recorded
times: a product takes 2 M K N / peak, operations take operations / min(bandwidth x intensity,
peak).

Source: facts of the artifact dkadiyala3/comet-astrasim (commits f8c7e15, 519f0d5) and its logs;
Kadiyala et al., arXiv 2211.16648.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.workloads.importers.layer_text.parse import parse
from yantra.workloads.importers.layer_text.workload import Layer, Workload

_COLUMNS = {24: "products", 18: "operations", 14: "operations of a layer"}
_PASSES = ("forward", "input_gradient", "weight_gradient")
_LARGEST = 2**63


class Roofline(NamedTuple):
    """A device: peak in FLOP/s; memory bandwidth in B/s, None if not given."""

    peak_flops: float
    memory_bytes_per_s: float | None = None


class _Line(NamedTuple):
    where: str
    plain: str
    work: tuple[tuple[int, int | None], ...]


def read(path: Path, roofline: Roofline | None = None) -> Workload:
    """Read a file of either form; times in ns, by a roofline or as recorded.

    Raises ConfigError with file and line.
    """
    name = str(path)
    text = read_text(path)
    lines = _lines(text, name)
    head = [line for line in text.split("\n") if line.split()][:2]
    plain = "\n".join([*head, *(line.plain for line in lines)]) + "\n"
    workload = parse(plain, name)
    if roofline is None:
        return workload._replace(text=text)
    layers = tuple(
        _timed(layer, line, roofline) for layer, line in zip(workload.layers, lines, strict=True)
    )
    return workload._replace(text=text, layers=layers)


def _lines(text: str, name: str) -> list[_Line]:
    found = [
        (f"{name}:{number}", words)
        for number, line in enumerate(text.split("\n"), start=1)
        if (words := line.split())
    ]
    if len(found) < 3:
        problem = "ends too early; expected a keyword, the number of layers, and a line for each"
        raise ConfigError(name, problem)
    counts = {len(words) for _, words in found[2:]}
    lines = [_line(where, words) for where, words in found[2:]]
    if len(counts) > 1:
        forms = " and ".join(str(count) for count in sorted(counts))
        raise ConfigError(name, f"expected one form for all layers, got {forms} columns")
    return lines


def _line(where: str, words: list[str]) -> _Line:
    count = len(words)
    if count not in _COLUMNS:
        forms = ", ".join(f"{size} ({what})" for size, what in _COLUMNS.items())
        hint = ""
        if count == 12:
            hint = "; this is ASTRA-sim 1.0's form, read it with: yantra chakra convert text"
        raise ConfigError(where, expected_got(f"{forms} columns", count) + hint)
    if count == 24:
        return _products(where, words)
    return _operations(where, words)


def _products(where: str, words: list[str]) -> _Line:
    plain, work = words[:2], []
    for first in (2, 9, 16):
        m, k, n = (_whole(where, words, first + at) for at in (2, 3, 4))
        _whole(where, words, first + 1)
        work.append((2 * m * k * n, None))
        plain += [words[first], *words[first + 5 : first + 7]]
    return _Line(where, " ".join([*plain, words[-1]]), tuple(work))


def _operations(where: str, words: list[str]) -> _Line:
    plain, work = words[:2], []
    at = 2
    for number in range(len(_PASSES)):
        given = number == 0 or len(words) == 18
        amount = tuple(_whole(where, words, at + one) for one in (0, 1)) if given else (0, 0)
        at += 2 if given else 0
        plain += words[at : at + 3]
        at += 3
        work.append((amount[0], amount[1]))
    return _Line(where, " ".join([*plain, words[-1]]), tuple(work))


def _whole(where: str, words: Sequence[str], at: int) -> int:
    word = words[at]
    if not (word.isascii() and word.isdigit()) or len(word) > 30 or int(word) >= _LARGEST:
        place = f"{where}: column {at + 1}"
        raise ConfigError(place, expected_got("a whole number from 0 to 2^63 - 1", word))
    return int(word)


def _timed(layer: Layer, line: _Line, roofline: Roofline) -> Layer:
    is_shared = line.work[0][1] is not None and not any(any(one) for one in line.work[1:])
    timed: dict[str, Any] = {}
    for name, work in zip(_PASSES, line.work, strict=True):
        taken = line.work[0] if is_shared else work
        ns = _time_ns(line.where, taken, roofline) / (len(_PASSES) if is_shared else 1)
        timed[name] = getattr(layer, name)._replace(time=_cut(line.where, ns))
    return layer._replace(**timed)


def _time_ns(where: str, work: tuple[int, int | None], roofline: Roofline) -> float:
    operations, moved = work
    if moved is None:
        return operations / (roofline.peak_flops / 1e9)
    if roofline.memory_bytes_per_s is None:
        problem = "missing; this form says what a layer moves, so give --memory-bandwidth"
        raise ConfigError(f"{where}: memory bandwidth", problem)
    computing = operations / (roofline.peak_flops / 1e9)
    if operations and not moved:
        problem = "0 bytes moved give no rate; expected the bytes that the operations need"
        raise ConfigError(where, problem)
    return max(computing, moved / (roofline.memory_bytes_per_s / 1e9))


def _cut(where: str, ns: float) -> int:
    if not (isfinite(ns) and ns < _LARGEST):
        raise ConfigError(where, f"the time of {ns:g} ns is too long to simulate")
    return int(struct.unpack("f", struct.pack("f", ns))[0])
