"""The names of a package that are imported from its files when somebody first asks for them.

Importing all takes longer than a short command's work. Trade-off: such a package lists its names
twice, for type checkers and by file.
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
    """Return `__getattr__` and `__dir__` of a package; `names` are those of each file, in words."""
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
