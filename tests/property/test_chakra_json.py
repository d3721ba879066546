"""JSON text of traces: protobuf writes the same, and it comes back as the trace it was."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.chakra_json import jsonized
from tests.property.chakra_traces import KNOWN_METADATA, KNOWN_NODES
from yantra import chakra
from yantra.chakra import Metadata, Node, Trace


@given(st.lists(KNOWN_NODES, max_size=4), KNOWN_METADATA)
def test_the_text_is_protobufs(nodes: list[Node], metadata: Metadata) -> None:
    trace = Trace(nodes, metadata)
    assert chakra.to_json(trace) == jsonized(trace.to_bytes())


@given(st.lists(KNOWN_NODES, max_size=4), KNOWN_METADATA)
def test_the_text_comes_back_as_the_trace(nodes: list[Node], metadata: Metadata) -> None:
    trace = Trace(nodes, metadata)
    assert chakra.read(chakra.to_json(trace).encode()) == trace


def _respelled(tree: Any, draw: st.DataObject) -> Any:
    if isinstance(tree, dict):
        items = list(tree.items())
        return {
            _snake(key) if draw.draw(st.booleans()) else key: _respelled_value(key, item, draw)
            for key, item in draw.draw(st.permutations(items))
        }
    if isinstance(tree, list):
        return [_respelled(item, draw) for item in tree]
    return tree


def _respelled_value(key: str, value: Any, draw: st.DataObject) -> Any:
    if key == "type" and isinstance(value, str):
        return draw.draw(st.sampled_from([value, getattr(chakra.NodeType, value[:-5]).value]))
    is_number = key in ("id", "durationMicros", "startTimeMicros") or "64Val" in key
    return int(value) if is_number and draw.draw(st.booleans()) else _respelled(value, draw)


def _snake(key: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in key)


@given(st.lists(KNOWN_NODES, max_size=3), st.data())
def test_other_spellings_of_the_same_text_are_the_same_trace(
    nodes: list[Node], draw: st.DataObject
) -> None:
    trace = Trace(nodes, Metadata("1"))
    trees, decoder = [], json.JSONDecoder()
    text = chakra.to_json(trace)
    while text:
        tree, end = decoder.raw_decode(text)
        trees.append(_respelled(tree, draw))
        text = text[end:]
    between = draw.draw(st.sampled_from(["", " ", "\r\n\t"]))
    other = between.join(json.dumps(tree, ensure_ascii=False) for tree in trees)
    assert chakra.read(other.encode("utf-8-sig")) == trace
