"""Holds laws on random pairs of a job and a changed job, on every network.

    python -m tests.laws --count 2000
    python -m tests.laws --seconds 3600 --first 100000 --network packet --law ends
    python -m tests.laws --case ends packet 17

`--count` cases of every law on every network, from `--first` on, or as many as `--seconds` allow.
It prints how many cases there were and how many break their law, and ends with status 1 if one does
that is not in `known.py`. `--case LAW NETWORK SEED` prints one case, shrunk if it breaks its law.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter, defaultdict
from itertools import count

from tests.laws import campaign
from tests.laws.known import KNOWN
from tests.laws.laws import LAWS
from tests.laws.places import NETWORKS


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.laws",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=100, help="cases of each law and network")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, help="go on for so long, whatever --count says")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--law", action="append", default=[], choices=LAWS)
    parser.add_argument("--network", action="append", default=[], choices=NETWORKS)
    parser.add_argument("--case", nargs=3, metavar=("LAW", "NETWORK", "SEED"))
    given = parser.parse_args()
    if given.case:
        law, network, seed = given.case
        case, text = campaign.smallest(law, network, int(seed))
        print(LAWS[law].says, case, text or "it holds", sep="\n")
        return int(bool(text))
    return _campaign(given, campaign.pairs(given.law, given.network))


def _campaign(given: argparse.Namespace, chosen: list[tuple[str, str]]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts jobs with the first ignored
        signal.signal(number, signal.default_int_handler)
    todo = campaign.blocks(chosen, given.first, given.count)
    if given.seconds is not None:
        starts = count(given.first, campaign.BLOCK)
        todo = (block for at in starts for block in campaign.blocks(chosen, at, campaign.BLOCK))
    known = {(one.law, one.network) for one in KNOWN}
    cases: Counter[tuple[str, str]] = Counter()
    wrong: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    noted: Counter[tuple[str, str]] = Counter()
    try:
        for found in campaign.run(todo, given.workers, given.seconds):
            pair = found.block.law, found.block.network
            cases[pair] += found.cases
            noted[pair] += len(found.noted)
            wrong[pair] += found.wrong
            for seed, text in found.wrong if pair not in known else ():
                print(f"{pair[0]}, {pair[1]} {seed}: {text}", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    _summarize(chosen, cases, wrong, noted, known)
    return int(any(found and pair not in known for pair, found in wrong.items()))


def _summarize(
    chosen: list[tuple[str, str]],
    cases: Counter[tuple[str, str]],
    wrong: dict[tuple[str, str], list[tuple[int, str]]],
    noted: Counter[tuple[str, str]],
    known: set[tuple[str, str]],
) -> None:
    for pair in chosen:
        told = f"{len(wrong[pair])} break it"
        told += ", as is known" if wrong[pair] and pair in known else ""
        told += f"; {noted[pair]} noted: slower, or rounded, with a witness" if noted[pair] else ""
        print(f"{cases[pair]:7} on {pair[1]:18} {pair[0]:11} {told}")
    print(f"{cases.total()} cases, {sum(map(len, wrong.values()))} break a law")


if __name__ == "__main__":
    sys.exit(main())
