"""`yantra run`: runs a scenario file."""

from __future__ import annotations

import sys

import click

from yantra.cli import warn
from yantra.result.files import TABLES, json_text

_SHOWN_AS_JSON = ("ranks", "dimensions", "links")


@click.command()
@click.argument("scenario", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-o", "--output", type=click.Path(), help="Write the whole result as JSON.")
@click.option("--csv", type=click.Path(), help="Write one table as CSV.")
@click.option("--parquet", type=click.Path(), help="Write one table as Parquet.")
@click.option(
    "--table",
    type=click.Choice(TABLES),
    default="ranks",
    show_default=True,
    help="The table for --csv and --parquet.",
)
def command(
    scenario: str,
    as_json: bool,
    output: str | None,
    csv: str | None,
    parquet: str | None,
    table: str,
) -> int:
    """Run SCENARIO and show where the time of its ranks goes."""
    from yantra import scenario as scenarios
    from yantra.cli.show import progress, show
    from yantra.compile import compile
    from yantra.export import local_memory
    from yantra.simulate import run

    model = compile(scenarios.load(scenario))
    if not as_json:
        warn(model.warnings)
    with progress() as report:
        result = run(model, progress=report)
    if not as_json:
        warn(result.run_warnings)
    if output:
        result.to_json(output)
    if csv:
        result.to_csv(csv, table)
    if parquet:
        result.to_parquet(parquet, table)
    if model.scenario.track_local_memory:
        local_memory.write_traces(result)
    if as_json:
        sys.stdout.write(json_text(result, _SHOWN_AS_JSON))
    else:
        show(result)
    return 0
