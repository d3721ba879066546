"""Errors in the user's words: `--seq`, not `sequence`, and the file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from yantra.base.errors import ConfigError, TraceError


@contextmanager
def as_typed(flags: Mapping[str, str]) -> Iterator[None]:
    """Within the block, errors name the flag of a field."""
    try:
        yield
    except ConfigError as error:
        raise type(error)(flags.get(error.where, error.where), error.problem) from None


@contextmanager
def of_file(path: str | None) -> Iterator[None]:
    """Within the block, errors without a file name this one."""
    try:
        yield
    except (ConfigError, TraceError) as error:
        said = str(error)
        if path is None or said.startswith("-") or os.path.basename(path) in said:
            raise
        if isinstance(error, TraceError):
            raise TraceError(f"{path}: {said}") from None
        raise type(error)(f"{path}: {error.where}", error.problem) from None
