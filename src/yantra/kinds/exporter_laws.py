"""The laws every exporter keeps, and a command that checks one against them.

    python -m yantra.kinds.exporter_laws path/to/my_form.py

Laws write real results: a run of every rank, a folded one, and a recorded one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from tempfile import TemporaryDirectory

from yantra.base.contract import Contract, first_broken, main
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.export.exporter import Exporter
from yantra.result import Result
from yantra.result.forms import forms
from yantra.result.table_names import TABLES
from yantra.run.simulate import run as run_model
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces
from yantra.scenario.types import Fold

_RANKS = 4
RUNS: dict[str, tuple[Fold, bool]] = {
    "every rank": ("off", False),
    "folded": ("require", False),
    "recorded": ("off", True),
}


@cache
def result(run: str) -> Result:
    step = TraceBuilder()
    kernel = step.compute("matmul", duration_micros=3)
    step.collective(CollectiveType.ALL_REDUCE, 1 << 16, after=kernel)
    ring = Dimension(kind="ring", size=_RANKS, bytes_per_ns=50.0, latency_ns=500.0)
    scenario = Scenario(
        workload=Traces(traces=(step.build(),) * _RANKS),
        topology=Topology(dimensions=(ring,)),
        collectives=Collectives(all_reduce=("ring",)),
    )
    fold, record = RUNS[run]
    return run_model(compile(scenario), fold=fold, record=record)


def a_file_appears_and_notes_are_texts(exporter: Exporter, run: str) -> str | None:
    with TemporaryDirectory() as folder:
        notes = exporter.write(result(run), os.path.join(folder, "out"))
        found = os.listdir(folder)
    if found != ["out"]:
        return f"expected one file, got {', '.join(sorted(found)) or 'none'}"
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        return f"expected a list of texts from write, got {notes!r}"
    return None


def the_same_result_gives_the_same_file(exporter: Exporter, run: str) -> str | None:
    """Nothing but the result and the options decides the bytes."""
    first, second = _written(exporter, run), _written(exporter, run)
    return None if first == second else f"first {len(first)} bytes, then {len(second)} others"


def the_result_stays_as_it_is(exporter: Exporter, run: str) -> str | None:
    before = {name: result(run).table(name).as_dict() for name in TABLES}
    before = {name: {key: list(of) for key, of in table.items()} for name, table in before.items()}
    _written(exporter, run)
    for name in TABLES:
        if result(run).table(name).as_dict() != before[name]:
            return f"the table {name} is different afterwards"
    return None


def a_path_that_cannot_be_written_is_an_error_of_the_user(
    exporter: Exporter, run: str
) -> str | None:
    with TemporaryDirectory() as folder:
        try:
            exporter.write(result(run), os.path.join(folder, "nowhere", "out"))
        except ConfigError:
            return f"it leaves {os.listdir(folder)[0]}" if os.listdir(folder) else None
        except OSError as error:
            return f"expected a ConfigError, got {type(error).__name__}: use yantra.base.output"
    return "a missing folder went unnoticed"


LAWS: tuple[Callable[[Exporter, str], str | None], ...] = (
    a_file_appears_and_notes_are_texts,
    the_same_result_gives_the_same_file,
    the_result_stays_as_it_is,
    a_path_that_cannot_be_written_is_an_error_of_the_user,
)


def violations(exporter: Exporter) -> Iterator[str]:
    for run in RUNS:
        if wrong := first_broken(LAWS, run, exporter, run):
            yield wrong


def find(name: str) -> Exporter:
    made: Exporter = forms.get(name)()
    return made


def summary(_: Exporter) -> str:
    return f"every law holds for results of these runs: {', '.join(RUNS)}"


def _written(exporter: Exporter, run: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "out")
        exporter.write(result(run), path)
        with open(path, "rb") as file:
            return file.read()


CONTRACT = Contract(
    kind="exporter",
    module="yantra.kinds.exporter_laws",
    about="Check an exporter: that it writes one whole file and changes nothing.",
    argument="a name (summary), or a file with a line PLUGIN =",
    find=find,
    violations=violations,
    summary=summary,
)

if __name__ == "__main__":
    sys.exit(main(CONTRACT))
