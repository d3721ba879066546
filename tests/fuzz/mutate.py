"""Changes inputs: any bytes a little, JSON and XML by their structure."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from typing import Any

_BYTES = [b"", b"\0", b"\xff", b"{", b"}", b"[", b"]", b'"', b",", b":", b"<", b">", b"/>", b"\n"]
_BYTES += [b"[" * 5000, b'{"a":' * 5000, b"<a>" * 5000]
_TEXTS = ["", "0", "-1", "1e999", "nan", "NaN", "a", "é", "\ud800", "[[1]]", "9" * 400, "\0"]
_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    0.5,
    1e308,
    2**31,
    2**63,
    2**64,
    -(2**63),
    [],
    {},
]
_VALUES += [10**400, float("nan"), float("inf"), *_TEXTS]
_JSON = json.JSONDecoder()


def mutated(data: bytes, other: bytes, form: str, dice: random.Random) -> bytes:
    for _ in range(dice.randint(1, 4)):
        if form == "json" and dice.random() < 0.8:
            with suppress(RecursionError):
                data = _mutated_json(data, other, dice)
        elif form == "xml" and dice.random() < 0.8:
            data = _mutated_xml(data, dice)
        else:
            data = _mutated_bytes(data, other, dice)
    return data


def _mutated_bytes(data: bytes, other: bytes, dice: random.Random) -> bytes:
    at = dice.randint(0, len(data))
    match dice.randrange(6):
        case 0:
            return data[:at] + dice.choice(_BYTES) + data[at + dice.randint(0, 2) :]
        case 1:
            return data[:at] + data[at + dice.randint(1, 20) :]
        case 2:
            return data[:at]
        case 3:
            return data[:at] + other[dice.randint(0, len(other)) :]
        case 4:
            return data[:at] + data[at : at + 40] * 2 + data[at + 40 :]
        case _:
            return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]


def _mutated_json(data: bytes, other: bytes, dice: random.Random) -> bytes:
    values = _values(data)
    if not values:
        return _mutated_bytes(data, other, dice)
    place = dice.randrange(len(values))
    if dice.random() < 0.1:
        values.insert(place, dice.choice(_values(other) or [None]))
    elif dice.random() < 0.1:
        del values[place]
    else:
        values[place] = _changed(values[place], dice)
    separator = "\n" if dice.random() < 0.1 else ""
    indent = dice.choice([None, 1])
    return separator.join(json.dumps(value, indent=indent) for value in values).encode()


def _values(data: bytes) -> list[Any]:
    text = data.decode(errors="replace")
    found: list[Any] = []
    at = 0
    try:
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            value, at = _JSON.raw_decode(text, at)
            found.append(value)
    except (ValueError, RecursionError):
        pass
    return found


def _changed(value: Any, dice: random.Random) -> Any:
    if isinstance(value, dict) and value and dice.random() < 0.9:
        return _changed_object(value, dice)
    if isinstance(value, list) and value and dice.random() < 0.9:
        at = dice.randrange(len(value))
        match dice.randrange(6):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return [*value, value[at]]
            case _:
                return [*value[:at], _changed(value[at], dice), *value[at + 1 :]]
    if dice.random() < 0.05:
        return [value]
    if isinstance(value, int) and dice.random() < 0.5:
        return value + dice.choice([-1, 1, 2**32, -value * 2])
    return dice.choice(_VALUES)


def _changed_object(value: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    key = dice.choice(list(value))
    match dice.randrange(8):
        case 0:
            return {name: item for name, item in value.items() if name != key}
        case 1:
            new = dice.choice([*value, key + "x", key.upper(), *_TEXTS])
            return value | {new: value[key]}
        case 2:
            return dict(sorted(value.items(), key=lambda _: dice.random()))
        case _:
            return value | {key: _changed(value[key], dice)}


def _mutated_xml(data: bytes, dice: random.Random) -> bytes:
    text = data.decode(errors="replace")
    spots = list(re.finditer(r'="([^"]*)"|<[^>]*>', text))
    if not spots:
        return _mutated_bytes(data, data, dice)
    spot = dice.choice(spots)
    begin, end = spot.span(1) if spot.group(1) is not None else spot.span()
    match dice.randrange(4):
        case 0:
            piece = ""
        case 1:
            piece = text[begin:end] * 2
        case 2:
            piece = dice.choice(spots).group(1) or dice.choice(_TEXTS)
        case _:
            piece = dice.choice([*_TEXTS, "1", "-1", "65536", str(2**64)])
    return (text[:begin] + piece + text[end:]).encode(errors="replace")
