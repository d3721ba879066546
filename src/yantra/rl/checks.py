"""Checks that several values of post-training share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError, expected_got, hint

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 2**62


def is_whole(value: object, least: int = 0) -> bool:
    """Return whether a value is a whole number of ticks, or a count."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < _MOST


def check_names(
    where: str, given: object, known: Iterable[str], needed: Iterable[str] = ()
) -> None:
    """Raise ConfigError at `where` unless it is a map with needed names and no unknown one."""
    known = tuple(known)
    if not isinstance(given, dict):
        raise ConfigError(where, expected_got("a map", given))
    for name in needed:
        if name not in given:
            raise ConfigError(_member(where, name), "is not given")
    for name in given:
        if name not in known:
            raise ConfigError(
                _member(where, name), f"nothing has this name{hint(str(name), known)}"
            )


def check_choice(where: str, given: object, choices: Iterable[str]) -> None:
    """Raise ConfigError at `where` for a word that is not among the choices."""
    choices = tuple(choices)
    if given not in choices:
        raise ConfigError(where, f"nothing is named {given!r}{hint(str(given), choices)}")


def _member(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)
