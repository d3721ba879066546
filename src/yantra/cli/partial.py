"""What an interrupted run keeps: a partial result, and `NAME.partial.ENDING`.

Files of whole runs are named as not written.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from yantra.cli import warn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.result.partial import Partial


class Files(NamedTuple):
    """The files asked for; `others` need whole runs."""

    output: str | None
    csv: str | None
    parquet: str | None
    table: str
    html: str | None
    others: Sequence[str] = ()


def keep(stop: KeyboardInterrupt, files: Files, as_json: bool) -> None:
    from yantra.cli.interruption import held

    if len(stop.args) < 2:
        return
    partial: Partial = stop.args[1]
    stop.args = ()  # the summary says it
    with held():
        warn(list(_written(partial, files)))
        if as_json:
            from yantra.export.partial import as_json as form

            sys.stdout.write(form(partial))
        else:
            sys.stdout.write(partial.summary() + "\n")
        sys.stdout.flush()


def _written(partial: Partial, files: Files) -> Iterator[str]:
    from yantra.base.output import partial_name, write_text
    from yantra.export.partial import as_json

    if files.output:
        write_text(partial_name(files.output), as_json(partial))
        yield f"interrupted: {partial_name(files.output)} has what was known"
    if files.html:
        from yantra.export.partial_page import write_page

        write_page(partial, partial_name(files.html))
        yield f"interrupted: {partial_name(files.html)} shows what was known"
    for path, form in ((files.csv, "csv"), (files.parquet, "parquet")):
        table = partial.table(files.table)
        if path and table is None:
            yield f"interrupted: {path} is not written; the table {files.table} needs a whole run"
        elif path and table is not None:
            (table.to_csv if form == "csv" else table.to_parquet)(partial_name(path))
            name = partial_name(path)
            yield f"interrupted: {name} has the table {files.table} as far as it was known"
    for path in files.others:
        yield f"interrupted: {path} is not written; it needs a whole run"
