"""Options of commands on a fabric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from yantra.cli.complete import fabrics

fabric_argument = click.argument("fabric", metavar="KIND|FILE", shell_complete=fabrics)
optional_fabric = click.argument(
    "fabric", metavar="KIND|FILE", required=False, shell_complete=fabrics
)
set_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set an option of the kind."
)
SIZE_IS = "The bytes of a rank: its input, or for an all-gather what it has at the end."
collective_option = click.option(
    "--collective",
    type=click.Choice(["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]),
    default="all_reduce",
    show_default=True,
    help="The collective that runs.",
)
size_option = click.option("--size", default="1 GiB", show_default=True, help=SIZE_IS)


def sizes_option(default: str) -> Callable[[Callable[..., Any]], Any]:
    return click.option("--sizes", default=default, show_default=True, help=SIZE_IS)


def split(text: str, where: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise click.UsageError(f"{where}: expected values separated by commas, got {text!r}")
    return parts


def sizes_of(text: str) -> tuple[int, ...]:
    return tuple(size_of(part, "--sizes") for part in split(text, "--sizes"))


def size_of(text: str, option: str = "--size") -> int:
    from yantra.base.units import parse

    size_bytes = int(parse(text, "size", "B", option))
    if size_bytes < 1:
        raise click.UsageError(f"{option} must be at least 1 B, got {text}")
    return size_bytes
