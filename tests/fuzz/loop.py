"""Runs one reader until it raises anything but a YantraError or takes more than ten seconds."""

from __future__ import annotations

import random
import re
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from tests.fuzz.mutate import mutated
from tests.fuzz.readers import Reader
from yantra.base.errors import YantraError

LONGEST_SECONDS = 10.0
_MOST_KEPT = 500
_LONGEST_INPUT = 100_000


class Failure(NamedTuple):
    data: bytes
    problem: str


class Outcome(NamedTuple):
    runs: int
    kept: int
    failure: Failure | None


def fuzz(
    reader: Reader,
    *,
    seconds: float = float("inf"),
    runs: float = float("inf"),
    seed: int = 1,
    first: tuple[bytes, ...] = (),
) -> Outcome:
    dice = random.Random(seed)
    end = time.monotonic() + seconds
    corpus: list[bytes] = []
    seen: set[str] = set()
    done = 0
    for data in _inputs(reader, corpus, dice, first):
        if corpus and (time.monotonic() > end or done >= runs):
            break
        done += 1
        try:
            outcome = _tried(reader, data)
        except Exception:
            return Outcome(done, len(corpus), Failure(data, traceback.format_exc()))
        if (outcome not in seen and len(corpus) < _MOST_KEPT) or not corpus:
            seen.add(outcome)
            corpus.append(data)
    return Outcome(done, len(corpus), None)


def save(failure: Failure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(failure.data)


def _inputs(
    reader: Reader, corpus: list[bytes], dice: random.Random, first: tuple[bytes, ...]
) -> Iterator[bytes]:
    seeds = reader.seeds()
    yield from first
    yield from seeds
    while True:
        data, other = dice.choice([*seeds, *corpus]), dice.choice([*seeds, *corpus])
        yield mutated(data, other, reader.form, dice)[:_LONGEST_INPUT]


def _tried(reader: Reader, data: bytes) -> str:
    begin = time.monotonic()
    with _alarm():
        try:
            reader.read(data)
            outcome = "read"
        except YantraError as error:
            outcome = re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "", str(error))[:200]
    if time.monotonic() - begin > LONGEST_SECONDS:
        raise TimeoutError(f"took more than {LONGEST_SECONDS} s")
    return outcome


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took more than {LONGEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
