"""Traces from JSON: the jsonizer's form, or a v1 feeder's workload.

Source: the protobuf JSON mapping, https://protobuf.dev/programming-guides/json.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isinf, isnan
from typing import Any

from yantra import _core
from yantra.base.errors import TraceError, did_you_mean, expected_got
from yantra.chakra.json_text import NODE_TYPES
from yantra.chakra.json_values import JsonText, Path
from yantra.chakra.schema import INTEGER_RANGES, Kind, as_kind

_UINT64 = (0, 2**64 - 1)
_INT32 = (-(2**31), 2**31 - 1)
_TYPES = {name: number for number, name in NODE_TYPES.items()}
_FOREIGN = {
    "traceEvents": "a device trace of PyTorch's profiler; convert it first: yantra chakra convert "
    "pytorch",
    "nodes": "a PyTorch execution trace; convert it first: yantra chakra convert pytorch",
}


class Mistake(Exception):  # noqa: N818  # becomes a TraceError with its place
    """A wrong value, and the path to it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem


def decode_json(data: bytes, where: str) -> _core.Trace:
    text = JsonText(data, where)
    recorder = _core.TraceRecorder()
    values = text.values()
    begin, value = next(values, (0, None))
    try:
        if isinstance(value, dict) and "workload_graph" in value:
            from yantra.chakra.wrapper_json import record_workload

            record_workload(value, recorder)
            for begin, _ in values:  # noqa: B007  # `begin` is for the error
                raise Mistake((), "the workload ended before; expected the end of the file")
            return recorder.finish()
        _record_first(value, recorder)
        for begin, value in values:  # noqa: B007  # `begin` is for the error
            _record_node(value, recorder)
    except Mistake as mistake:
        raise text.error(begin, mistake.path, mistake.problem) from None
    return recorder.finish()


def _record_first(value: Any, recorder: _core.TraceRecorder) -> None:
    if not isinstance(value, dict):
        raise Mistake((), expected_got("the metadata or a node", value))
    for key, what in _FOREIGN.items():
        if key in value:
            raise Mistake((), f"this is {what}")
    if not value.keys() <= _METADATA_MEMBERS:
        recorder.end_metadata("")
        _record_node(value, recorder)
        return
    for place, item in enumerate(_sequence(value, "attr")):
        _record_attribute(item, recorder, ("attr", place))
    recorder.end_metadata(text_of(value.get("version"), ("version",)))


_METADATA_MEMBERS = {"version", "attr"}
_NODE_MEMBERS = {
    "id": "id",
    "name": "name",
    "type": "type",
    "ctrlDeps": "ctrl",
    "ctrl_deps": "ctrl",
    "dataDeps": "data",
    "data_deps": "data",
    "startTimeMicros": "start",
    "start_time_micros": "start",
    "durationMicros": "duration",
    "duration_micros": "duration",
    "inputs": "inputs",
    "outputs": "outputs",
    "attr": "attr",
}
_IO_PARTS = ("values", "shapes", "types")


def _record_node(node: Any, recorder: _core.TraceRecorder) -> None:
    if not isinstance(node, dict):
        raise Mistake((), expected_got("a node", node))
    found: dict[str, tuple[str, Any]] = {}
    for key, value in node.items():
        member = _NODE_MEMBERS.get(key)
        if member is None:
            raise Mistake((key,), f"a node has no such member{did_you_mean(key, _NODE_MEMBERS)}")
        if member in found:
            raise Mistake((key,), f"given before as {found[member][0]}")
        if value is not None:
            found[member] = (key, value)
    for place, item in enumerate(_sequence(node, "attr")):
        _record_attribute(item, recorder, ("attr", place))
    for is_output, side in enumerate(("inputs", "outputs")):
        if side in found:
            recorder.io(bool(is_output), *_io(found[side][1], side))
    recorder.node(
        _member(found, "id", whole, *_UINT64) or 0,
        _member(found, "name", text_of) or "",
        _member(found, "type", _node_type) or 0,
        _member(found, "start", whole, *_UINT64) or 0,
        _member(found, "duration", whole, *_UINT64) or 0,
        _ids(found, "data"),
        _ids(found, "ctrl"),
    )


def _member(
    found: dict[str, tuple[str, Any]], member: str, read: Callable[..., Any], *limits: int
) -> Any:
    if member not in found:
        return None
    key, value = found[member]
    return read(value, (key,), *limits)


def _ids(found: dict[str, tuple[str, Any]], member: str) -> list[int]:
    if member not in found:
        return []
    key, ids = found[member]
    if not isinstance(ids, list):
        raise Mistake((key,), expected_got("a list of ids", ids))
    return [whole(id, (key, place), *_UINT64) for place, id in enumerate(ids)]


