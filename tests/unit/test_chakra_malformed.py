"""What the reader says about files it cannot read: every text, word for word."""

from __future__ import annotations

import gzip

import pytest

from tests.oracles.chakra_wire import (
    attribute,
    block,
    int64,
    node,
    node_type,
    number,
    record,
    tag,
    trace_bytes,
    varint,
)
from yantra import chakra
from yantra.base.errors import TraceError

N = node(7, "gemm", node_type(4))
PACKED = gzip.compress(trace_bytes(N), mtime=0)
CUT = "; the file is truncated or no Chakra trace"
OLD = "; no layout of Chakra's history fits the file"


def in_node(fields: bytes) -> bytes:
    return trace_bytes(number(1, 7) + fields)


MALFORMED = [
    ("empty file", b"", "byte 0: the file is empty; expected a metadata record and then nodes"),
    (
        "length prefix cut",
        trace_bytes(N) + b"\x80",
        "byte 12: node record 2: a number is cut off by the end of its message",
    ),
    (
        "length prefix longer than five bytes",
        trace_bytes() + b"\x80\x80\x80\x80\x80\x01",
        (
            "byte 1: node record 1: a length of 34359738368 bytes, written in 6 bytes, is "
            "more than a record can have"
        ),
    ),
    (
        "length prefix over two gigabytes",
        trace_bytes() + varint(1 << 31),
        (
            "byte 1: node record 1: a length of 2147483648 bytes, written in 5 bytes, is "
            "more than a record can have"
        ),
    ),
    (
        "length prefix of two gigabytes",
        trace_bytes() + varint((1 << 31) - 1),
        "byte 1: node record 1: a record of 2147483647 bytes begins here; 0 bytes are left" + CUT,
    ),
    (
        "metadata cut",
        record(block(1, b"1.0.0"))[:-2],
        "byte 0: metadata record: a record of 7 bytes begins here; 5 bytes are left" + CUT,
    ),
    (
        "node cut",
        trace_bytes(N, N)[:-3],
        "byte 12: node record 2: a record of 10 bytes begins here; 7 bytes are left" + CUT,
    ),
    (
        "node missing after its length",
        trace_bytes(N) + b" ",
        "byte 12: node record 2: a record of 32 bytes begins here; 0 bytes are left" + CUT,
    ),
    (
        "tag cut",
        in_node(b"\x80"),
        "byte 4: node record 1 (id 7): a number is cut off by the end of its message",
    ),
    (
        "id cut",
        trace_bytes(b"\x08\x80"),
        "byte 3: node record 1: a number is cut off by the end of its message",
    ),
    (
        "id without value",
        trace_bytes(b"\x08"),
        "byte 3: node record 1: a number is cut off by the end of its message",
    ),
    (
        "id of eleven bytes",
        trace_bytes(b"\x08" + b"\x80" * 10 + b"\x01"),
        "byte 3: node record 1: a number is longer than 64 bits",
    ),
    (
        "id over 64 bits",
        trace_bytes(b"\x08" + b"\xff" * 9 + b"\x02"),
        "byte 3: node record 1: a number is longer than 64 bits",
    ),
    (
        "field number zero",
        in_node(b"\x00\x01"),
        "byte 4: node record 1 (id 7): field 0 with wire type 0 is no field of a Chakra trace",
    ),
    (
        "field number over 29 bits",
        in_node(varint(1 << 32) + b"\x00"),
        (
            "byte 4: node record 1 (id 7): field 536870912 with wire type 0 is no field of "
            "a Chakra trace"
        ),
    ),
    (
        "group",
        in_node(tag(11, 3) + tag(11, 4)),
        "byte 4: node record 1 (id 7): field 11 with wire type 3 is no field of a Chakra trace",
    ),
    (
        "group end",
        in_node(tag(11, 4)),
        "byte 4: node record 1 (id 7): field 11 with wire type 4 is no field of a Chakra trace",
    ),
    (
        "wire type six",
        in_node(tag(11, 6)),
        "byte 4: node record 1 (id 7): field 11 with wire type 6 is no field of a Chakra trace",
    ),
    (
        "wire type seven",
        in_node(tag(11, 7)),
        "byte 4: node record 1 (id 7): field 11 with wire type 7 is no field of a Chakra trace",
    ),
    (
        "id as text",
        trace_bytes(block(1, b"7")),
        "byte 2: node record 1: field 1 (id) holds length-delimited bytes, expected a varint" + OLD,
    ),
    (
        "name as number",
        in_node(number(2, 3)),
        (
            "byte 4: node record 1 (id 7): field 2 (name) holds a varint, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "type as text",
        in_node(block(3, b"COMP")),
        (
            "byte 4: node record 1 (id 7): field 3 (type) holds length-delimited bytes, "
            "expected a varint"
        )
        + OLD,
    ),
    (
        "duration as fixed64",
        in_node(tag(7, 1) + bytes(8)),
        "byte 4: node record 1 (id 7): field 7 (duration_micros) holds fixed64, expected a varint"
        + OLD,
    ),
    (
        "data deps as fixed64",
        in_node(tag(5, 1) + bytes(8)),
        (
            "byte 4: node record 1 (id 7): field 5 (data_deps) holds fixed64, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "ctrl deps as fixed32",
        in_node(tag(4, 5) + bytes(4)),
        (
            "byte 4: node record 1 (id 7): field 4 (ctrl_deps) holds fixed32, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "inputs as number",
        in_node(number(8, 1)),
        (
            "byte 4: node record 1 (id 7): field 8 (inputs) holds a varint, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "inputs values as number",
        in_node(block(8, number(1, 1))),
        (
            "byte 6: node record 1 (id 7): field 1 (values) holds a varint, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "attribute as number",
        in_node(number(10, 1)),
        (
            "byte 4: node record 1 (id 7): field 10 (attr) holds a varint, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "attribute name as number",
        in_node(block(10, number(1, 1))),
        (
            "byte 6: node record 1 (id 7): field 1 (attr.name) holds a varint, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "int64 as text",
        in_node(attribute("comm_size", block(9, b"12"))),
        (
            "byte 17: node record 1 (id 7): field 9 (int64) holds length-delimited bytes, "
            "expected a varint"
        )
        + OLD,
    ),
    (
        "double as number",
        in_node(attribute("x", number(3, 12))),
        "byte 9: node record 1 (id 7): field 3 (double) holds a varint, expected fixed64" + OLD,
    ),
    (
        "string as number",
        in_node(attribute("pg_name", number(29, 1))),
        (
            "byte 15: node record 1 (id 7): field 29 (string) holds a varint, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "list as number",
        in_node(attribute("involved_dim", number(28, 1))),
        (
            "byte 20: node record 1 (id 7): field 28 (bool_list) holds a varint, expected "
            "length-delimited bytes"
        )
        + OLD,
    ),
    (
        "bool list of fixed32",
        in_node(attribute("involved_dim", block(28, tag(1, 5) + bytes(4)))),
        "byte 23: node record 1 (id 7): field 1 (bool_list) holds fixed32, expected a varint" + OLD,
    ),
    (
        "version as number",
        record(number(1, 1)),
        "byte 1: metadata record: field 1 (version) holds a varint, expected length-delimited bytes"
        + OLD,
    ),
    (
        "name past the end",
        in_node(tag(2, 2) + b"\tabc"),
        (
            "byte 5: node record 1 (id 7): a field of 9 bytes reaches past the end of its "
            "message; 3 bytes are left"
        ),
    ),
    (
        "deps past the end",
        in_node(tag(5, 2) + b"\x04\x01"),
        (
            "byte 5: node record 1 (id 7): a field of 4 bytes reaches past the end of its "
            "message; 1 byte is left"
        ),
    ),
    (
        "dep cut inside its list",
        in_node(block(5, b"\x01\x80")),
        "byte 7: node record 1 (id 7): a number is cut off by the end of its message",
    ),
    (
        "attribute past the end",
        in_node(tag(10, 2) + b"\x7f\n"),
        (
            "byte 5: node record 1 (id 7): a field of 127 bytes reaches past the end of "
            "its message; 1 byte is left"
        ),
    ),
    (
        "attribute value past the attribute",
        in_node(block(10, block(1, b"pg_name") + tag(29, 2) + b"\x05a")),
        (
            "byte 17: node record 1 (id 7): a field of 5 bytes reaches past the end of its "
            "message; 1 byte is left"
        ),
    ),
    (
        "double cut",
        in_node(attribute("x", tag(3, 1) + bytes(7))),
        (
            "byte 10: node record 1 (id 7): a number of 8 bytes is cut off by the end of "
            "its message; 7 bytes are left"
        ),
    ),
    (
        "float cut",
        in_node(attribute("x", tag(5, 5) + bytes(3))),
        (
            "byte 10: node record 1 (id 7): a number of 4 bytes is cut off by the end of "
            "its message; 3 bytes are left"
        ),
    ),
    (
        "packed doubles of nine bytes",
        in_node(attribute("x", block(4, block(1, bytes(9))))),
        (
            "byte 21: node record 1 (id 7): a number of 8 bytes is cut off by the end of "
            "its message; 1 byte is left"
        ),
    ),
    (
        "unknown field past the end",
        in_node(tag(12, 2) + b"\x02a"),
        (
            "byte 5: node record 1 (id 7): a field of 2 bytes reaches past the end of its "
            "message; 1 byte is left"
        ),
    ),
    (
        "unknown fixed32 cut",
        in_node(tag(12, 5) + b"a"),
        (
            "byte 5: node record 1 (id 7): a number of 4 bytes is cut off by the end of "
            "its message; 1 byte is left"
        ),
    ),
    (
        "name not utf8",
        in_node(block(2, b"ge\xffmm")),
        "byte 8: node record 1 (id 7): name is not valid UTF-8",
    ),
    (
        "name with a surrogate",
        in_node(block(2, b"\xed\xa0\x80")),
        "byte 6: node record 1 (id 7): name is not valid UTF-8",
    ),
    (
        "name with an overlong slash",
        in_node(block(2, b"abcdefgh\xc0\xaf")),
        "byte 14: node record 1 (id 7): name is not valid UTF-8",
    ),
    (
        "attribute name not utf8",
        in_node(block(10, block(1, b"a\x80") + int64(1))),
        "byte 9: node record 1 (id 7): attr.name is not valid UTF-8",
    ),
    (
        "doc not utf8",
        in_node(block(10, block(1, b"a") + block(2, b"\xfe"))),
        "byte 11: node record 1 (id 7): attr.doc_string is not valid UTF-8",
    ),
    (
        "string value not utf8",
        in_node(attribute("pg_name", block(29, b"\xe2\x82"))),
        "byte 18: node record 1 (id 7): string_val is not valid UTF-8",
    ),
    (
        "string list not utf8",
        in_node(attribute("inputs", block(30, block(1, b"ok") + block(1, b"\x80")))),
        "byte 23: node record 1 (id 7): string_list is not valid UTF-8",
    ),
    (
        "outputs not utf8",
        in_node(block(9, block(3, b"\xff"))),
        "byte 8: node record 1 (id 7): types is not valid UTF-8",
    ),
    (
        "version not utf8",
        record(block(1, b"\xff")),
        "byte 3: metadata record: version is not valid UTF-8",
    ),
    (
        "JSON list",
        b"[1,2,3]\n",
        "byte 0: metadata record: a record of 91 bytes begins here; 7 bytes are left"
        + CUT
        + " (this is JSON; expected a Chakra trace (.et))",
    ),
    (
        "text",
        b"HYBRID_TRANSFORMER\n4\n",
        "byte 0: metadata record: a record of 72 bytes begins here; 20 bytes are left"
        + CUT
        + " (this is a text file; expected a Chakra trace (.et))",
    ),
    (
        "zstd",
        b"(\xb5/\xfd$\x00\x00",
        "byte 0: metadata record: a record of 40 bytes begins here; 6 bytes are left"
        + CUT
        + " (this is a zstd file; expected a Chakra trace (.et), plain or packed with gzip)",
    ),
    (
        "no layout",
        record(number(1, 1) + block(2, b"a") + number(3, 3) + number(21, 3)),
        "byte 1: metadata record: field 1 (version) holds a varint, expected length-delimited bytes"
        + OLD,
    ),
    ("gzip truncated", PACKED[:-6], "the gzip data is truncated"),
    (
        "gzip damaged",
        PACKED[:-8] + bytes(4) + PACKED[-4:],
        "the gzip data is damaged: incorrect data check",
    ),
    (
        "gzip of nothing",
        gzip.compress(b""),
        "byte 0: the file is empty; expected a metadata record and then nodes",
    ),
    (
        "gzip of a cut trace",
        gzip.compress(trace_bytes(N)[:-1]),
        "byte 1: node record 1: a record of 10 bytes begins here; 9 bytes are left" + CUT,
    ),
]


@pytest.mark.parametrize(
    ("content", "problem"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED]
)
def test_a_malformed_trace_is_refused_with_its_place_and_cause(
    content: bytes, problem: str
) -> None:
    with pytest.raises(TraceError) as caught:
        chakra.read(content)
    assert str(caught.value) == f"trace: {problem}"
