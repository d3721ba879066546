"""`yantra device show`: shows what follows from the description of a device."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option
from yantra.cli.complete import devices


@click.command(
    cls=WithExamples,
    examples=[
        "yantra device show a100",
        "yantra device show my-device.yaml",
        "yantra device show mi210 --json",
    ],
)
@click.argument("name", shell_complete=devices)
@json_option
def command(name: str, as_json: bool) -> None:
    """Show rates, area, power and cost of the device NAME, or of a file that describes one."""
    from yantra.compute.devices import load
    from yantra.compute.devices.describe import as_dict, report

    device = load(name, "NAME")
    if as_json:
        sys.stdout.write(json.dumps(as_dict(device), ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(report(device))
