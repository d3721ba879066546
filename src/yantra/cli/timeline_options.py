"""`--trace` and its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, expected_got
from yantra.cli import warn

if TYPE_CHECKING:
    from yantra.result import Result

_FORMS = {"pftrace": "perfetto", "perfetto-trace": "perfetto", "json": "chrome"}


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    import click

    added = (
        click.option(
            "--trace",
            type=click.Path(),
            help="Write a timeline: NAME.pftrace for Perfetto, NAME.json for chrome://tracing; "
            "either with .gz.",
        ),
        click.option(
            "--trace-ranks",
            metavar="RANKS",
            help="With --trace: the ranks shown, such as 0,7-15 or all; by default all, or one "
            "of each class of a folded run.",
        ),
        click.option(
            "--trace-messages",
            type=click.IntRange(min=0),
            help="With --trace: how many messages are drawn at most.",
        ),
    )
    for option in reversed(added):
        command = option(command)
    return command


def check(path: str | None, ranks: str | None, messages: int | None) -> None:
    import click

    if path:
        form_of(path)
    elif ranks is not None or messages is not None:
        flag = "--trace-ranks" if ranks is not None else "--trace-messages"
        raise click.UsageError(f"{flag} goes with --trace")


def form_of(path: str) -> str:
    form = _FORMS.get(path.removesuffix(".gz").rpartition(".")[2])
    if form is None:
        names = "a name that ends in .pftrace or .json (and .gz)"
        raise ConfigError("--trace", expected_got(names, path))
    return form


def write(result: Result, path: str, ranks: str | None, messages: int | None) -> None:
    export = result.to_perfetto if form_of(path) == "perfetto" else result.to_chrome
    more: dict[str, Any] = {} if messages is None else {"messages": messages}
    warn([f"{path}: {note}" for note in export(path, ranks=ranks, where="--trace-ranks", **more)])
