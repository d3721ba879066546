"""`yantra trace record`: a script runs, steps of it are recorded, and what they hold is told."""

from __future__ import annotations

import shlex
import subprocess
import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    context_settings={"allow_interspersed_args": False},
    examples=[
        "yantra trace record -- torchrun --nproc-per-node 2 train.py",
        "yantra trace record --warmup 2 --active 3 -- python train.py --epochs 1",
        "yantra trace record --json -- python train.py",
    ],
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="traces",
    show_default=True,
    help="The folder to write to.",
)
@click.option("--warmup", default=1, show_default=True, help="Steps to run before recording.")
@click.option("--active", default=1, show_default=True, help="Steps to record.")
@click.option(
    "--step",
    type=click.Choice(("optimizer", "call", "whole")),
    default="optimizer",
    show_default=True,
    help="What ends a step: its first optimizer, yantra.collect.step(), or the script's end.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
@json_option
def command(
    output: str, warmup: int, active: int, step: str, command: tuple[str, ...], as_json: bool
) -> int:
    """Run COMMAND, which starts a PyTorch script on any number of ranks, and record steps of it.

    Each rank's host and device trace are linked to OUTPUT/rank{rank}.json.
    """
    from yantra.cli import warn
    from yantra.compute.retarget.gpus import device_named
    from yantra.tracing.collect.launched import recording
    from yantra.tracing.why.look import look

    _check_empty(output)
    options = ("-o", output, "--warmup", str(warmup), "--active", str(active), "--step", step)
    _run(recording(command, options), output, as_json)
    pattern = _link(output)
    found, warnings = look((pattern,), device_named)
    warn(warnings)
    if as_json:
        print_json({"traces": pattern} | found.as_dict())
    else:
        sys.stdout.write(f"{'recorded':<14}{pattern}\n{found.text()}")
    return 0


def _check_empty(output: str) -> None:
    """Raise ConfigError if traces of an earlier run would be mixed with these."""
    from pathlib import Path

    from yantra.base.errors import ConfigError

    if next(Path(output).glob("host.*.json"), None):
        raise ConfigError(output, "holds traces of an earlier run; name another folder with -o")


def _run(command: list[str], output: str, quiet: bool) -> None:
    """Run to the end. Raises ConfigError if it fails."""
    from yantra.base.errors import ConfigError
    from yantra.cli.progress import paused

    try:
        # Its output is not part of the answer in JSON.
        with paused():
            done = subprocess.run(command, check=False, stdout=sys.stderr if quiet else None)
    except OSError as error:
        raise ConfigError(command[0], f"cannot be run: {error.strerror}") from None
    if done.returncode:
        said = f"ended with status {done.returncode}"
        what = f"its own error is above; {output} may hold what was recorded before"
        raise ConfigError(shlex.join(command), f"{said}; {what}")


def _link(output: str) -> str:
    """The pattern of the linked traces."""
    import os

    from yantra.cli import warn
    from yantra.tracing.pytorch import linked_file
    from yantra.tracing.pytorch.link import link_files, summary
    from yantra.tracing.pytorch.link.pairs import RANK, pairs

    host, device = (os.path.join(output, f"{kind}.{RANK}.json") for kind in ("host", "device"))
    pattern = os.path.join(output, f"rank{RANK}.json")
    for pair in pairs((host,), (device,), None):
        linked = link_files(*pair)
        warn([f"rank {linked.rank}: {text}" for text in summary.warnings(linked.report)])
        linked_file.write(linked, pattern.replace(RANK, str(linked.rank)))
    return pattern
