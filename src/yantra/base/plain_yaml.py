"""Reads the plainest YAML files without PyYAML: each line a key, and a word or a list of words.

    topology: [ Ring, Switch ]  # innermost first
    npus_count: [ 8, 4 ]

ASTRA-sim's network files are so, and to import PyYAML takes as long as all else that a small run
does. Anything whose meaning takes a rule of YAML beyond these is left to PyYAML: quotes, nesting,
signs, other characters, and every mistake, so that its errors are PyYAML's.

Trade-off: two readers of one format. `tests/property/test_plain_yaml.py` holds that what this one
reads, PyYAML reads alike.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LETTERS_AND_DIGITS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_OF_WORDS = _LETTERS_AND_DIGITS | frozenset("_.-")
_LONGEST_KEY = 100  # YAML ends a key at 1024 characters


def read_plain(text: str, scalar: Callable[[str], Any]) -> dict[str, Any] | None:
    """Return the mapping in a text, None if PyYAML is to read it; `scalar` gives a word's value."""
    if not text.isascii() or not text.replace("\n", "").isprintable():
        return None
    tree: dict[str, Any] = {}
    for line in text.split("\n"):
        content = line.partition(" #")[0].rstrip(" ")
        if not content or content[0] == "#":
            continue
        key, _, value = content.partition(": ")
        value = value.strip(" ")
        is_list = value[:1] == "[" and value[-1:] == "]"
        words = [word.strip(" ") for word in value[1:-1].split(",")] if is_list else [value]
        if key in tree or len(key) > _LONGEST_KEY or not all(map(_is_word, (key, *words))):
            return None
        values = [scalar(word) for word in words]
        tree[key] = values if is_list else values[0]
    return tree or None


def _is_word(text: str) -> bool:
    return text[:1] in _LETTERS_AND_DIGITS and _OF_WORDS.issuperset(text)
