"""What a shell offers at `<TAB>` beyond click: names.

The shell runs `yantra` with `_YANTRA_COMPLETE` set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    shell_complete,
)

Offer = Callable[[click.Context, click.Parameter, str], Any]


class _Bash(BashComplete):
    """Bash splits `--option=val` in three words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, begun = super().get_completion_args()
        return (args[:-1] if args[-1:] == ["="] else args), begun


def answer(variable: str) -> int:
    """Print what a shell asks for; nothing for an unknown line."""
    from yantra.cli.group import yantra

    add_completion_class(_Bash)
    try:
        return shell_complete(yantra, {}, "yantra", variable, os.environ[variable])
    except Exception:
        return 1


def _offer(names: Callable[[], Iterable[str]], *, files: bool = False) -> Offer:
    def offer(_context: click.Context, _parameter: click.Parameter, begun: str) -> Any:
        items = [CompletionItem(name) for name in names() if name.startswith(begun)]
        # Bash forgets what precedes a file.
        return [CompletionItem(begun, type="file"), *items] if files else items

    return offer


def _offer_list(names: Callable[[], Iterable[str]]) -> Offer:
    def offer(_context: click.Context, _parameter: click.Parameter, begun: str) -> Any:
        before, comma, last = begun.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{name}") for name in names() if name.startswith(last)
        ]

    return offer


def _models() -> Iterable[str]:
    from yantra.workloads.models import catalogue

    return catalogue.names()


def _devices() -> Iterable[str]:
    from yantra.compute import devices

    return devices.names()


def _clusters() -> Iterable[str]:
    from yantra.collectives import sites
    from yantra.fabric import clusters

    return (*clusters.names(), *sites.names())


def _fabrics() -> Iterable[str]:
    from yantra.fabric.graphs import builders

    return builders.names()


def _traffic() -> Iterable[str]:
    from yantra.network.traffic import generators

    return generators.names()


def _networks() -> Iterable[str]:
    from yantra import network

    return network.names()


def _quirks() -> Iterable[str]:
    from yantra.scenario.quirks import Quirk

    return [quirk.value for quirk in Quirk]


def _algorithms() -> Iterable[str]:
    from yantra.collectives.algorithms import algorithms

    return algorithms.names()


def _stacks() -> Iterable[str]:
    from yantra.fabric import stacks
    from yantra.fabric.stacks.choice import CHOICES

    return dict.fromkeys((*CHOICES, *stacks.names()))


def _schedules() -> Iterable[str]:
    from yantra.workloads.schedules import schedules

    return schedules.names()


def _kinds() -> Iterable[str]:
    from yantra.kinds import kinds

    return kinds.names()


def _contracts() -> Iterable[str]:
    from yantra.cli.contract import names

    return names()


def _backends() -> Iterable[str]:
    from yantra.run.backends import backends

    return backends.names()


def _layouts() -> Iterable[str]:
    from yantra.chakra import LAYOUTS

    return LAYOUTS


def _msccl_collectives() -> Iterable[str]:
    from yantra.collectives.msccl.conditions import COLLECTIVES

    return COLLECTIVES


models = _offer(_models, files=True)
clusters = _offer(_clusters, files=True)
devices = _offer(_devices, files=True)
fabrics = _offer(_fabrics, files=True)
traffic = _offer(_traffic, files=True)
networks = _offer(_networks, files=True)
quirks = _offer(_quirks)
schedules = _offer(_schedules, files=True)
stacks = _offer(_stacks, files=True)
kinds = _offer(_kinds)
contracts = _offer(_contracts)
backends = _offer(_backends, files=True)
layouts = _offer(_layouts)
msccl_collectives = _offer(_msccl_collectives)
algorithms = _offer_list(_algorithms)
files = _offer(tuple, files=True)
