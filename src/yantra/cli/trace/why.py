"""`yantra trace why`: where a recorded job's time went, who is late, which transfers are slow."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    seldom=("top",),
    examples=[
        "yantra trace why 'device.{rank}.json'",
        "yantra trace why 'device.{rank}.json' --cluster hgx-h100 --json",
    ],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path(), metavar="TRACE...")
@click.option("--step", type=click.IntRange(min=0), help="Look at this step alone.")
@click.option("--cluster", metavar="NAME", help="Compare transfers with this cluster's.")
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="Rows of a table."
)
@json_option
def command(
    traces: tuple[str, ...], step: int | None, cluster: str | None, top: int, as_json: bool
) -> None:
    """Say where the time of a recorded job went, who is late, and which transfers are slow.

    TRACE is a recording or a recorded Chakra trace, one per rank, a pattern with {rank} or a
    folder. Clocks that differ are corrected; waiting for the last rank is taken out of transfers.
    """
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.cli.recorded_on import differences
    from yantra.explain.recordings.expected import of_cluster
    from yantra.explain.recordings.why import why
    from yantra.explain.recordings.words import text
    from yantra.tracing.meant import meant

    traces = meant(traces)
    model = None if cluster is None else of_cluster(cluster)
    with progress("reading", counted=True) as tell:
        found, warnings = why(traces, step=step, model=model, progress=tell)
    if cluster is not None and found.transfers:
        warnings += differences(
            traces, cluster, "--cluster", "transfers are compared with those of"
        )
    warn(warnings)
    if as_json:
        print_json(found.as_dict())
    else:
        sys.stdout.write(text(found, top))
