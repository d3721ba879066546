"""A scenario on every network: its time there, and the cost of simulating.

Networks that need an option or a chip only run where named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from time import monotonic, process_time
from typing import NamedTuple

from yantra.base.errors import CapacityError, ConfigError, DeadlockError, UnsupportedError
from yantra.base.fields import PluginChoice
from yantra.base.fields.plugin import named
from yantra.compile import compile
from yantra.network import Level, describe, find, level_of, names
from yantra.run import fold as _fold  # noqa: F401  # so that no row counts its import
from yantra.run.simulate import run
from yantra.scenario.types import Fold, Scenario

JUDGED_AFTER_S = 2.0
"""Seconds of a run after which its length is estimated."""

Progress = Callable[[float, int], None]
"""Called with networks done, the current one's share, and their number."""


class Cost(NamedTuple):
    """Processor seconds, events and messages of a run.

    `is_folded`: events are representatives' alone.
    """

    cpu_s: float
    events: int
    messages: int
    is_folded: bool


class Row(NamedTuple):
    """A network's time, or `refused` with the reason, or its deadlock.

    `difference`: (time - finest) / finest; None if that is 0. `estimate_s`: of a run that was left
    out, as it would take so many seconds. `is_measured`: its collectives take measured times.
    """

    network: str
    detail: int
    makespan_ns: float | None = None
    difference: float | None = None
    cost: Cost | None = None
    what: str = ""
    warnings: tuple[str, ...] = ()
    refused: str = ""
    deadlock: str = ""
    estimate_s: float | None = None
    is_measured: bool = False


class Networks(NamedTuple):
    """A row per network, from coarsest to finest, then Python's.

    `chosen`: the scenario's; `what`: job and machine in words; `not_run`: left out by an
    interruption.
    """

    rows: tuple[Row, ...]
    finest: str
    chosen: str
    ranks: int
    what: str
    not_run: tuple[str, ...] = ()


class PartlyComparedError(KeyboardInterrupt):
    """An interrupted comparison; `networks` has at least one complete row."""

    def __init__(self, networks: Networks) -> None:
        super().__init__()
        self.networks = networks


class _LeftOut(KeyboardInterrupt):
    """Ends a run that takes too long; the run adds what it had come to."""


Refusal = ConfigError | UnsupportedError | DeadlockError


On = Callable[[str], Scenario]
"""Reads the scenario with another network, where collectives may be messages."""


def compare(
    scenario: Scenario,
    *,
    fold: Fold | None = None,
    progress: Progress | None = None,
    on: On | None = None,
    limit_s: float = inf,
    before: Networks | None = None,
) -> Networks:
    """Run a scenario on every network; `fold` precedes the scenario's.

    With `on` it is read again for other networks; else only the network differs. Once one has run,
    those that would take longer than `limit_s` are left out. Of `before`, rows that are complete
    are kept.

    Raises CapacityError as `yantra run`; TraceError; where none runs it, the finest's error, which
    runs most, so the fault is elsewhere. If interrupted, PartlyComparedError from the interruption.
    """
    choices = tuple(_choices(scenario))
    rows: list[Row] = []
    refusals: list[tuple[int, Refusal]] = []
    try:
        _run_all(choices, scenario, on, fold, progress, rows, refusals, limit_s, before)
    except KeyboardInterrupt as error:
        if not any(row.cost for row in rows):
            raise
        left = tuple(describe(choice) for choice in choices[len(rows) :])
        raise PartlyComparedError(_told(scenario, rows, left)) from error
    if not any(row.cost for row in rows):
        raise max(refusals, key=lambda refusal: refusal[0])[1]
    return _told(scenario, rows)


