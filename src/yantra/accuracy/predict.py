"""What Yantra predicts for a measured step, by the same calls as the command line.

Steps are run as they are, also those of 16,384 ranks: one rank of each class stands for the others,
so nothing is cut or extrapolated.

A step's time is a sum T = p P + a A + r R of times that grow with the factors of products, of
attention and of the rest, while its critical path stays the same: every duration on it is
multiplied by one of the three. P, A and R are found by running the step once more with each factor
a little larger. Where the path changes the sum is a lower bound, as the longest of many paths is
convex in the factors. Beside a profile of the machine, where kernels and communication have factors
of their own, what R has of the second is found likewise.

The sum serves to find factors. What they are judged by are runs with them (`ran_with`), bit for bit
those of `yantra run --stack`.

What the file of a row's stack gives beside factors is in all of these runs: launches, stragglers,
the attention of older kernels, what collectives take from kernels beside them, and how often a
token is sent to a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from yantra.accuracy.fit import Factors, Parts
from yantra.accuracy.rows import UNKNOWN, Row
from yantra.base.errors import YantraError
from yantra.base.fields.plugin import Plugin
from yantra.compile import Model as Compiled
from yantra.compile import compile, compile_like
from yantra.fabric.clusters.types import Speeds
from yantra.run.simulate import run
from yantra.scenario import Collectives, Scenario, Stack, Templates
from yantra.scenario.named import parts_at
from yantra.workloads.training.train import train

STEP = 0.02


class Refused(NamedTuple):
    """A row that the planner or the model refuses, and why."""

    row: Row
    why: str


def scenario_of(row: Row, speeds: Speeds) -> Scenario:
    """Return the scenario of a measured step. Raises ConfigError where the plan is refused."""
    workload = Templates(workload=train(row.made_model(), row.made_plan()))
    profile = (row.profile or None) if speeds == "measured" else None
    parts = parts_at(row.cluster, row.ranks, row.dtype, speeds, profile=profile)
    if speeds == "measured" and row.file.copies is not None:
        parts["collectives"] = sent_once(parts["collectives"], int(row.file.copies.value))
    return Scenario(workload=workload, **parts)


def given_of(row: Row) -> Stack:
    """Return the stack that a row is run with: what its file gives, and no factor.

    Of a framework that nothing is known of that is no age of its kernels either.
    """
    given, is_known = row.given, row.file.name != UNKNOWN
    return Stack(
        attention=(is_known and given.older_attention.value) or 1.0,
        launch_ns=given.launch.value,
        straggling=given.straggling.value,
        taken=given.taken.value,
        host_waits=row.file.host_waits is not None,
    )


def sent_once(collectives: Collectives, copies: int) -> Collectives:
    """Return collectives whose all-to-alls over nodes are those of experts, if any is measured."""
    selection = collectives.selection
    if not isinstance(selection, Plugin):
        return collectives
    options = (*selection.options, ("copies", copies))
    return collectives.replace(selection=selection.replace(options=options))


def seconds(model: Compiled) -> float:
    """Return the seconds of a compiled step."""
    return float(run(model).finish_ns.max()) / 1e9


def with_tables_attention(one: Parts) -> Parts:
    """Return the parts of a row as with the attention of the tables, which a stack's file is of."""
    return one._replace(attention=one.attention / given_of(one.row).attention)


def parts_of(model: Compiled, communication: bool = False) -> tuple[float, ...]:
    """Return the seconds of products, attention and the rest on a step's critical path.

    Then those of communication in the rest, 0 unless asked for.
    """
    scenario = model.scenario
    stack = scenario.stack or Stack()

    def longer(**factors: float) -> float:
        changed = scenario.replace(stack=stack.replace(**factors))
        return seconds(compile_like(model, changed))

    whole = seconds(model)
    products = (longer(products=stack.products * (1.0 + STEP)) - whole) / STEP
    attention = (longer(attention=stack.attention * (1.0 + STEP)) - whole) / STEP
    products, attention = max(products, 0.0), max(attention, 0.0)
    rest, sent = max(whole - products - attention, 0.0), 0.0
    if communication:
        sent = (longer(communication=stack.communication * (1.0 + STEP)) - whole) / STEP
    return products, attention, rest, min(max(sent, 0.0), rest)


def ran_with(row: Row, factors: Iterable[Factors]) -> list[float]:
    """Return the seconds of a row's step with some factors, as `yantra run` has a stack of them.

    Raises the errors of `scenario_of` and of a run.
    """
    given = given_of(row)
    model = compile(scenario_of(row, "measured").replace(stack=given))
    changed = (model.scenario.replace(stack=_times(given, one)) for one in factors)
    return [seconds(compile_like(model, scenario)) for scenario in changed]


def _times(given: Stack, factors: Factors) -> Stack:
    """Return a stack with factors on what is given of its framework."""
    return given.replace(
        products=given.products * factors.products,
        attention=given.attention * factors.attention,
        rest=given.rest * factors.rest,
        communication=given.communication * factors.communication,
    )


def predicted(
    rows: Iterable[Row],
    speeds: Speeds,
    told: Callable[[int], None] = lambda _: None,
) -> Iterator[Parts | Refused]:
    """Yield our time for each row: by parts where `measured`, as one sum for other speeds.

    Rows of one model, plan and machine are run once. `told` hears how many are done.
    """
    known: dict[tuple[object, ...], tuple[float, ...] | str] = {}
    for done, row in enumerate(rows):
        key = (row.cluster, row.profile, row.dtype, row.ranks, row.model, row.plan, given_of(row))
        if key not in known:
            known[key] = _predicted(row, speeds)
        found = known[key]
        told(done + 1)
        yield Refused(row, found) if isinstance(found, str) else Parts(row, *found)


def _predicted(row: Row, speeds: Speeds) -> tuple[float, ...] | str:
    try:
        scenario = scenario_of(row, speeds)
        if speeds != "measured":
            return seconds(compile(scenario)), 0.0, 0.0, 0.0
        model = compile(scenario.replace(stack=given_of(row)))
        return parts_of(model, communication=bool(row.profile))
    except YantraError as error:
        return str(error)
