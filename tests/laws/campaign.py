"""Holds many cases of laws, in processes, and counts what they break."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import inf
from multiprocessing import get_context
from random import Random
from threading import Event, Semaphore
from time import monotonic
from typing import NamedTuple

from tests.laws.cases import Case
from tests.laws.laws import LAWS, broken
from tests.laws.places import NETWORKS
from yantra.base.errors import UnsupportedError

BLOCK = 25


class Block(NamedTuple):
    law: str
    network: str
    first: int
    count: int


class Found(NamedTuple):
    block: Block
    cases: int
    wrong: tuple[tuple[int, str], ...]
    noted: tuple[tuple[int, str], ...]


def case_of(law: str, network: str, seed: int) -> Case | None:
    return LAWS[law].draw(Random(f"{law} {network} {seed}"), network)


def pairs(laws: Sequence[str] = (), networks: Sequence[str] = ()) -> list[tuple[str, str]]:
    return [
        (name, network)
        for name, law in LAWS.items()
        for network in networks or NETWORKS
        if network not in law.not_on and (not laws or name in laws)
    ]


def held(block: Block) -> Found:
    law = LAWS[block.law]
    cases, wrong, noted = 0, [], []
    for seed in range(block.first, block.first + block.count):
        case = case_of(block.law, block.network, seed)
        if case is None:
            continue
        try:
            text = broken(law, case)
            if law.noted is not None and not text and (note := law.noted(case)):
                noted.append((seed, note))
        except UnsupportedError:
            continue
        cases += 1
        if text:
            wrong.append((seed, text))
    return Found(block, cases, tuple(wrong), tuple(noted))


def blocks(chosen: Sequence[tuple[str, str]], first: int, count: int) -> Iterator[Block]:
    for at in range(first, first + count, BLOCK):
        for law, network in chosen:
            yield Block(law, network, at, min(BLOCK, first + count - at))


def run(todo: Iterator[Block], workers: int, seconds: float | None) -> Iterator[Found]:
    ends = inf if seconds is None else monotonic() + seconds
    if workers == 1:
        yield from map(held, takewhile(lambda _: monotonic() < ends, todo))
        return
    ahead = Semaphore(4 * workers)  # blocks handed out and not yet back
    over = Event()

    def handed_out() -> Iterator[Block]:
        for block in todo:
            ahead.acquire()
            if over.is_set() or monotonic() > ends:
                return
            yield block

    with get_context("fork").Pool(workers, _ignore_interrupts) as pool:
        try:
            for found in pool.imap_unordered(held, handed_out()):
                ahead.release()
                yield found
        finally:
            over.set()
            ahead.release()


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def smallest(law: str, network: str, seed: int) -> tuple[Case, str]:
    from tests.laws.shrinking import shrunk

    case = case_of(law, network, seed)
    if case is None:
        raise SystemExit(f"{law} has no case {seed} on {network}")
    case = shrunk(LAWS[law], case) if broken(LAWS[law], case) else case
    return case, broken(LAWS[law], case)
