"""The laws every scheduler keeps, and a command that checks one against them.

    python -m yantra.kinds.scheduler_laws critical_path
    python -m yantra.kinds.scheduler_laws path/to/my_scheduler.py

Laws ask the scheduler about small jobs, or run them, and return what is wrong, or None, but not
whether an order is good.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from yantra.base import contract
from yantra.base.contract import Contract, first_broken
from yantra.base.errors import ConfigError, DeadlockError, UnsupportedError
from yantra.base.plugin_files import Named
from yantra.chakra import CollectiveType, Node, Trace, TraceBuilder
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Resources, Scenario, Topology, Traces
from yantra.schedulers import scheduler_of, schedulers
from yantra.schedulers.answers import ask
from yantra.schedulers.scheduler import Nodes, Scheduler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MIB = 1 << 20


def chain(trace: TraceBuilder, rank: int) -> None:
    last: tuple[Node, ...] = ()
    for micros in (5, 1, 3, 2, 8):
        last = (trace.compute(duration_micros=micros, after=last),)


def equal(trace: TraceBuilder, rank: int) -> None:
    for _ in range(9):
        trace.compute(duration_micros=4)


def branches(trace: TraceBuilder, rank: int) -> None:
    """A random graph with more ready than slots."""
    draw = Random(7)
    made: list[Node] = []
    for _ in range(60):
        after = [node for node in made[-12:] if draw.random() < 0.15]
        cpu = draw.random() < 0.3
        made.append(trace.compute(duration_micros=draw.randrange(9), cpu=cpu, after=after))


def layers(trace: TraceBuilder, rank: int) -> None:
    last = trace.compute(duration_micros=10)
    reduced = {}
    for layer in reversed(range(8)):
        last = trace.compute(duration_micros=20 + layer, after=last)
        size = (1 + layer % 3) * _MIB
        reduced[layer] = trace.collective(CollectiveType.ALL_REDUCE, size, after=last)
    for layer in range(8):
        last = trace.compute(duration_micros=50 + layer, after=[last, reduced[layer]])


def pipeline(trace: TraceBuilder, rank: int) -> None:
    for batch in range(6):
        before, behind = rank - 1, rank + 1
        came = [trace.recv(before, _MIB, tag=batch)] if rank else []
        forward = trace.compute(duration_micros=10, after=came)
        back = [forward]
        if rank < 3:
            trace.send(behind, _MIB, tag=batch, after=forward)
            back.append(trace.recv(behind, _MIB, tag=100 + batch))
        backward = trace.compute(duration_micros=20, after=back)
        if rank:
            trace.send(before, _MIB, tag=100 + batch, after=backward)


class Case(NamedTuple):
    """A job, its ranks, and how many kernels a rank runs at once."""

    write: Callable[[TraceBuilder, int], None]
    ranks: int
    streams: int

    def __str__(self) -> str:
        return f"{self.write.__name__} on {self.ranks} ranks"

    def scenario(self, kind: Named, fold: str = "off") -> Scenario:
        topology = Dimension(kind="ring", size=self.ranks, bytes_per_ns=50.0, latency_ns=500.0)
        return Scenario(
            workload=Traces(traces=tuple(self._trace(rank) for rank in range(self.ranks))),
            topology=Topology(dimensions=(topology,)),
            collectives=Collectives(all_reduce=("ring",), chunks=2),
            resources=Resources(compute_streams=self.streams),
            scheduler=kind,
            fold=fold,  # type: ignore[arg-type]
        )

    def _trace(self, rank: int) -> Trace:
        builder = TraceBuilder(rank=rank)
        self.write(builder, rank)
        return builder.build()

    def nodes(self) -> list[Nodes]:
        seen: list[Nodes] = []

        class Sees(Scheduler):
            def priorities(self, nodes: Nodes) -> NDArray[np.int64]:
                import numpy as np

                seen.append(nodes)
                return np.zeros(len(nodes), np.int64)

        compile(self.scenario(Sees))
        return seen

    def run(self, kind: Named, fold: str = "off") -> Result:
        return simulate(self.scenario(kind, fold))


CASES = (
    Case(chain, 2, 1),
    Case(equal, 2, 2),
    Case(branches, 2, 2),
    Case(layers, 4, 1),
    Case(pipeline, 4, 1),
)
NO_CHOICE = (chain, equal)

Law = Callable[[Named, Case], str | None]


def every_node_has_a_priority(kind: Named, case: Case) -> str | None:
    try:
        for nodes in case.nodes():
            ask(scheduler_of(kind), nodes, "it")
    except ConfigError as error:
        return error.problem
    return None


def the_same_is_said_twice(kind: Named, case: Case) -> str | None:
    scheduler, jobs = scheduler_of(kind), case.nodes()
    first = [_answers(scheduler, nodes) for nodes in jobs]
    for nodes, before in zip(reversed(jobs), reversed(first), strict=True):
        if _answers(scheduler, nodes) != before:
            return "asked again, it answers differently"
        if _answers(scheduler_of(kind), nodes) != before:
            return "made anew, it answers differently"
    return None


def every_node_ends(kind: Named, case: Case) -> str | None:
    try:
        case.run(kind)
    except DeadlockError as error:
        return str(error).splitlines()[-1].strip()
    return None


def where_there_is_no_choice_nothing_is_gained_or_lost(kind: Named, case: Case) -> str | None:
    """A chain, and equal kernels without order, take as long as in id order."""
    if case.write not in NO_CHOICE:
        return None
    took, least = case.run(kind).makespan_ns, case.run("in_order").makespan_ns
    return None if took == least else f"it takes {took:g} ns, in the order of ids {least:g}"


def a_folded_run_is_the_whole_one(kind: Named, case: Case) -> str | None:
    try:
        folded = case.run(kind, "require")
    except UnsupportedError:
        return None
    whole = case.run(kind)
    if list(folded.finish_ps) == list(whole.finish_ps):
        return None
    return f"folded it ends at {folded.makespan_ns:g} ns, whole at {whole.makespan_ns:g}"


LAWS: tuple[Law, ...] = (
    every_node_has_a_priority,
    the_same_is_said_twice,
    every_node_ends,
    where_there_is_no_choice_nothing_is_gained_or_lost,
    a_folded_run_is_the_whole_one,
)


def violations(kind: Named) -> Iterator[str]:
    for case in CASES:
        if wrong := first_broken(LAWS, str(case), kind, case):
            yield wrong


def summary(kind: Named) -> str:
    case = CASES[3]
    took, in_order = (case.run(of).makespan_ns / 1000 for of in (kind, "in_order"))
    held = f"every law holds for {', '.join(map(str, CASES))}"
    return f"{held}\n{case}: {took:.3f} us, in the order of ids {in_order:.3f} us"


def known(name: str) -> Named:
    schedulers.get(name, name)
    return name


CONTRACT = Contract(
    kind="scheduler",
    module="yantra.kinds.scheduler_laws",
    about="Check a scheduler: that it orders all nodes, and that no rank is left waiting.",
    argument="a name (critical_path), or a file with a line PLUGIN =",
    find=known,
    violations=violations,
    summary=summary,
)


main = partial(contract.main, CONTRACT)


def _answers(scheduler: Scheduler, nodes: Nodes) -> list[list[int]]:
    return [answer.tolist() for answer in ask(scheduler, nodes, "it") if answer is not None]


if __name__ == "__main__":
    sys.exit(main())
