"""Strategies for traces that may hold anything the schema allows."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from yantra.chakra import Attribute, IOInfo, Kind, Metadata, Node, NodeType

TEXT = st.text(st.characters(codec="utf-8"), max_size=10)
UINT64 = st.integers(0, 2**64 - 1)


def whole(bits: int, signed: bool) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1)


SCALARS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.DOUBLE: st.floats(allow_nan=False),
    Kind.FLOAT: st.floats(allow_nan=False, width=32),
    **{
        Kind[f"{sign}INT{bits}"]: whole(bits, sign != "U")
        for sign in ("", "S", "U")
        for bits in (32, 64)
    },
    **{
        Kind[f"{sign}FIXED{bits}"]: whole(bits, sign == "S")
        for sign in ("", "S")
        for bits in (32, 64)
    },
    Kind.BOOL: st.booleans(),
    Kind.STRING: TEXT,
    Kind.BYTES: st.binary(max_size=10),
}


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    kind = draw(st.sampled_from(list(Kind)))
    if kind is Kind.NONE:
        value = None
    elif kind.is_list:
        value = draw(st.lists(SCALARS[kind.element], max_size=4))
    else:
        value = draw(SCALARS[kind])
    return Attribute(draw(TEXT), value, kind, draw(TEXT))


def _foreign(first: int) -> st.SearchStrategy[bytes]:
    numbers = st.integers(first, 15)
    field = st.builds(lambda number, value: bytes([number << 3, value]), numbers, st.integers(0, 9))
    return st.lists(field, max_size=2).map(b"".join)


IO = st.none() | st.builds(IOInfo, TEXT, TEXT, TEXT)


def _nodes(foreign: st.SearchStrategy[bytes]) -> st.SearchStrategy[Node]:
    return st.builds(
        Node,
        UINT64,
        TEXT,
        st.sampled_from(NodeType) | st.integers(-(2**31), 2**31 - 1),
        UINT64,
        st.lists(UINT64, max_size=4),
        st.lists(UINT64, max_size=4),
        st.lists(attributes(), max_size=4),
        start_micros=UINT64,
        inputs=IO,
        outputs=IO,
        foreign=foreign,
    )


def _metadata(foreign: st.SearchStrategy[bytes]) -> st.SearchStrategy[Metadata]:
    return st.builds(Metadata, TEXT, st.lists(attributes(), max_size=3).map(tuple), foreign)


NODES, METADATA = _nodes(_foreign(11)), _metadata(_foreign(3))
KNOWN_NODES, KNOWN_METADATA = _nodes(st.just(b"")), _metadata(st.just(b""))
