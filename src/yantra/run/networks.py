"""One scenario on every network that there is: how long it takes there, and what simulating costs.

The finest network that runs the scenario is what the others are told from. It is the one of the
core that models the most (`Level.detail`); one in Python does not say how much it models, so it
counts as finest only where none of the core runs. Trade-off: networks run one after the other, so
that their processor times do not disturb each other.

What each row says is what `yantra run --set network=NAME` says. The network that the scenario names
keeps its options, which that setting would drop. A network on chip is compared where it is named:
elsewhere links are too long for it. So is one that must be given an option, as `external` a
program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time
from typing import NamedTuple

from yantra.base.errors import CapacityError, ConfigError, DeadlockError, UnsupportedError
from yantra.base.fields import PluginChoice
from yantra.compile import compile
from yantra.network import Level, describe, find, level_of, names
from yantra.run import fold as _fold  # noqa: F401  # so that no row counts its import
from yantra.run.simulate import run
from yantra.scenario.types import Fold, Scenario

Progress = Callable[[float, int], None]
"""Called with the networks done, the one under way by its share, and the networks in all."""


class Cost(NamedTuple):
    """What simulating took: seconds of processors for the run alone, events and messages of it.

    `is_folded`: one rank stood for all that do the same, so events are of these ranks alone.
    """

    cpu_s: float
    events: int
    messages: int
    is_folded: bool


class Row(NamedTuple):
    """A network, and the time of the run on it; or why it does not run the scenario (`refused`); or
    the deadlock that the run came to on it, what `DeadlockError` says.

    `difference` is (time - time on the finest) / time on the finest; None where that takes none.
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


class Networks(NamedTuple):
    """A row for each network, the coarsest of the core first and those of Python last.

    `chosen` is the network that the scenario names, `what` the job and the machine in words.
    `not_run` are those that an interruption left no time for.
    """

    rows: tuple[Row, ...]
    finest: str
    chosen: str
    ranks: int
    what: str
    not_run: tuple[str, ...] = ()


class PartlyComparedError(KeyboardInterrupt):
    """A comparison was interrupted; `networks` has the rows that are complete, one at least."""

    def __init__(self, networks: Networks) -> None:
        super().__init__()
        self.networks = networks


Refusal = ConfigError | UnsupportedError | DeadlockError


On = Callable[[str], Scenario]
"""Returns the scenario as it is read with another network: collectives may go as messages there."""


def compare(
    scenario: Scenario,
    *,
    fold: Fold | None = None,
    progress: Progress | None = None,
    on: On | None = None,
) -> Networks:
    """Run a scenario on every network. `fold`, if given, comes before the scenario's.

    With `on` it is read again for each network but its own; else only the network is another.

    Raises CapacityError where its devices lack memory, as `yantra run` does; TraceError; and where
    no network runs it, what the finest says: it runs what others cannot, so the fault is elsewhere.
    If it is interrupted, PartlyComparedError with the rows that are complete, from what interrupted
    it.
    """
    choices = tuple(_choices(scenario))
    rows: list[Row] = []
    refusals: list[tuple[int, Refusal]] = []
    try:
        _run_all(choices, scenario, on, fold, progress, rows, refusals)
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
) -> None:
    """Add a row for each network, one after the other."""
    for number, choice in enumerate(choices):
        name = describe(choice)

        def tell(done: int, total: int, number: int = number) -> None:
            if progress:
                progress(number + (done / total if total else 0.0), len(choices))

        tell(0, 1)
        level = level_of(choice)
        try:
            read = scenario.replace(network=choice)
            if on is not None and isinstance(choice, str) and choice != scenario.network:
                read = on(choice)
            rows.append(_row(name, level, read, fold, tell))
        except CapacityError:
            raise
        except DeadlockError as error:
            refusals.append((level.detail, error))
            rows.append(Row(name, level.detail, deadlock=str(error)))
        except (ConfigError, UnsupportedError) as error:
            refusals.append((level.detail, error))
            rows.append(Row(name, level.detail, refused=str(error)))


def _told(scenario: Scenario, rows: list[Row], not_run: tuple[str, ...] = ()) -> Networks:
    """Return the rows with their differences from the finest of them."""
    finest = max((row for row in rows if row.cost), key=lambda row: row.detail)
    told = tuple(row._replace(difference=_difference(row, finest)) for row in rows)
    chosen = describe(scenario.network)
    ranks = scenario.topology.ranks
    return Networks(told, finest.network, chosen, ranks, finest.what, not_run)


def _choices(scenario: Scenario) -> Iterator[PluginChoice]:
    """Yield every network once, that of the scenario with its options."""
    own = scenario.network
    levels = {name: find(name) for name in names()}
    choices: list[PluginChoice] = [
        own if level.name == level_of(own).name else name
        for name, level in levels.items()
        if (level.runs_by_name and not level.on_chip) or level.name == level_of(own).name
    ]
    if own not in choices:
        choices.append(own)
    yield from sorted(choices, key=lambda choice: _place(level_of(choice)))


def _place(level: Level) -> tuple[bool, int]:
    return level.model is not None, level.detail


def _row(
    name: str,
    level: Level,
    scenario: Scenario,
    fold: Fold | None,
    tell: Callable[[int, int], None],
) -> Row:
    model = compile(scenario)
    if model.lacks_memory:
        raise CapacityError("workload", model.lacks_memory)
    begin = process_time()
    result = run(model, progress=tell, fold=fold)
    cpu_s = process_time() - begin
    cost = Cost(cpu_s, result.events, result.messages, result.folding is not None)
    ran = result.what_ran
    what = "" if ran is None else ran.short
    warnings = tuple(result.warnings)
    return Row(name, level.detail, result.makespan_ns, None, cost, what, warnings)


def _difference(row: Row, finest: Row) -> float | None:
    if row.makespan_ns is None or not finest.makespan_ns:
        return None
    return (row.makespan_ns - finest.makespan_ns) / finest.makespan_ns
