"""Modules that can be called, such as `yantra.compile`, which names a function and a module."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType
else:
    ModuleType = type(sys)


class CallableModule(ModuleType):
    """A module whose call is a call of its function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)


def make_callable(name: str) -> None:
    """Let the module of this name be called; to be said at its end with `__name__`."""
    sys.modules[name].__class__ = CallableModule
