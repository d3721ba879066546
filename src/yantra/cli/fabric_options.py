"""What commands on a fabric take alike: the fabric, its options, and sizes of collectives on it."""

from __future__ import annotations

import click

from yantra.cli.complete import fabrics

fabric_argument = click.argument("fabric", metavar="KIND|FILE", shell_complete=fabrics)
set_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set an option of the kind."
)
SIZE_IS = "The bytes of a rank: its input, or of an all-gather what it has at last."
size_option = click.option("--size", default="1 GiB", show_default=True, help=SIZE_IS)


def size_of(text: str, option: str = "--size") -> int:
    """Return whole bytes, at least one; `option` is what a mistake is reported at."""
    from yantra.base.units import parse

    size_bytes = int(parse(text, "size", "B", option))
    if size_bytes < 1:
        raise click.UsageError(f"{option} must be at least 1 B, got {text}")
    return size_bytes
