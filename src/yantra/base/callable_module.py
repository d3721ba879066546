"""Modules that can be called, such as `yantra.compile`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType
else:
    ModuleType = type(sys)


class CallableModule(ModuleType):
    """A module whose call calls its function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)


def make_callable(name: str) -> None:
    """Make a module callable; call at its end with `__name__`."""
    sys.modules[name].__class__ = CallableModule