def _run_all(
    choices: tuple[PluginChoice, ...],
    scenario: Scenario,
    on: On | None,
    fold: Fold | None,
    progress: Progress | None,
    rows: list[Row],
    refusals: list[tuple[int, Refusal]],
    limit_s: float,
    before: Networks | None,
) -> None:
    known = {} if before is None else {row.network: row for row in before.rows if row.cost}
    for number, choice in enumerate(choices):
        name = describe(choice)
        if name in known:
            rows.append(known[name])
            continue

        def tell(done: int, total: int, number: int = number) -> None:
            if progress:
                progress(number + (done / total if total else 0.0), len(choices))

        tell(0, 1)
        level = level_of(choice)
        try:
            read = scenario.replace(network=choice)
            if on is not None and isinstance(choice, str) and choice != scenario.network:
                read = on(choice)
            ended = [row.makespan_ns for row in rows if row.makespan_ns]
            limit = _Limit(limit_s, ended[-1]) if ended else _Limit(inf, 0.0)
            rows.append(_row(name, level, read, fold, tell, limit))
        except CapacityError:
            raise
        except DeadlockError as error:
            refusals.append((level.detail, error))
            rows.append(Row(name, level.detail, deadlock=str(error)))
        except (ConfigError, UnsupportedError) as error:
            refusals.append((level.detail, error))
            rows.append(Row(name, level.detail, refused=str(error)))


def _told(scenario: Scenario, rows: list[Row], not_run: tuple[str, ...] = ()) -> Networks:
    finest = max((row for row in rows if row.cost), key=lambda row: row.detail)
    told = tuple(row._replace(difference=_difference(row, finest)) for row in rows)
    chosen = describe(scenario.network)
    ranks = scenario.topology.ranks
    return Networks(told, finest.network, chosen, ranks, finest.what, not_run)


def _choices(scenario: Scenario) -> Iterator[PluginChoice]:
    # The scenario's own keeps its options.
    own = scenario.network
    levels = {name: find(name) for name in names()}
    choices: list[PluginChoice] = [
        own if level.name == level_of(own).name else name
        for name, level in levels.items()
        if (level.runs_by_name and not level.has("on_chip")) or level.name == level_of(own).name
    ]
    if own not in choices:
        choices.append(own)
    yield from sorted(choices, key=lambda choice: _place(level_of(choice)))


def _place(level: Level) -> tuple[bool, int]:
    return level.model is not None, level.detail


class _Limit:
    """Ends a run whose nodes are done too slowly, and says how long it would take.

    A fine network is long within one node, so the estimate is by simulated time: the run's
    against what a coarser network says it ends at.
    """

    def __init__(self, seconds: float, ends_ns: float) -> None:
        self.seconds = seconds
        self._ends_ns = ends_ns
        self._begun: float | None = None

    def check(self, done: int, total: int) -> None:
        if self._begun is None:  # the first call is before the run
            self._begun = monotonic()
            return
        took = monotonic() - self._begun
        if took > JUDGED_AFTER_S and took * total > self.seconds * done:
            raise _LeftOut

    def estimate_s(self, reached_ns: float) -> float:
        took = monotonic() - (self._begun or monotonic())
        return took * self._ends_ns / reached_ns if reached_ns else inf


def _row(
    name: str,
    level: Level,
    scenario: Scenario,
    fold: Fold | None,
    tell: Callable[[int, int], None],
    limit: _Limit,
) -> Row:
    model = compile(scenario)
    if model.lacks_memory:
        raise CapacityError("workload", model.lacks_memory)

    def report(done: int, total: int) -> None:
        tell(done, total)
        limit.check(done, total)

    begin = process_time()
    try:
        result = run(model, progress=report, fold=fold)
    except _LeftOut as stop:
        estimate = limit.estimate_s(stop.args[1].until_ns)
        if estimate > limit.seconds:
            return Row(name, level.detail, estimate_s=estimate)
        result = run(model, progress=tell, fold=fold)
    cpu_s = process_time() - begin
    cost = Cost(cpu_s, result.events, result.messages, result.folding is not None)
    ran = result.what_ran
    what = "" if ran is None else ran.short
    warnings = tuple(result.warnings)
    selection = scenario.collectives.selection
    is_measured = selection is not None and named(selection) == "measured"
    return Row(
        name, level.detail, result.makespan_ns, None, cost, what, warnings, is_measured=is_measured
    )


def _difference(row: Row, finest: Row) -> float | None:
    if row.makespan_ns is None or not finest.makespan_ns:
        return None
    return (row.makespan_ns - finest.makespan_ns) / finest.makespan_ns
