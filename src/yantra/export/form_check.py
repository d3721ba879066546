"""Whether a JSON form follows `result.schema.json`.

Unknown members, columns and names of an enumeration are accepted and listed, as newer versions may
add some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base.errors import ConfigError, expected_got, show

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_EXPECTED = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def check_form(form: Any, schema: Mapping[str, Any], where: str) -> list[str]:
    """The members that the schema does not know.

    Raises ConfigError for the first that breaks it; `where` names it.
    """
    unknown: list[str] = []
    _check(form, schema, where, unknown)
    return unknown


def _check(form: Any, schema: Mapping[str, Any], where: str, unknown: list[str]) -> None:
    _type(form, schema, where)
    if isinstance(form, dict):
        _members(form, schema, where, unknown)
    elif isinstance(form, list) and "items" in schema:
        _items(form, schema["items"], where)


def _members(
    form: dict[str, Any], schema: Mapping[str, Any], where: str, unknown: list[str]
) -> None:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in form:
            expected = f"; expected {_expected(known[name])}" if "type" in known[name] else ""
            raise ConfigError(_join(where, name), f"missing{expected}")
    others = schema.get("additionalProperties")
    for name, value in form.items():
        if name in known:
            _check(value, known[name], _join(where, name), unknown)
        elif isinstance(others, dict):
            _check(value, others, _join(where, name), unknown)
        elif known:
            unknown.append(_join(where, name))


def _items(items: list[Any], schema: Mapping[str, Any], where: str) -> None:
    allowed = _allowed(schema)
    if not allowed:
        return
    wrong = {kind for kind in set(map(type, items)) if kind not in allowed}
    if wrong:
        at = next(at for at, item in enumerate(items) if type(item) in wrong)
        raise ConfigError(f"{where}[{at}]", expected_got(_expected(schema), items[at]))
    if "minimum" in schema and items and min(items) < schema["minimum"]:
        least = min(items)
        raise ConfigError(where, f"must be at least {schema['minimum']}; got {show(least)}")


def _type(value: Any, schema: Mapping[str, Any], where: str) -> None:
    allowed = _allowed(schema)
    if allowed and type(value) not in allowed:
        raise ConfigError(where, expected_got(_expected(schema), value))


def _allowed(schema: Mapping[str, Any]) -> tuple[type, ...]:
    names = schema.get("type", ["string"] if "enum" in schema else [])
    listed = [names] if isinstance(names, str) else names
    return tuple(kind for name in listed for kind in _TYPES[name])


def _expected(schema: Mapping[str, Any]) -> str:
    names = schema.get("type", "string")
    return " or ".join(_EXPECTED[name] for name in ([names] if isinstance(names, str) else names))


def _join(where: str, name: str) -> str:
    shown = name if name.isprintable() else show(name)
    return f"{where}.{shown}" if where else shown
