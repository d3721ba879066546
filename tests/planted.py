"""Plants faults in recorded jobs and counts how many `yantra trace why` names.

`python -m tests.planted --count 300` prints a line a kind of fault, and the false alarms of clean
jobs. The tests run a few.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial

from tests.recorded_jobs import BYTES, LOAD, US_OF_ALL, Plan, job
from yantra.chakra.trace import Trace
from yantra.explain.recordings.transfers import Expected
from yantra.explain.recordings.why import Why, of_summaries
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.pytorch import kineto
from yantra.tracing.pytorch.convert import convert_job
from yantra.tracing.pytorch.link.join import link_alone
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.why.rank import ranks_of
from yantra.tracing.why.summary import UNEXPLAINED, Summary, summarise

KINDS = ("kernels", "host", "loader", "gap", "pair", "steps", "model")
NAMES = {
    "kernels": "ampere_sgemm_128x64_tn",
    "host": "aten::unique",
    "loader": LOAD,
    "gap": UNEXPLAINED,
}
MINUTE_NS = 60 * 10**9


def planted(kind: str, seed: int) -> Plan:
    """Draw a job with one fault; any other kind is a clean one."""
    draw = random.Random(f"{kind}{seed}")
    ranks = draw.choice([4, 6, 8])
    plan = Plan(
        ranks=ranks,
        steps=draw.randint(3, 5),
        layers=draw.randint(2, 4),
        seed=seed,
        apart_ns=draw.choice([0, 10**6, MINUTE_NS]),
        drift=draw.choice([0.0, 2e-5]),
    )
    rank, since = draw.randrange(ranks), draw.randrange(plan.steps - 1)
    if kind == "kernels":
        return plan._replace(late=(kind, rank, since, draw.uniform(0.15, 0.6)))
    if kind in NAMES:
        return plan._replace(late=(kind, rank, since, draw.uniform(150.0, 3000.0)))
    if kind == "pair":
        return plan._replace(slow_pair=(draw.randrange(ranks // 2), 1 / 0.8, 0))
    if kind == "steps":
        # two ranks have no other group of their kind beside them
        steps = draw.randint(4, 6)
        slow = 0, 1 / 0.8, draw.randint(1, steps - 1)
        return plan._replace(ranks=2, steps=steps, layers=draw.randint(3, 5), slow_pair=slow)
    return plan._replace(slow_all=2.0 if kind == "model" else 1.0)


def trace_of(plan: Plan) -> Iterator[RankTrace]:
    """The converted recordings of a job, by rank."""
    linked = [partial(_linked, json.dumps(form).encode()) for form in job(plan)]
    content: dict[int, bytes] = {}
    convert_job(linked, lambda rank, pieces: content.update({rank: b"".join(pieces)}))
    for rank in sorted(content):
        yield RankTrace(rank, f"rank{rank}.json", Trace.from_bytes(content[rank]))


def _linked(text: bytes) -> Linked:
    return link_alone(kineto.parse(text, "a rank", shapes=True))


def read(plan: Plan, step: int | None = None) -> list[Summary]:
    """The summaries of a planted job."""
    return [summarise(rank, step) for rank in ranks_of(trace_of(plan))]


def answer(plan: Plan, step: int | None = None) -> Why:
    """What is said of a planted job, whose network the model knows within 15 %."""
    return of_summaries(read(plan, step), _model)


def _model(kind: str, size: int, ranks: int) -> Expected | None:
    if kind != "all_reduce" or size != BYTES:
        return None
    time = 1000 * US_OF_ALL
    return Expected(time, time / 1.15, time * 1.15, "the generator")


def is_named(plan: Plan, found: Why) -> bool:
    """Whether the first sentence names what was planted, by rank, work and step, or group."""
    if not found.named:
        return False
    if plan.late is not None:
        kind, rank, since, _ = plan.late
        who = f"rank {rank} is late because of {NAMES[kind]} "
        return found.named[0].startswith(who) and f"since step {since}:" in found.named[0]
    group = "0" if plan.slow_pair is None else str(1 + plan.slow_pair[0])
    (first, *_) = found.named
    if plan.slow_pair is not None and plan.slow_pair[2]:
        return f"of group {group} " in first and f"slower since step {plan.slow_pair[2]}" in first
    return f"of group {group} " in first and "is slow" in first


def main(arguments: list[str]) -> int:
    """Print what was named of `--count` faults and what of a third as many clean jobs."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--count", type=int, default=300)
    count = reader.parse_args(arguments).count
    named: Counter[str] = Counter()
    for at in range(count):
        kind = KINDS[at % len(KINDS)]
        plan = planted(kind, at)
        found = answer(plan)
        named[kind] += is_named(plan, found)
        if not is_named(plan, found):
            print(f"missed {kind} {at}: {plan}\n  said {found.named}")
    for kind in KINDS:
        of = len(range(KINDS.index(kind), count, len(KINDS)))
        print(f"{kind}: {named[kind]} of {of}")
    alarms = [said for at in range(count // 3) if (said := answer(planted("clean", at)).named)]
    print(f"clean: {len(alarms)} false of {count // 3} {alarms}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
