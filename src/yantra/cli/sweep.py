"""`yantra sweep`: runs many scenario files on all cores, one line each."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from yantra.cli.command import WithExamples, json_option
from yantra.cli.complete import backends
from yantra.cli.file_options import cluster_option, stack_option
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.base.errors import YantraError
    from yantra.cli.progress import Tell
    from yantra.export.stored import StoredResult
    from yantra.result import Result
    from yantra.scenario import Case
    from yantra.scenario.types import Fold

_HEADS = ("tokens/s", "MFU", "USD/Mtoken", "kWh/Mtoken")
_FIGURES = ("tokens_per_s", "mfu", "usd_per_million_tokens", "kwh_per_million_tokens")
_WIDTHS = (9, 15, 13, 7, 10, 10)  # of the number columns
_BOUND_WIDTH = 16


@click.command(
    cls=WithExamples,
    seldom=(
        "threads",
        "backend",
    ),
    examples=[
        "yantra sweep step.yaml other.yaml",
        "yantra sweep step.yaml other.yaml --threads 2 -o results",
        "yantra sweep step.yaml other.yaml -o results --resume",
        "yantra sweep step.yaml other.yaml --json",
        "yantra sweep step.yaml --set collectives.chunks=1,2,4 --set fold=auto,off",
        "yantra sweep step.yw --cluster hgx-h100 \\\n"
        "    --set cluster.topology.NVLink.bandwidth=x1,x2",
    ],
)
@click.argument("scenarios", type=click.Path(), nargs=-1, required=True)
@click.option(
    "--threads", type=click.IntRange(min=1), help="How many run at a time; by default one per core."
)
@click.option(
    "--fold",
    type=click.Choice(["auto", "off", "require"]),
    help="Whether to run one rank for all that do the same; changes no result.",
)
@cluster_option
@stack_option
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE,...",
    help="Set a field of the scenarios, as yantra run does; several values, or several fields, "
    "make a run of each combination.",
)
@plugin_option
@json_option
@click.option("-o", "--output", type=click.Path(), help="A folder for the full results as JSON.")
@click.option(
    "--resume",
    is_flag=True,
    help="With -o: skip results that are complete there, with the same contents and version.",
)
@click.option(
    "--backend",
    shell_complete=backends,
    default="local",
    show_default=True,
    help="Where scenarios run: local (threads), ray (a cluster of machines), or a file.",
)
def command(
    scenarios: tuple[str, ...],
    threads: int | None,
    fold: Fold | None,
    cluster: str | None,
    stack: str | None,
    settings: tuple[str, ...],
    as_json: bool,
    output: str | None,
    resume: bool,
    backend: str,
) -> int:
    """Run SCENARIOS side by side and print a line for each, in their order.

    They are files that yantra run takes. With --set each runs once for every combination of values.
    Failures are reported on stderr; the exit status is the highest. An interrupted sweep prints
    what is done; --resume continues.
    """
    from yantra.cli.progress import progress
    from yantra.run.sweep import sweep

    if resume and not output:
        raise click.UsageError("--resume needs -o, the folder of the results")
    if stack is not None:
        settings += (f"stack={stack}",)
    cases = _cases(scenarios, cluster, settings)
    given = [row.case for row in cases]
    sheet = _Sheet(cases, as_json, output)
    with progress("simulating", counted=True) as report:
        rows = sweep(
            given,
            threads,
            keep=sheet.keep,
            fold=fold,
            progress=sheet.counting_skipped(report),
            output=output,
            resume=resume,
            found=sheet.found,
            at_run=_write_local_memory,
            backend=backend,
        )
        try:
            sheet.begin()
            for number, row in enumerate(rows):
                sheet.print(number, row)
        finally:
            rows.close()
            sheet.print_rest()
    return sheet.status


def _write_local_memory(result: Result) -> None:
    if result.model.scenario.track_local_memory:
        from yantra.export import local_memory_trace

        local_memory_trace.write_traces(result)


class _Row(NamedTuple):
    """A file and its settings, as typed."""

    file: str
    settings: tuple[str, ...]
    case: Case

    @property
    def name(self) -> str:
        return " ".join((self.file, *self.settings))


def _cases(files: tuple[str, ...], cluster: str | None, settings: tuple[str, ...]) -> list[_Row]:
    from yantra.scenario import Case
    from yantra.scenario.settings import grid, value_of

    cases = []
    combinations = grid(settings)
    for file in files:
        for values in combinations:
            chosen = {path: value_of(text, path) for path, text in values.items()}
            typed = tuple(f"{path}={text}" for path, text in values.items())
            cases.append(_Row(file, typed, Case(file, cluster, chosen)))
    return cases


class _Sheet:
    """A sweep's lines, in order."""

    def __init__(self, rows: Sequence[_Row], as_json: bool, folder: str | None) -> None:
        from yantra.run.sweep import result_files

        self.status = 0
        self._names = names = [row.name for row in rows]
        self._as_json = as_json
        self._files = result_files([row.case for row in rows], folder) if folder else None
        self._skipped: set[int] = set()
        self._done: dict[int, dict[str, Any]] = {}
        self._width = max(len(name) for name in ("scenario", *names))

    def begin(self) -> None:
        if not self._as_json:
            self._line("scenario", "ranks", "makespan", *_HEADS, "bound by", "what ran")

    def found(self, number: int, why: str) -> None:
        from yantra.cli import warn

        if why:
            text = f"{self._names[number]}: {why}; it is run again"
            warn([text])
        else:
            self._skipped.add(number)

    def counting_skipped(self, report: Tell | None) -> Tell | None:
        if report is None:
            return None

        def tell(done: float, total: int | None, note: str = "") -> None:
            report(done, total, f"{len(self._skipped)} skipped" if self._skipped else note)

        return tell

    def keep(self, number: int, result: Result | StoredResult) -> dict[str, Any]:
        """Return a result's row, in the thread that ran it."""
        what_ran = result.what_ran
        assert what_ran is not None  # this version wrote it
        row = {
            "scenario": self._names[number],
            "ranks": what_ran.ranks,
            "makespan_ns": result.makespan_ns,
            "bound_by": result.bound_by.kind,
            "what_ran": what_ran.as_dict() | {"short": what_ran.short},
            "figures": result.figures.as_dict(),
            "events": result.events,
            "messages": result.messages,
            "warnings": result.warnings,
        }
        if self._files:
            row["result"] = self._files[number]
        if number in self._skipped:
            row["skipped"] = True
        self._done[number] = row
        return row

    def print(self, number: int, row: dict[str, Any] | YantraError) -> None:
        from json import dumps

        from yantra.base.errors import as_json
        from yantra.base.units import format_time
        from yantra.cli import warn

        name = self._names[number]
        if isinstance(row, dict):
            self._done.pop(number)
            if self._as_json:
                sys.stdout.write(dumps(row, ensure_ascii=False) + "\n")
            else:
                warn([f"{name}: {text}" for text in row["warnings"]])
                time = format_time(row["makespan_ns"])
                what = f"{row['what_ran']['short']}, {row['what_ran']['network']}"
                ranks = str(row["ranks"])
                self._line(name, ranks, time, *_quoted(row["figures"]), row["bound_by"], what)
        else:
            self.status = max(self.status, row.exit_code)
            if self._as_json:
                failed = {"scenario": name, **as_json(row)}
                sys.stdout.write(dumps(failed, ensure_ascii=False) + "\n")
            else:
                text = str(row)
                sys.stderr.write(f"error: {text if name in text else f'{name}: {text}'}\n")
                self._line(name, *("-" for _ in _WIDTHS), "failed", "-")

    def print_rest(self) -> None:
        for number in sorted(self._done):
            self.print(number, self._done[number])
        if self._skipped and not self._as_json:
            count = f"{len(self._skipped)} of {len(self._names)}"
            sys.stderr.write(f"skipped: {count}, finished before\n")

    def _line(self, name: str, *cells: str) -> None:
        *numbers, bound_by, what_ran = cells
        aligned = (f"{cell:>{width}}" for cell, width in zip(numbers, _WIDTHS, strict=True))
        last = f"{bound_by:<{_BOUND_WIDTH}}  {what_ran}"
        sys.stdout.write("  ".join([f"{name:<{self._width}}", *aligned, last]) + "\n")
        sys.stdout.flush()


def _quoted(figures: Mapping[str, Any]) -> list[str]:
    from yantra.result.figures import count_text, share_text

    def per_million(each: float) -> str:
        return f"{each:.4g}"

    write = (count_text, share_text, per_million, per_million)
    values = map(figures.get, _FIGURES)
    return ["-" if one is None else told(one) for one, told in zip(values, write, strict=True)]