def _node_type(value: Any, path: Path) -> int:
    if not isinstance(value, str) or value.lstrip("-").isdigit():
        return whole(value, path, *_INT32)
    if value not in _TYPES:
        raise Mistake(path, f"no node type is named {value}{did_you_mean(value, _TYPES)}")
    return _TYPES[value]


def _io(value: Any, side: str) -> list[str]:
    if not isinstance(value, dict):
        raise Mistake((side,), expected_got("an object of values, shapes and types", value))
    for key in value:
        if key not in _IO_PARTS:
            hint = did_you_mean(key, _IO_PARTS)
            raise Mistake((side, key), f"expected values, shapes and types{hint}")
    return [text_of(value.get(part), (side, part)) for part in _IO_PARTS]


def _sequence(owner: dict[str, Any], key: str) -> list[Any]:
    value = owner.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Mistake((key,), expected_got("a list", value))
    return value


def _record_attribute(value: Any, recorder: _core.TraceRecorder, path: Path) -> None:
    if not isinstance(value, dict):
        raise Mistake(path, expected_got("an attribute", value))
    name, doc, chosen = "", "", ""
    kind: Kind = Kind.NONE
    content: Any = None
    for key, item in value.items():
        if key == "name":
            name = text_of(item, (*path, key))
        elif key in _KINDS:
            if item is None:
                continue
            if chosen:
                raise Mistake((*path, key), f"an attribute has one value; {chosen} is given before")
            chosen, kind = key, _KINDS[key]
            content = _content(item, kind, (*path, key))
        elif key in ("docString", "doc_string"):
            doc = text_of(item, (*path, key))
        else:
            hint = did_you_mean(key, ["name", "docString", *_KINDS])
            raise Mistake((*path, key), f"an attribute has no such member{hint}")
    recorder.attribute(name, kind, content, doc)


def _content(value: Any, kind: Kind, path: Path) -> Any:
    if not kind.is_list:
        return _scalar(value, kind, path)
    if not isinstance(value, dict) or not value.keys() <= {"values"}:
        raise Mistake(path, expected_got('an object {"values": [...]}', value))
    element = kind.element
    items = _listed(value.get("values"), (*path, "values"))
    return [_scalar(item, element, (*path, "values", at)) for at, item in enumerate(items)]


def _listed(value: Any, path: Path) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Mistake(path, expected_got("a list", value))
    return value


def _scalar(value: Any, kind: Kind, path: Path) -> Any:
    if kind in INTEGER_RANGES:
        return whole(value, path, *INTEGER_RANGES[kind])
    if kind is Kind.STRING:
        return text_of(value, path)
    if kind is Kind.BOOL:
        if not isinstance(value, bool):
            raise Mistake(path, expected_got("true or false", value))
        return value
    return _bytes(value, path) if kind is Kind.BYTES else _float(value, kind, path)


def whole(value: Any, path: Path, low: int, high: int) -> int:
    number = value
    if isinstance(value, str) and len(value) < 30 and value.isascii():
        digits = value.removeprefix("-")
        number = int(value) if digits.isdigit() else value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        raise Mistake(path, expected_got(f"a whole number from {low} to {high}", value))
    return number


def text_of(value: Any, path: Path) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Mistake(path, expected_got("text", value))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Mistake(path, f"half a character cannot be kept: {value!r:.60}") from None
    return value


def _float(value: Any, kind: Kind, path: Path) -> float:
    words = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
    if isinstance(value, str) and value in words:
        return words[value]
    try:
        number = float(value) if isinstance(value, str) else value
        if isinstance(number, (bool, str)) or isinf(number) or isnan(number):
            raise ValueError(number)
        return as_kind("value", number, kind)  # type: ignore[return-value]
    except (ValueError, TypeError, OverflowError, TraceError):
        raise Mistake(path, expected_got(f"a {kind.name.lower()}", value)) from None


def _bytes(value: Any, path: Path) -> bytes:
    from base64 import b64decode

    if not isinstance(value, str):
        raise Mistake(path, expected_got("bytes in base64", value))
    try:
        padded = value.translate(_PLAIN_ALPHABET) + "=" * (-len(value) % 4)
        return b64decode(padded, validate=True)
    except ValueError:
        raise Mistake(path, expected_got("bytes in base64", value)) from None


_PLAIN_ALPHABET = str.maketrans("-_", "+/")
_KINDS: dict[str, Kind] = {}
for _kind in Kind:
    if _kind is not Kind.NONE:
        _type, _shape = _kind.element.name.lower(), "list" if _kind.is_list else "val"
        _KINDS[f"{_type}{_shape.capitalize()}"] = _KINDS[f"{_type}_{_shape}"] = _kind
