"""What a kind of plug-in is: where it is registered, how it begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from yantra.base.contract import Contract
from yantra.base.registry import Registry


class Use(NamedTuple):
    """A command that runs a plug-in, and what it needs first, if anything."""

    command: str
    """The command line that uses a plug-in of the kind."""
    before: str = ""
    """What must be there before, such as a workload."""


class Kind(ABC):
    """One kind of plug-in.

    `skeleton` is a working plug-in `my_plugin` of class `MyPlugin`, both replaced by real names.
    """

    skeleton: ClassVar[str]
    """The file that `yantra new` writes."""
    is_program: ClassVar[bool] = False
    """Whether it is a program of its own, without PLUGIN and unknown to its registry."""

    @abstractmethod
    def registry(self) -> Registry[Any]:
        """Its plug-ins."""

    @abstractmethod
    def contract(self) -> Contract:
        """Its laws."""

    @abstractmethod
    def use(self, file: str) -> Use:
        """How to run the plug-in of a file, a path as typed."""

    def taken_by(self, name: str) -> str:
        """What has a name already, in words; empty if it is free."""
        return self.registry().origin_of(name)

    def text(self, name: str) -> str:
        """The skeleton of a plug-in of this name."""
        parts = name.replace("-", "_").split("_")
        class_name = "".join(part[:1].upper() + part[1:] for part in parts)
        return self.skeleton.replace("my_plugin", name).replace("MyPlugin", class_name)
