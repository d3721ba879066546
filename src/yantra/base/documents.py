"""JSON and YAML text to plain trees, with the place of every syntax error.

YAML is strict: repeated keys are errors, and plain scalars are numbers or truth values only in
JSON's spelling (`no`, `1:30`, `010` are text).
"""

from __future__ import annotations

import json
import re
from math import isinf
from os import PathLike
from typing import TYPE_CHECKING, Any

from yantra.base import bounds
from yantra.base.errors import ConfigError, show
from yantra.base.nesting import is_too_deep, too_deep_at
from yantra.base.notes import note, note_time
from yantra.base.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Path = str | PathLike[str]

RESULT_FORMAT = "yantra-result"
"""What the member `format` of a result says, by which it is known."""

_SEALED = "# sealed by Yantra"  # the last line of sealed YAML
_GZIP = b"\x1f\x8b"
_JSON_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
# A backslash, a whole pair, or the wrong half, in this order.
_HALF_A_PAIR = r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)"
_BYTE_OF_A_PATH = r"\\u[dD][cC][89a-fA-F][0-9a-fA-F]"
_SHOWN = 3
_ZEROS = "0" * 19  # fewer digits fit 64 bits
_DIGITS = str.maketrans("123456789", "000000000")
_JSON_WORDS = {"true": True, "false": False, "null": None, "": None, "~": None}


def read_text(path: Path, *, keep_mark: bool = False) -> str:
    """Return the text of a UTF-8 file, unpacked from gzip, by default without its byte-order
    mark.
    """
    try:
        content = read_regular(path)
        if content[:2] == _GZIP:
            from yantra.base.unpacking import unpack_gzip

            content = unpack_gzip(content, str(path))
        text = content.decode().replace("\r\n", "\n").replace("\r", "\n")
        return text if keep_mark else text.removeprefix("\ufeff")
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"not UTF-8 text at byte {error.start}") from None
    except ValueError:
        raise ConfigError(show(path), "cannot be read: not a path") from None


