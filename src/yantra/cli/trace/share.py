"""`yantra trace share`: a recording that behaves the same and hides its model."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    seldom=("groups",),
    examples=[
        "yantra trace share 'rank{rank}.json.gz' -o safe/",
        "yantra trace share 'job.{rank}.et' --key key.txt -o safe --json",
    ],
)
@click.argument("traces", nargs=-1, required=True, type=click.Path(), metavar="TRACE...")
@click.option("-o", "--output", type=click.Path(), required=True, help="The folder to write.")
@click.option("--key", help="The secret: a file, or the text itself; drawn if left out.")
@click.option("--groups", type=click.Path(), help="Group file: JSON, group name -> ranks.")
@json_option
def command(
    traces: tuple[str, ...], output: str, key: str | None, groups: str | None, as_json: bool
) -> None:
    """Draw TRACE... anew: as long, as busy, as much communicated, by nobody knows which model.

    TRACE is a recording or a Chakra trace, one per rank, a pattern with {rank} or a folder.
    Recordings become recordings, Chakra traces Chakra traces. Says what an attacker finds, and how
    both forms run on three networks.
    """
    from yantra.cli import warn
    from yantra.run import share
    from yantra.tracing.meant import meant

    said, shared, files = share.share_files(meant(traces), output, key, groups)
    warn([*said, *share.warnings(shared)])
    if as_json:
        print_json(share.as_dict(shared, files))
    else:
        sys.stdout.write(share.report(shared, files))
