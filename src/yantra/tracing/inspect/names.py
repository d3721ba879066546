"""Operator and kernel names without arguments, template arguments, instance numbers and
addresses.
"""

from __future__ import annotations

import re

_ANONYMOUS = ("(anonymous namespace)::", "{anonymous}::", "<unnamed>::")
_RETURN_TYPE = re.compile(r"^(?:(?:void|int|float|double|bool|auto|static|inline)\s+)+")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"#?(?<![A-Za-z0-9])[0-9]+(?![A-Za-z0-9])")
_BRACKETED = re.compile(r"(?:\[[^\[\]|]*\])+$")
_SPACES = re.compile(r"\s+")
_OPEN, _CLOSE = "<(", ">)"
_LONGEST = 200


def normalised(name: str) -> str:
    text = name.strip()
    for part in _ANONYMOUS:
        text = text.replace(part, "")
    text = _without_arguments(text) or text
    text = _RETURN_TYPE.sub("", text)
    text = _NUMBER.sub("*", _ADDRESS.sub("*", _BRACKETED.sub("", text)))
    return _SPACES.sub(" ", text).strip()[:_LONGEST]


def _without_arguments(text: str) -> str:
    if "<" not in text and "(" not in text:
        return text
    kept: list[str] = []
    depth = 0
    previous = ""
    for character in text:
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE and previous != "-":
            depth = max(depth - 1, 0)
        elif depth == 0:
            kept.append(character)
        previous = character
    return "".join(kept).strip()
