"""`yantra chakra timeline`: turns traces with times, or a simulator's log, into a timeline."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra chakra timeline 'timed.{rank}.et' -o timeline.json",
        "yantra chakra timeline timed.0.et --arrows -o timeline.json --json",
    ],
)
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="X...")
@click.option("-o", "--output", required=True, type=click.Path(), help="The JSON to write.")
@click.option("--arrows", is_flag=True, help="Draw data dependencies between lanes (traces).")
@click.option("--frequency", default="1GHz", show_default=True, help="Ticks per second of a log.")
@json_option
def command(
    inputs: tuple[str, ...], output: str, arrows: bool, frequency: str, as_json: bool
) -> int:
    """Write the timeline of X... for Perfetto or chrome://tracing.

    X is a node log of ASTRA-sim or Yantra, or the traces of a job, one per rank or a pattern such
    as job.{rank}.et, whose nodes have start times.
    """
    from yantra.base.text import count
    from yantra.cli import warn
    from yantra.tracing.inspect.timeline import timeline, write_timeline
    from yantra.tracing.inspect.timeline.upstream import megahertz

    made = timeline(
        inputs, ticks_per_us=megahertz(frequency, "--frequency", unit=None), arrows=arrows
    )
    warn(made.warnings)
    write_timeline(made, output)
    if as_json:
        counts = {"spans": len(made.spans), "ranks": len(made.processes)}
        print_json({"output": output, **counts, "arrows": len(made.arrows)})
        return 0
    drawn = f"{count(len(made.spans), 'span')} of {count(len(made.processes), 'rank')}"
    if arrows:
        drawn += f", {count(len(made.arrows), 'arrow')}"
    sys.stdout.write(f"{output}: {drawn}\n")
    return 0