def parse_json(
    text: str, name: str, *, exact_integers: bool = False, constants: bool = False
) -> tuple[Any, list[str]]:
    """Return a text's first JSON value, and warnings of repeated keys and of text after it.

    `name` is the file the errors name. The last of repeated keys counts and the rest is unread, as
    in nlohmann::json 3.10 after `stream >> json`. `exact_integers` keeps integers above 64 bits,
    which else become floats, as there. `constants` takes `Infinity` and `NaN`.
    """
    warnings: list[str] = []

    def merge(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for key, value in pairs:
            if key in merged:
                warnings.append(f"{name}: {show(key)}: given twice; the last value counts")
            merged[key] = value
        return merged

    def constant(word: str) -> float:
        if constants:
            return float(word.replace("Infinity", "inf"))
        raise _not_json(name, f"{word} is not a JSON value")

    def number(digits: str) -> int | float:
        if exact_integers and digits.lstrip("-").isdigit():
            _check_digits(digits, name)
            return int(digits)
        return _number(digits, name)

    fits = _ZEROS not in text.translate(_DIGITS)  # then the scanner takes numbers without a call
    hooks = {
        "object_pairs_hook": merge,
        "parse_float": number,
        "parse_int": int if fits else number,
        "parse_constant": constant,
    }
    start = len(text) - len(text.lstrip(" \t\r\n"))
    _check_escapes(text, name)
    _check_depth(text, name)
    tree, end = _decoded(text, start, hooks, name)
    rest = text[end:].strip()
    if rest:
        warnings.append(f"{name}: text after the JSON value is ignored: {show(rest)}")
    return tree, warnings


def _decoded(text: str, start: int, hooks: dict[str, Any], name: str) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(**hooks).raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _at(name, error.lineno, error.colno, f"not JSON: {_lower(error.msg)}") from None


def _check_depth(text: str, name: str) -> None:
    if (at := too_deep_at(text)) is not None:
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise _at(name, line, column, "not JSON: nested too deeply")


def _check_digits(digits: str, name: str) -> None:
    if len(digits) > bounds.DIGITS:
        problem = f"a number has {len(digits)} digits; expected at most {bounds.DIGITS}"
        raise _not_json(name, problem)


def _check_escapes(text: str, name: str, *, of_paths: bool = False) -> None:
    if "\\ud" not in text and "\\uD" not in text:
        return
    for found in re.finditer(_HALF_A_PAIR, text):
        if found[1] and not (of_paths and re.fullmatch(_BYTE_OF_A_PATH, found[1])):
            line = text.count("\n", 0, found.start()) + 1
            column = found.start() - text.rfind("\n", 0, found.start())
            raise _at(name, line, column, f"not JSON: {found[1]} is half of a surrogate pair")


def parse_own_json(text: str, name: str) -> dict[str, Any]:
    """Return the object of a JSON file that Yantra wrote; `name` is for errors.

    Raises ConfigError if the seal is broken.
    """

    def constant(word: str) -> None:
        raise _not_json(name, f"{word} is not a JSON value")

    _check_escapes(text, name, of_paths=True)
    _check_depth(text, name)
    try:
        tree = json.loads(text, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise _at(name, error.lineno, error.colno, f"not JSON: {_lower(error.msg)}") from None
    except ValueError:  # of `int`, which takes fewer digits than a file may have
        raise _not_json(name, "a number has too many digits") from None
    if not isinstance(tree, dict):
        raise ConfigError(name, f"expected an object, got {show(tree)}")
    _check_seal(tree, text, name)
    return tree


def _check_seal(tree: dict[str, Any], text: str, name: str) -> None:
    from yantra.base.seals import MEMBER, state_of_json

    state = state_of_json(text)
    if state == "changed" or (state == "unsealed" and MEMBER in tree):
        problem = (
            f"damaged or edited: it is not as its member {MEMBER} says that Yantra wrote it; "
            "make it again, or remove that member to have it read as it is"
        )
        raise ConfigError(name, problem)


def note_no_seal(tree: dict[str, Any], name: str) -> None:
    from yantra.base.seals import MEMBER

    if MEMBER not in tree:
        note(
            f"{name}: has no digest, so damage would not be noticed; an older Yantra wrote it, "
            "--json, or an editor"
        )


def note_unknown(names: Sequence[str], where: str) -> None:
    if not names:
        return
    shown = ", ".join(name if name.isprintable() else show(name) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    note(f"{where}: left out what this version of Yantra does not know: {shown}{more}")


def json_value(data: str | bytes) -> Any:
    """Return a JSON value as Python's reader takes it:

    NaN is one, the last of repeated keys counts, half a surrogate pair becomes the replacement
    character. Raises ValueError, also for nesting or digits beyond the bounds.
    """
    if is_too_deep(data):
        raise ValueError("nested too deeply")
    return json.loads(_of_whole_pairs(data))


def _of_whole_pairs(data: str | bytes) -> str | bytes:
    if isinstance(data, bytes):
        if b"\\ud" not in data and b"\\uD" not in data:
            return data
        data = data.decode(errors="surrogateescape")
    if "\\ud" not in data and "\\uD" not in data:
        return data
    whole = re.sub(_HALF_A_PAIR, lambda found: "\\ufffd" if found[1] else found[0], data)
    return whole.encode(errors="surrogateescape")


def parse_yaml(text: str, name: str, scalars_as_text: bool = False) -> Any:
    """Return the tree of the one YAML document in a text, or None.

    `scalars_as_text` keeps every scalar as written; keys always are. Notes edits of a sealed text.
    """
    if _SEALED in text:
        _note_edits(text, name)
    plain: Callable[[str], Any] = str if scalars_as_text else _plain_scalar
    note_time(text, name, "YAML", 1.0)
    return _parse_any_yaml(text, name, plain)


def _note_edits(text: str, name: str) -> None:
    from yantra.base.seals import state_of_yaml

    if state_of_yaml(text) == "changed":
        note(f"{name}: was edited since Yantra wrote it; without its last line it is read silently")


def parse_lenient_yaml(text: str, name: str, *, last_counts: bool) -> tuple[Any, list[str]]:
    """Return the tree of the first YAML document, scalars as text, and warnings."""
    note_time(text, name, "YAML", 1.0)
    lenient = _Lenient(last_counts)
    return _parse_any_yaml(text, name, str, lenient), lenient.warnings


def parse_other_yaml(text: str, name: str) -> Any:
    """The tree of a file of another program's: as PyYAML, the last of repeated keys counts.

    A note says which.
    """
    lenient = _Lenient(last_counts=True, of="PyYAML")
    tree = _parse_any_yaml(text, name, _plain_scalar, lenient)
    for warning in lenient.warnings:
        note(warning)
    return tree


class _Lenient:
    """A lenient reader's warnings, and which repeated key counts."""

    def __init__(self, last_counts: bool, of: str = "ASTRA-sim") -> None:
        self.last_counts = last_counts
        self._of = of
        self.warnings: list[str] = []

    def warn(self, error: ConfigError, what_counts: str) -> None:
        self.warnings.append(f"{error}; the {what_counts} counts, as in {self._of}")


def _parse_any_yaml(
    text: str, name: str, plain: Callable[[str], Any], lenient: _Lenient | None = None
) -> Any:
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _Tree(yaml.parse(text, Loader=loader), name, plain, lenient, len(text)).document()
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark, f"not YAML: {error.problem or error.context}"
        if mark is None:
            raise ConfigError(name, problem) from None
        raise _at(name, mark.line + 1, mark.column + 1, problem) from None
    except yaml.YAMLError as error:
        raise ConfigError(name, f"not YAML: {_lower(str(error).splitlines()[0])}") from None


def is_plain_text(text: str) -> bool:
    """Return whether `parse_yaml` reads this plain scalar as text."""
    return isinstance(_plain_scalar(text), str)


class _Tree:
    """Builds a document from parser events, as PyYAML's composer recurses in C without limit.

    Shared anchors are built once and aliases bounded, so cost is linear in the text.
    """

    def __init__(
        self,
        events: Iterator[Any],
        name: str,
        plain: Callable[[str], Any],
        lenient: _Lenient | None,
        size: int,
    ) -> None:
        self._events = events
        self._name = name
        self._plain = plain
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._lenient = lenient
        self._bounds = bounds.of(size)
        self._values = 0

    def document(self) -> Any:
        tree, documents = None, 0
        for event in self._events:
            if _kind(event) == "DocumentStart":
                documents += 1
                if documents > 1:
                    error = self._error(event, "expected one document, got another")
                    if self._lenient is None:
                        raise error
                    self._lenient.warn(error, "first")
                    break
                tree = self._value(next(self._events), 0)
        return tree

    def _value(self, event: Any, depth: int) -> Any:
        if depth > self._bounds.depth:
            raise self._error(event, "nested too deeply")
        kind = _kind(event)
        if kind == "Alias":
            return self._alias(event)
        before = self._values
        self._values += 1
        if kind == "MappingStart":
            value: Any = self._mapping(depth + 1)
        elif kind == "SequenceStart":
            value = [self._value(item, depth + 1) for item in self._until("SequenceEnd")]
        else:
            value = event.value if event.style else self._plain(event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._values - before
        return value

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise self._error(event, f"the anchor '{event.anchor}' is not defined before")
        value, values = self._anchors[event.anchor]
        self._values += values
        if self._values > self._bounds.entries:
            problem = f"aliases make more than {self._bounds.entries} values of it"
            raise self._error(event, problem)
        return value

    def _mapping(self, depth: int) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for key in self._until("MappingEnd"):
            if _kind(key) != "Scalar":
                raise self._error(key, "a key must be a scalar")
            value = self._value(next(self._events), depth)
            if key.value not in tree or self._is_replaced(key):
                tree[key.value] = value
        return tree

    def _is_replaced(self, key: Any) -> bool:
        error = self._error(key, f"the key {show(key.value)} is given twice")
        if self._lenient is None:
            raise error
        self._lenient.warn(error, "last value" if self._lenient.last_counts else "first value")
        return self._lenient.last_counts

    def _until(self, end: str) -> Iterator[Any]:
        while _kind(event := next(self._events)) != end:
            yield event

    def _error(self, event: Any, problem: str) -> ConfigError:
        return _at(self._name, event.start_mark.line + 1, event.start_mark.column + 1, problem)


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _plain_scalar(text: str) -> Any:
    if text in _JSON_WORDS:
        return _JSON_WORDS[text]
    match = re.fullmatch(_JSON_NUMBER, text)
    if match is None:
        return text
    return float(text) if match[2] or match[3] or len(text) > 30 else int(text)


def _number(text: str, name: str) -> int | float:
    """Read a JSON number; an integer beyond 64 bits becomes a float."""
    if text.lstrip("-").isdigit() and len(text) <= 20:
        whole = int(text)
        if -(2**63) <= whole < 2**64:
            return whole
    value = float(text)
    if isinf(value):
        raise _not_json(name, f"the number {show(text)} is out of range")
    return value


def _not_json(name: str, problem: str) -> ConfigError:
    return ConfigError(name, f"not JSON: {problem}")


def _at(name: str, line: int, column: int, problem: str) -> ConfigError:
    return ConfigError(f"{name}, line {line}, column {column}", problem)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
