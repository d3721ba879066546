"""What-if bounds: how long the same run takes when one cause of time is gone.

Each row is a run of its own, by the same engine on the same traces, with the cause taking no time
at all (`yantra.compile.removal`). So a gain is what the engine says and no estimate, and since no
real improvement of that cause beats removing it, "at most" is meant. Two things to know:

* Ranks take work first come, first served. As with any list schedule a removal can change an order
  and make a run longer (Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math.
  1969); such a row has a negative gain, and the bound for a real improvement is then no bound.
* Gains do not add up: two causes that hide behind each other gain little one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.compile import Model, compile, compile_without
from yantra.compile.removal import Cause
from yantra.network import level_of
from yantra.result import Result
from yantra.result.table import Table
from yantra.run.simulate import run
from yantra.scenario import Custom, Scenario

MOST_NODES_UNFOLDED = 2_000_000
"""Where a folded run would have more nodes than this unfolded, its bounds must fold, too."""

BoundsProgress = Callable[[int, int], None]
"""Called with the runs done and the runs in all."""


class Removal(NamedTuple):
    """Causes that one row removes; `text` completes "with ...", `applies` tells where it can."""

    name: str
    causes: tuple[Cause, ...]
    text: str
    applies: Callable[[Scenario], bool]


class Bound(NamedTuple):
    """The run without some causes; `gain` is a share of the makespan, negative where longer.

    Where there was no such run, `problem` says why and the numbers are None.
    """

    name: str
    causes: tuple[Cause, ...]
    text: str
    makespan_ns: float | None
    gain_ns: float | None
    gain: float | None
    bound_by: str
    problem: str = ""


class WhatIf:
    """The bounds of a run: `rows` in the order of `REMOVALS`, `best` the one that gains most.

    `result` is the run itself and `next` the run of the best row, recorded if the first was: what
    bounds that one is the next bottleneck. Both `best` and `next` are None where nothing gains.
    """

    def __init__(
        self, result: Result, rows: tuple[Bound, ...], best: Bound | None, next: Result | None
    ) -> None:
        self.result = result
        self.rows = rows
        self.best = best
        self.next = next

    @property
    def table(self) -> Table:
        """The rows as a table; a bound that could not be run has no numbers."""
        rows = self.rows
        return Table(
            "what_if",
            len(rows),
            {
                "name": ("text", lambda: [row.name for row in rows]),
                "text": ("text", lambda: [row.text for row in rows]),
                "makespan_ns": ("real", lambda: [row.makespan_ns for row in rows]),
                "gain_ns": ("real", lambda: [row.gain_ns for row in rows]),
                "gain": ("real", lambda: [row.gain for row in rows]),
                "bound_by": ("text", lambda: [row.bound_by for row in rows]),
                "problem": ("text", lambda: [row.problem for row in rows]),
            },
        )


def _always(scenario: Scenario) -> bool:
    return True


def _is_aware(scenario: Scenario) -> bool:
    return level_of(scenario.network).has_links


def _has_roofline(scenario: Scenario) -> bool:
    compute = (device.compute for device in scenario.all_devices())
    return "roofline" in compute and not scenario.replay_only


def _has_reductions(scenario: Scenario) -> bool:
    collectives = scenario.collectives
    custom = any(isinstance(chosen, Custom) for chosen in collectives.by_type().values())
    if custom or collectives.custom_per_node or collectives.shared_bus is not None:
        return True
    return collectives.reductions == "serial" and scenario.device.memory_bytes_per_s > 0


def _has_remote_memory(scenario: Scenario) -> bool:
    return scenario.memory.kind != "none"


REMOVALS = (
    Removal("bandwidth", ("bandwidth",), "infinite bandwidth of all links", _always),
    Removal("latency", ("latency",), "no latency of links", _always),
    Removal("network", ("bandwidth", "latency"), "an infinite network", _always),
    Removal("contention", ("contention",), "links that carry all messages at once", _is_aware),
    Removal("hand_overs", ("hand_overs",), "no delays at endpoints", _always),
    Removal("reductions", ("reductions",), "no local reductions", _has_reductions),
    Removal(
        "communication",
        ("bandwidth", "latency", "hand_overs", "reductions"),
        "communication that takes no time",
        _always,
    ),
    Removal("compute", ("compute",), "kernels that take no time", _always),
    Removal("peak", ("peak",), "infinite peak performance", _has_roofline),
    Removal(
        "memory_bandwidth", ("memory_bandwidth",), "infinite bandwidth of memory", _has_roofline
    ),
    Removal("remote_memory", ("remote_memory",), "free remote memory", _has_remote_memory),
    Removal("host", ("host",), "host work that takes no time", _always),
)


def what_if(
    of: Scenario | Model | Result,
    removals: tuple[Removal, ...] = REMOVALS,
    *,
    progress: BoundsProgress | None = None,
) -> WhatIf:
    """Run a scenario again without each cause of time, and return what that gains.

    What a given model is already without stays removed, so bounds of the next step can be asked
    for: `what_if(bounds.next)`. Only removals that mean something for the scenario are run.
    """
    result = of if isinstance(of, Result) else run(of if isinstance(of, Model) else compile(of))
    chosen = [one for one in removals if one.applies(result.model.scenario)]
    rows: list[Bound] = []
    best: tuple[Bound, Result] | None = None
    for done, removal in enumerate(chosen):
        if progress:
            progress(done, len(chosen))
        row, relieved = _bound(result, removal)
        rows.append(row)
        if relieved is not None and (best is None or _is_better(row, best[0])):
            best = row, relieved
    if progress:
        progress(len(chosen), len(chosen))
    if best is None or (best[0].gain_ns or 0) <= 0:
        return WhatIf(result, tuple(rows), None, None)
    row, relieved = best
    if result.recorded:
        relieved = run(relieved.model, record=True, like=result)
    return WhatIf(result, tuple(rows), row, relieved)


def _bound(result: Result, removal: Removal) -> tuple[Bound, Result | None]:
    name, causes, text, _ = removal
    model = compile_without(result.model, {*result.model.without, *causes})
    must_fold = result.outcome.folded and _nodes(model) > MOST_NODES_UNFOLDED
    try:
        relieved = run(model, fold="require" if must_fold else None, like=result)
    except (DeadlockError, UnsupportedError) as error:
        problem = str(error).splitlines()[0]
        return Bound(name, causes, text, None, None, None, "", problem), None
    before, after = result.makespan_ns, relieved.makespan_ns
    gain_ns = round(before - after, 3)
    gain = gain_ns / before if before else 0.0
    bound = Bound(name, causes, text, after, gain_ns, gain, relieved.bound_by.kind)
    return bound, relieved


def _is_better(row: Bound, best: Bound) -> bool:
    """Of equal gains, the one that removes less."""
    return (row.gain_ns or 0, -len(row.causes)) > (best.gain_ns or 0, -len(best.causes))


def _nodes(model: Model) -> int:
    return sum(len(graph) * ranks for graph, ranks, _ in model.graphs.counted())
