"""`yantra doctor`: checks the installation, and says what to do."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(cls=WithExamples, examples=["yantra doctor", "yantra doctor --json"])
@json_option
def command(as_json: bool) -> int:
    """Check the installation: packages, core, optional parts, memory, and what to do.

    The exit status is 0 if all that is needed works, else 1.
    """
    from yantra.cli import installation as doctor

    checks = doctor.examine()
    fine = doctor.is_fine(checks)
    if as_json:
        print_json({"fine": fine, "checks": [check._asdict() for check in checks]})
    else:
        sys.stdout.writelines(f"{line}\n" for line in doctor.lines(checks))
    return 0 if fine else 1
