"""A rarely given field, whose code is imported on use.

Trade-off: a misspelled module name shows only then.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

from yantra.base.fields.scalars import Field, Schema


class Rare(Field):
    """The field of a name in a module, such as `yantra.scenario.tier_fields`, `TierField`,

    made without arguments.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    @cached_property
    def _field(self) -> Field:
        made: Field = getattr(import_module(self._module), self._name)()
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._field, name)

    def read(self, tree: Any, where: str, folder: str) -> Any:
        return self._field.read(tree, where, folder)

    def check(self, value: Any, where: str) -> None:
        self._field.check(value, where)

    def write(self, value: Any, folder: str) -> Any:
        return self._field.write(value, folder)

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        return self._field.put(tree, path, value, where, folder)

    def files(self, value: Any) -> tuple[str, ...]:
        return self._field.files(value)

    def schema(self) -> Schema:
        return self._field.schema()

    def describe(self) -> str:
        return self._field.describe()
