"""Names of a package that are imported on first use.

Importing all takes longer than a short command.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def late(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's `__getattr__` and `__dir__`; `names` are each file's, in words."""
    homes = {name: file for file, several in names.items() for name in several.split()}
    module = sys.modules[package]

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(module, name, value)
        return value

    def names_of_package() -> list[str]:
        return sorted({*vars(module), *homes})

    return get, names_of_package
