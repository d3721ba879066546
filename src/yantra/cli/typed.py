"""Errors that name what is wrong as it was typed: `--seq` and not `sequence`, and its file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from yantra.base.errors import ConfigError, TraceError


@contextmanager
def as_typed(flags: Mapping[str, str]) -> Iterator[None]:
    """Let errors of the block name the flag in the place of the field that it gave."""
    try:
        yield
    except ConfigError as error:
        raise type(error)(flags.get(error.where, error.where), error.problem) from None


@contextmanager
def of_file(path: str | None) -> Iterator[None]:
    """Let errors of the block that know no file name this one, if there is one."""
    try:
        yield
    except (ConfigError, TraceError) as error:
        said = str(error)
        if path is None or said.startswith("-") or os.path.basename(path) in said:
            raise
        if isinstance(error, TraceError):
            raise TraceError(f"{path}: {said}") from None
        raise type(error)(f"{path}: {error.where}", error.problem) from None
