"""Values that a file leaves open, until a setting says them, and such as are taken meanwhile."""

from __future__ import annotations

from yantra.base.errors import ConfigError


class Open(str):
    """In place of a value: where it is asked for, and why it is not known there."""

    __slots__ = ("problem", "where")
    where: str
    problem: str

    @classmethod
    def of(cls, error: ConfigError) -> Open:
        made = cls("open")
        made.where, made.problem = error.where, error.problem
        return made

    def refusal(self, setting: str) -> ConfigError:
        return ConfigError(self.where, f"{self.problem}; {setting} says it")


class Taken(int):
    """A number that nothing says."""

    __slots__ = ()
