"""Flags of text workloads: how the loop is read, how often it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--time-unit",
        type=click.Choice(["us", "ns"]),
        default="us",
        show_default=True,
        help="Unit of the file's times; ASTRA-sim 1.0 took them for ns.",
    ),
    click.option(
        "--updates",
        type=click.Choice(["delay", "compute", "none"]),
        default="delay",
        show_default=True,
        help="What update times occupy: nothing that computes, the device, or no time.",
    ),
    click.option(
        "--blocking-gradients",
        is_flag=True,
        help="Transformers wait for a layer's input gradients before its weight gradients.",
    ),
)

passes_option = click.option(
    "--passes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Passes of the training loop.",
)


def loop_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
