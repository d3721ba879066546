"""Errors that name what is wrong as it was typed: `--seq` and not `sequence`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from yantra.base.errors import ConfigError


@contextmanager
def as_typed(flags: Mapping[str, str]) -> Iterator[None]:
    """Let errors of the block name the flag in the place of the field that it gave."""
    try:
        yield
    except ConfigError as error:
        raise type(error)(flags.get(error.where, error.where), error.problem) from None
