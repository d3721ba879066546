"""The laws every network program keeps, and a command that checks one against them.

    yantra contract external ./my_simulator
    python -m yantra.kinds.external_laws './my_simulator --quick'

How messages share links is the program's choice.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os import path as paths
from random import Random
from time import monotonic
from typing import NamedTuple

import numpy as np

from yantra.base import contract
from yantra.base.contract import Contract
from yantra.base.errors import ConfigError, UnsupportedError, YantraError
from yantra.base.fields import Plugin
from yantra.base.trust import allow_program
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.fabric.graphs.describe import shown
from yantra.network.external import Options
from yantra.network.lockstep.conversation import Conversation
from yantra.network.lockstep.process import GRACE_S, found
from yantra.network.traffic.generator import Flows
from yantra.run.flows import Choice, Simulation
from yantra.run.flows_outside import ProgramRun
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces

TOPOLOGIES = (
    (("fully_connected", 6, 25.0, 300.0),),
    (("ring", 8, 50.0, 500.0),),
    (("switch", 4, 100.0, 250.0), ("ring", 3, 12.5, 2000.0)),
)
SIZES = (1, 1000, 65_536, 10**6)
_APART_NS = 10**7  # a message arrives before the next starts
_TIMEOUT_NS = 30e9

Row = tuple[int, int, int, int]
"""Source, destination, bytes, and start in ns."""


class Command(NamedTuple):
    """A program and its arguments, and who routes."""

    words: tuple[str, ...]
    routes: str


class Case:
    def __init__(
        self, command: Command, dimensions: Sequence[tuple[str, int, float, float]]
    ) -> None:
        self.command = command
        self.dimensions = tuple(
            Dimension(kind=name, size=size, bytes_per_ns=rate, latency_ns=latency)
            for name, size, rate, latency in dimensions
        )
        form = "_".join(f"{name}({size})" for name, size, _, _ in dimensions)
        options: dict[str, object] = {
            "dimensions": form,
            "bandwidth": [f"{rate!r} GB/s" for _, _, rate, _ in dimensions],
            "latency": [f"{latency!r} ns" for _, _, _, latency in dimensions],
        }
        self.graph = shown("product", options).graph
        self.ranks = self.graph.ranks
        self.adds_overhead = False

    def __str__(self) -> str:
        return " x ".join(f"{of.kind} {of.size}" for of in self.dimensions)

    def arrivals(self, rows: Sequence[Row], step: int | None = None) -> list[float]:
        """How long each of some messages takes, in ns; `step` as `ProgramRun.run_for`."""
        simulation = self._simulation(rows)
        run = simulation.run
        assert isinstance(run, ProgramRun)
        self.adds_overhead = run.adds_overhead
        while not run.run_for(10**6, step):
            pass
        self.hops = np.diff(simulation.routed.first.astype(np.int64)).tolist()
        self.alone = [float(alone) for alone in simulation.alone_ns]
        took: list[float] = (run.end_ns - simulation.flows.start_ns).tolist()
        return took

    def apart(self, posts: Sequence[tuple[int, int, int]]) -> list[float]:
        return self.arrivals([(*post, at * _APART_NS) for at, post in enumerate(posts)])

    def all_reduce(self, size: int) -> None:
        trace = TraceBuilder()
        trace.collective(CollectiveType.ALL_REDUCE, size)
        words, routes = self.command
        options = (("command", words), ("routes", routes), ("timeout_ns", _TIMEOUT_NS))
        ring = ("ring",) * len(self.dimensions)
        simulate(
            Scenario(
                workload=Traces(traces=(trace.build(),) * self.ranks),
                topology=Topology(dimensions=self.dimensions),
                network=Plugin(kind="external", options=options),
                collectives=Collectives(all_reduce=ring, chunks=2, endpoint_delay_ns=0),
            )
        )

    def talk(self) -> Conversation:
        words, routes = self.command
        given = routes == "given"
        return Conversation(words, self.graph, gives_routes=given, timeout_s=_TIMEOUT_NS / 1e9)

    def _simulation(self, rows: Sequence[Row]) -> Simulation:
        flows = Flows(*(np.array(column) for column in zip(*rows, strict=True)))
        words, routes = self.command
        program = Options(command=words, routes=routes, timeout_ns=_TIMEOUT_NS)
        return Simulation(self.graph, flows, Choice(network="external", program=program))


Law = Callable[[Case], str | None]


def every_message_arrives(case: Case) -> str | None:
    ranks = range(case.ranks)
    case.arrivals([(a, b, 100 * a + b, a * b) for a in ranks for b in ranks if a != b])
    case.all_reduce(10_000)
    return None


def a_message_alone_takes_its_latency_and_its_bytes(case: Case) -> str | None:
    """Over one link, latency + size / bandwidth; over several, or with `overhead`, at least.

    Times are whole ps, so two may be lost a link.
    """
    posts = [(0, to, size) for to in range(1, case.ranks) for size in SIZES]
    took = case.apart(posts)
    for (_, to, size), time, hops, least in zip(posts, took, case.hops, case.alone, strict=True):
        slack = 0.002 * hops
        exact = hops == 1 and not case.adds_overhead
        if time < least - slack or (exact and time > least + slack):
            links = "one link" if hops == 1 else f"{hops} links"
            expected = f"expected {'' if exact else 'at least '}{least:.12g}"
            return f"{size} B over {links} to rank {to} take {time:.12g} ns; {expected}"
    return None


def more_bytes_arrive_no_earlier(case: Case) -> str | None:
    """More bytes between the same ranks arrive no earlier."""
    posts = [(0, to, size) for to in range(1, case.ranks) for size in SIZES]
    took = case.apart(posts)
    for at in range(0, len(posts), len(SIZES)):
        times = took[at : at + len(SIZES)]
        if times != sorted(times):
            shown_ns = ", ".join(f"{time:.12g}" for time in times)
            return f"to rank {posts[at][1]}, {SIZES} bytes take {shown_ns} ns"
    return None


def messages_that_share_no_link_do_not_wait(case: Case) -> str | None:
    posts = [(rank, rank + 1, 1000) for rank in range(0, case.dimensions[0].size - 1, 2)]
    together = case.arrivals([(*post, 0) for post in posts])
    for post, time, alone in zip(posts, together, case.apart(posts), strict=True):
        if abs(time - alone) > 0.002:
            return f"{post[0]} to {post[1]} takes {time:.12g} ns, alone {alone:.12g}"
    return None


def small_steps_change_nothing(case: Case) -> str | None:
    """Advancing by 777 ps at a time changes no arrival."""
    rows = _random_rows(case, 12)
    at_once, in_steps = case.arrivals(rows), case.arrivals(rows, step=777)
    for number, (one, other) in enumerate(zip(at_once, in_steps, strict=True)):
        if one != other:
            return f"message {number} takes {one:.12g} ns at once, {other:.12g} in steps of 777 ps"
    return None


def the_same_run_twice_is_the_same(case: Case) -> str | None:
    rows = _random_rows(case, 40)
    if case.arrivals(rows) != case.arrivals(rows):
        return "two runs of the same messages end at different times"
    return None


def it_ends_when_it_is_told(case: Case) -> str | None:
    """The program ends by itself soon after `end`."""
    talk, began = case.talk(), monotonic()
    talk.close()
    if monotonic() - began >= GRACE_S:
        return f"it was still running {GRACE_S:g} s after 'end'"
    return None


LAWS: tuple[Law, ...] = (
    every_message_arrives,
    a_message_alone_takes_its_latency_and_its_bytes,
    more_bytes_arrive_no_earlier,
    messages_that_share_no_link_do_not_wait,
    small_steps_change_nothing,
    the_same_run_twice_is_the_same,
    it_ends_when_it_is_told,
)


def violations(command: Command) -> Iterator[str]:
    for dimensions in TOPOLOGIES:
        case = Case(command, dimensions)
        for law in LAWS:
            try:
                wrong = law(case)
            except YantraError as error:
                wrong = str(error)
            if wrong:
                yield f"{case}: {law.__name__}: {wrong}"


def summary(command: Command) -> str:
    fabrics = ", ".join(str(Case(command, of)) for of in TOPOLOGIES)
    own = " with routes of its own" if command.routes == "own" else ""
    return f"every law holds on {fabrics}{own}"


def known(text: str) -> Command:
    """The program and arguments of a text. Raises ConfigError.

    Naming a program to check allows it to run. One that refuses given routes is asked for its own.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(text, str(error)) from None
    if not words:
        raise ConfigError("PROGRAM", "is empty; expected a program")
    if paths.isfile(words[0]) and "/" not in words[0]:
        words = (f"./{words[0]}", *words[1:])
    found(words[0], text)
    allow_program(words)
    given = Command(words, "given")
    try:
        Case(given, TOPOLOGIES[0]).talk().close()
    except UnsupportedError as refusal:
        own = Command(words, "own")
        try:
            Case(own, TOPOLOGIES[0]).talk().close()
        except UnsupportedError:
            raise refusal from None
        return own
    return given


def _random_rows(case: Case, count: int) -> list[Row]:
    random = Random(1)
    rows = []
    for _ in range(count):
        source, destination = random.sample(range(case.ranks), 2)
        rows.append((source, destination, random.randrange(1, 3000), random.randrange(200)))
    return rows


CONTRACT = Contract(
    kind="external",
    module="yantra.kinds.external_laws",
    about="Check a network program: that it delivers, in time, and keeps step.",
    argument="a program, with its arguments in the same text",
    find=known,
    violations=violations,
    summary=summary,
)


main = partial(contract.main, CONTRACT)


if __name__ == "__main__":
    sys.exit(main())
