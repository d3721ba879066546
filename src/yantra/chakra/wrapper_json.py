"""Workloads as JSON of the v1 feeder: an object with a list `workload_graph`.

`Id` and `NodeType` are required.

Source: MLCommons Chakra, WrapperNode and JSONNode of the C++ feeder (2025).
"""

from __future__ import annotations

from typing import Any

from yantra import _core
from yantra.base.errors import did_you_mean, expected_got
from yantra.chakra.json_reader import Mistake, text_of, whole
from yantra.chakra.json_values import Path
from yantra.chakra.schema import DEFAULT_KINDS, INTEGER_RANGES, Kind

_UINT64 = (0, 2**64 - 1)
_INT32 = (-(2**31), 2**31 - 1)
_NAMES = {"ctrl_deps": "ctrlDeps", "dataDeps": "data_deps"}
_OWN = ("Id", "Name", "NodeType", "runtime", "data_deps", "ctrlDeps")


def record_workload(workload: dict[str, Any], recorder: _core.TraceRecorder) -> None:
    for key, value in workload.items():
        if key != "workload_graph":
            _attribute(key, value, recorder, (key,))
    recorder.end_metadata("")
    nodes = workload["workload_graph"]
    if not isinstance(nodes, list):
        raise Mistake(("workload_graph",), expected_got("a list of nodes", nodes))
    for place, node in enumerate(nodes):
        path = ("workload_graph", place)
        if not isinstance(node, dict):
            raise Mistake(path, expected_got("a node", node))
        _node(node, recorder, path)


def _node(node: dict[str, Any], recorder: _core.TraceRecorder, path: Path) -> None:
    own: dict[str, Any] = {}
    for key, value in node.items():
        name = _NAMES.get(key, key)
        if name not in _OWN:
            _attribute(name, value, recorder, (*path, key))
        elif name in own:
            raise Mistake((*path, key), "the dependencies are given before, in another spelling")
        else:
            own[name] = value
    for name in ("Id", "NodeType"):
        if name not in own:
            raise Mistake(path, f"a node must have {name}{did_you_mean(name, node)}")
    recorder.node(
        whole(own["Id"], (*path, "Id"), *_UINT64),
        text_of(own.get("Name"), (*path, "Name")),
        whole(own["NodeType"], (*path, "NodeType"), *_INT32),
        0,
        whole(own.get("runtime", 0), (*path, "runtime"), *_UINT64),
        _ids(own, "data_deps", path, node),
        _ids(own, "ctrlDeps", path, node),
    )


def _ids(own: dict[str, Any], name: str, path: Path, node: dict[str, Any]) -> list[int]:
    key = next((key for key in node if _NAMES.get(key, key) == name), name)
    ids = own.get(name, [])
    if not isinstance(ids, list):
        raise Mistake((*path, key), expected_got("a list of ids", ids))
    return [whole(id, (*path, key, place), *_UINT64) for place, id in enumerate(ids)]


def _attribute(name: str, value: Any, recorder: _core.TraceRecorder, path: Path) -> None:
    text_of(name, path)
    kind = DEFAULT_KINDS.get(name) or _kind_of(value)
    if kind in INTEGER_RANGES:
        value = whole(value, path, *INTEGER_RANGES[kind])
    elif kind is Kind.STRING and isinstance(value, str):
        value = text_of(value, path)
    elif not isinstance(value, {Kind.BOOL: bool, Kind.DOUBLE: float}.get(kind, ())):
        expected = "a plain value" if name not in DEFAULT_KINDS else f"a {kind.name.lower()}"
        raise Mistake(path, expected_got(expected, value))
    recorder.attribute(name, kind, value, "")


def _kind_of(value: Any) -> Kind:
    kinds = {bool: Kind.BOOL, int: Kind.INT64, float: Kind.DOUBLE, str: Kind.STRING}
    return kinds.get(type(value), Kind.NONE)
