"""`yantra network flows --routing A,B,...`: one list under several routings, a row for each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.cli.command import print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yantra.run.flows import Simulation


def compare(
    names: list[str],
    simulation: Callable[[str], Simulation],
    files: Mapping[str, object],
    network: str,
    as_json: bool,
) -> None:
    """Simulate the list under each routing and print what its flows take.

    `files`: options that show one run, by name. Raises ConfigError where one is given.
    """
    from yantra.base.text import count, table
    from yantra.base.units import format_time
    from yantra.cli.progress import progress
    from yantra.result.slowdowns import PERCENTILES

    for option, given in files.items():
        if given is not None:
            raise ConfigError(f"--{option}", "shows one run; give one --routing, not several")
    rows: list[dict[str, Any]] = []
    total = 0
    heads = [f"p{percentile}" for percentile in PERCENTILES]
    with progress("simulating under each routing") as report:
        for name in names:
            run = simulation(name)
            for _ in run.ended():
                pass
            run.check_all_end()
            total = run.work.flows
            rows.append({"routing": name, "end_ns": run.result.makespan_ns})
            for power, _, slowdown, fct in run.result.by_size():
                if power is None:
                    rows[-1] |= dict(zip(heads, slowdown, strict=True))
                    rows[-1] |= {f"fct_{head}_ns": ns for head, ns in zip(heads, fct, strict=True)}
            if report is not None:
                report(len(rows), len(names))
    if as_json:
        print_json({"flows": total, "network": network, "routings": rows})
        return
    cells = [
        (
            row["routing"],
            format_time(row["end_ns"]),
            *(f"{row[head]:.3f}" for head in heads if head in row),
            *(format_time(row[f"fct_{head}_ns"]) for head in heads if head in row),
        )
        for row in rows
    ]
    sys.stdout.write(f"{count(total, 'flow')} under each routing\n")
    sys.stdout.write("slowdown against alone, and time to completion\n")
    columns = ("routing", "the last ends", *heads, *(f"time {head}" for head in heads))
    sys.stdout.write("\n".join(table(columns, cells)) + "\n")
