"""What a kind of plug-in is, to those who write one: where it is registered, how it begins.

A new kind is one file of this folder, with a class that gives the four parts below. Its laws are
beside its plug-ins, where tests and third parties find them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from yantra.base.contract import Contract
from yantra.base.registry import Registry


class Use(NamedTuple):
    """A command that runs a plug-in, and what must be there before it is typed (or nothing)."""

    command: str
    """The command line that uses a plug-in of the kind."""
    before: str = ""
    """What must be there before, such as a workload."""


class Kind(ABC):
    """One kind of plug-in.

    `skeleton` is the text of a working plug-in that is called `my_plugin`, its class `MyPlugin`;
    both are replaced by the names of the one that is written. One that `is_program` is no file with
    a line PLUGIN =, but a program of its own, which its registry does not know.
    """

    skeleton: ClassVar[str]
    """The file that `yantra new` writes."""
    is_program: ClassVar[bool] = False
    """Whether it is a program of its own and no module of Python."""

    @abstractmethod
    def registry(self) -> Registry[Any]:
        """Return where plug-ins of this kind are known by name."""

    @abstractmethod
    def contract(self) -> Contract:
        """Return the laws that every plug-in of this kind keeps."""

    @abstractmethod
    def use(self, file: str) -> Use:
        """Return how to run the plug-in of a file; `file` is its path as it is typed."""

    def taken_by(self, name: str) -> str:
        """Return what has a name already, in words; empty if it is free."""
        return self.registry().origin_of(name)

    def text(self, name: str) -> str:
        """Return the skeleton of a plug-in of this name."""
        parts = name.replace("-", "_").split("_")
        class_name = "".join(part[:1].upper() + part[1:] for part in parts)
        return self.skeleton.replace("my_plugin", name).replace("MyPlugin", class_name)
