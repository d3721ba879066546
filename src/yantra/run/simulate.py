"""Runs a scenario in the core, and says why it cannot finish."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from yantra import _core
from yantra.base.documents import Path
from yantra.base.errors import ConfigError, DeadlockError, UnsupportedError
from yantra.base.units import format_size, format_time
from yantra.compile import Model, compile
from yantra.result.result import Result
from yantra.run.further import FurtherRuns
from yantra.run.late import too_late
from yantra.run.remarks import remarks
from yantra.run.work import check_work, long_work
from yantra.scenario import Scenario, load
from yantra.scenario.quirks import Quirk
from yantra.scenario.types import Fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.result.partial import Partial
    from yantra.result.recording import Recording

    Progress = Callable[[int, int], None]
    """Called with nodes done and nodes in all."""

EVENTS_PER_SLICE = 1_000_000
_SLICE_S = 0.05


def simulate(
    scenario: Scenario | Path, *, progress: Progress | None = None, record: bool | int = False
) -> Result:
    """Compile a scenario or its file and run it, folded as its `fold` allows.

    Raises ConfigError, TraceError or UnsupportedError before the run, DeadlockError when it cannot
    finish. `record` as in `run`.
    """
    if isinstance(scenario, Scenario):
        return run(compile(scenario), progress=progress, record=record)
    try:
        return run(compile(load(scenario)), progress=progress, record=record)
    except ConfigError as error:
        from yantra.scenario.text import placed

        raise placed(error, str(scenario)) from None


def run(
    model: Model,
    *,
    progress: Progress | None = None,
    fold: Fold | None = None,
    record: bool | int = False,
    like: Result | None = None,
    tell: Callable[[str], None] | None = None,
) -> Result:
    """Run a compiled scenario.

    `fold` precedes the scenario's: `auto` lets one rank stand for equal ones where that changes
    nothing and saves enough; `require` raises UnsupportedError otherwise.

    `record` keeps every event's cause, for `Result.recording` and `Result.critical_path`, changing
    no time. Up to BYTES_PER_EVENT bytes an event; UnsupportedError above half of free memory, or
    `record` bytes.

    `like`: a run of the same traces, of whose model this lacks some causes (`compile_without`); its
    classes are reused if valid.

    KeyboardInterrupt has two arguments: a sentence on the progress, and a
    `yantra.result.partial.Partial`.

    `tell` gets a sentence before a long run of all ranks where folding was wanted.
    """
    while True:
        result = _run_model(model, progress, fold, record, like, tell)
        until_ns = model.failures.known_until_ns
        if until_ns == inf or result.makespan_ns <= until_ns:
            return result
        model, tell = _drawn_further(model, result.makespan_ns), None


def _run_model(
    model: Model,
    progress: Progress | None,
    fold: Fold | None,
    record: bool | int,
    like: Result | None,
    tell: Callable[[str], None] | None,
) -> Result:
    wanted = fold or model.scenario.fold
    reason = ""
    if Quirk.COLLECTIVES_START_TOGETHER in model.quirks:
        reason = f"the quirk {Quirk.COLLECTIVES_START_TOGETHER} is of ranks, not of classes of them"
    elif wanted != "off":
        from yantra.run import fold as folding

        classes = (folding.taken_over(model, like) if like else None) or folding.find(model)
        always = wanted == "require"
        outcome, recording, reason = _run_folded(model, progress, classes, always, record)
        if outcome is not None:
            told = remarks(model, outcome)
            return Result(model, outcome, told, "", recording, classes, FurtherRuns())
    if wanted == "require":
        raise UnsupportedError(f"fold: require, but the run cannot be folded: {reason}")
    if reason and tell is not None and (text := long_work(model)):
        tell(f"not folded, so {text}: {reason}")
    outcome, recording, mismatch = _run_whole(model, progress, record)
    told = remarks(model, outcome, mismatch)
    return Result(model, outcome, told, reason, recording, further=FurtherRuns())


def _drawn_further(model: Model, makespan_ns: float) -> Model:
    from yantra.run.disturbed import drawn_further

    return drawn_further(model, makespan_ns)


def _run_folded(
    model: Model,
    progress: Progress | None,
    classes: _core.Folding,
    always: bool,
    record: bool | int,
) -> tuple[_core.Outcome | None, Recording | None, str]:
    # Deadlocks and unreceived messages are reported by rank, so all are run.
    from yantra.run import fold as folding

    if classes.refusal:
        return None, None, classes.refusal
    pays = classes.spares_messages and not record
    if not (always or pays) and (share := folding.work(model, classes)) > folding.MOST_WORK:
        return None, None, f"one rank of each class would do {share:.0%} of the work of all ranks"
    check_work(model, classes.representative)
    simulation = _simulation(model, record, folding=classes)
    ranks = list(classes.representative) if progress else ()
    _run(model, simulation, sum(len(model.graphs.of(rank)) for rank in ranks), progress)
    if simulation.tie is not None:
        return None, None, folding.tie(model, classes, simulation.tie)
    outcome = simulation.take_outcome()
    if simulation.mismatch is not None or not outcome.finished or outcome.unreceived:
        return None, None, "it ends with something to report about single ranks"
    return outcome, _recording(model, outcome, simulation), ""


def run_native(
    model: Model, progress: Progress | None = None, warnings: list[str] | None = None
) -> _core.Outcome:
    """Run a model to its end; the core's outcome.

    The run's warnings go to `warnings`. Raises DeadlockError with each unfinished rank's oldest
    waiting node and what it waits for. Interruptible as `run`.
    """
    outcome, _, mismatch = _run_whole(model, progress, record=False)
    if warnings is not None:
        warnings += remarks(model, outcome, mismatch)
    return outcome


def _run_whole(
    model: Model, progress: Progress | None, record: bool | int
) -> tuple[_core.Outcome, Recording | None, _core.Mismatch | None]:
    """The mismatch: of collectives that met all the same, in a second run."""
    total = sum(len(model.graphs.of(rank)) for rank in range(model.ranks)) if progress else 0
    check_work(model)
    if progress:
        progress(0, total)  # which may give up before all ranks take memory
    simulation = _simulation(model, record)
    _run(model, simulation, total, progress)
    mismatch = simulation.mismatch if Quirk.MISMATCHED_COLLECTIVES_MEET in model.quirks else None
    if mismatch is not None:
        simulation = _simulation(model, record, match_by_tag=True)
        _run(model, simulation, total, progress)
    outcome = simulation.take_outcome()
    if len(outcome.finish_order) < model.ranks:
        from yantra.run.deadlock import explain

        raise DeadlockError(explain(model, outcome))
    return outcome, _recording(model, outcome, simulation), mismatch


def _simulation(
    model: Model,
    record: bool | int,
    *,
    match_by_tag: bool = False,
    folding: _core.Folding | None = None,
) -> _core.Simulation:
    if record and Quirk.COLLECTIVES_START_TOGETHER in model.quirks:
        raise UnsupportedError(
            "recordings do not follow collectives that start together (quirk "
            f"{Quirk.COLLECTIVES_START_TOGETHER}), so there is no critical path; run without a "
            "recording (yantra run --no-record)"
        )
    if record and model.has_switches:
        raise UnsupportedError(
            "recordings do not follow messages of switches, which take part in a collective here, "
            "so there is no critical path; run without a recording (yantra run --no-record)"
        )
    kind = _core.RecordedSimulation if record else _core.Simulation
    try:
        simulation = kind(model.native, match_by_tag, folding)
    except _core.Unsupported as error:
        raise UnsupportedError(str(error)) from None
    if isinstance(simulation, _core.RecordedSimulation):
        from yantra.result.recording import memory_limit

        simulation.limit(memory_limit() if record is True else record)
    simulation.note(_notes(model))
    return simulation


def _notes(model: Model) -> _core.Notes:
    # What ASTRA-sim's log has in order of happening.
    if model.scenario.trace_nodes or model.scenario.track_local_memory:
        return _core.Notes.NODES
    tells_rings = model.groups and model.scenario.semantics != "yantra"
    return _core.Notes.GROUPS if tells_rings else _core.Notes.NOTHING


def _recording(
    model: Model, outcome: _core.Outcome, simulation: _core.Simulation
) -> Recording | None:
    if isinstance(simulation, _core.RecordedSimulation):
        from yantra.result.recording import Recording

        return Recording(model, outcome, simulation.recording())
    return None


def _run(model: Model, simulation: _core.Simulation, total: int, progress: Progress | None) -> None:
    try:
        simulation.start()
        _run_in_slices(simulation, total, progress)
    except KeyboardInterrupt as stop:
        stop.args = _come_to(model, simulation)
        raise
    except _core.Unsupported as error:
        raise UnsupportedError(str(error)) from None
    except _core.TooLong:
        raise too_late(model, simulation.late) from None
    except _core.RecordingTooLarge:
        from yantra.result.recording import memory_limit

        raise UnsupportedError(
            f"the recording of this run takes more than {format_size(memory_limit())}, half of the "
            "memory that is free: record fewer ranks, layers or chunks, let the run fold (fold: "
            "auto), or run it without recording"
        ) from None


def _run_in_slices(simulation: _core.Simulation, total: int, progress: Progress | None) -> None:
    # Slices take some 50 ms; interrupts are heard between them.
    events, told = 1_000, 0
    while True:
        begun = monotonic()
        if simulation.run_for(events):
            return
        took = monotonic() - begun
        told += events
        if told >= EVENTS_PER_SLICE:
            told = 0
            if progress:
                progress(simulation.nodes_done, total)
        if took < _SLICE_S:
            events *= 2
        elif took > 4 * _SLICE_S:
            events = max(events // 4, 1)
        events = min(events, EVENTS_PER_SLICE - told)


def _come_to(model: Model, simulation: _core.Simulation) -> tuple[str, Partial]:
    from yantra.result.partial import Partial

    now, nodes = simulation.now, simulation.nodes_done
    partial = Partial(model, simulation.outcome(), now, nodes)
    at = format_time(now / model.ticks_per_ns)
    return f"the run had come to {at}, with {nodes:,} nodes done", partial
