"""What `validate` says of readable traces that cannot run, word for word."""

from __future__ import annotations

import pytest

from tests.oracles.chakra_wire import (
    attribute,
    block,
    ctrl_deps,
    data_deps,
    int64,
    node,
    node_type,
    number,
    tag,
    trace_bytes,
)
from yantra import chakra
from yantra.base.errors import TraceError

COLL = node_type(7)
TYPE = attribute("comm_type", int64(0))
SIZE = attribute("comm_size", int64(64))
FLAWED = [
    ("no nodes", trace_bytes(), ["warning: trace: the trace has no nodes [no-nodes]"]),
    (
        "dangling data dependency",
        trace_bytes(node(1, "a", data_deps(5))),
        [
            (
                "error: node 1 'a' (byte 1): its data dependency 5 names no node of this trace "
                "[dangling-dependency]"
            )
        ],
    ),
    (
        "dangling control dependency",
        trace_bytes(node(1, "a", ctrl_deps(5))),
        [
            (
                "error: node 1 'a' (byte 1): its control dependency 5 names no node of this "
                "trace [dangling-dependency]"
            )
        ],
    ),
    (
        "self dependency",
        trace_bytes(node(1, "a", data_deps(1))),
        ["error: node 1 'a' (byte 1): it depends on itself; 1 node can never run [cycle]"],
    ),
    (
        "cycle of two",
        trace_bytes(node(1, "a", data_deps(2)), node(2, "b", data_deps(1))),
        [
            (
                "error: node 1 'a' (byte 1): nodes 1 -> 2 -> 1 wait for each other in a "
                "circle; 2 nodes can never run [cycle]"
            )
        ],
    ),
    (
        "cycle over control and data",
        trace_bytes(node(3, "a", ctrl_deps(9)), node(9, "b", data_deps(3))),
        [
            (
                "error: node 3 'a' (byte 1): nodes 3 -> 9 -> 3 wait for each other in a "
                "circle; 2 nodes can never run [cycle]"
            )
        ],
    ),
    (
        "partial cycle",
        trace_bytes(
            node(1, "a"),
            node(2, "b", data_deps(1, 3)),
            node(3, "c", data_deps(2)),
            node(4, "d", data_deps(3)),
        ),
        [
            (
                "error: node 2 'b' (byte 7): nodes 2 -> 3 -> 2 wait for each other in a "
                "circle; 3 nodes can never run [cycle]"
            )
        ],
    ),
    (
        "duplicate id",
        trace_bytes(node(1, "a"), node(1, "b")),
        [
            (
                "error: node 1 'b' (byte 7): the id is defined 2 times; ids must be unique "
                "within a trace [duplicate-id]"
            )
        ],
    ),
    (
        "id used three times",
        trace_bytes(node(1, "a"), node(1, "b"), node(1, "c")),
        [
            (
                "error: node 1 'c' (byte 13): the id is defined 3 times; ids must be unique "
                "within a trace [duplicate-id]"
            )
        ],
    ),
    (
        "node without an id",
        trace_bytes(block(2, b"a"), b""),
        [
            (
                "error: node 0 '' (byte 5): the id is defined 2 times; ids must be unique "
                "within a trace [duplicate-id]"
            )
        ],
    ),
    (
        "comm_size as double",
        trace_bytes(node(1, "a", COLL, TYPE, attribute("comm_size", tag(3, 1) + bytes(8)))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute comm_size must be an integer or bool, "
                "not double [attribute-type]"
            )
        ],
    ),
    (
        "comm_size as text",
        trace_bytes(node(1, "a", COLL, TYPE, attribute("comm_size", block(29, b"64")))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute comm_size must be an integer or bool, "
                "not string [attribute-type]"
            )
        ],
    ),
    (
        "comm_size as list",
        trace_bytes(
            node(1, "a", COLL, TYPE, attribute("comm_size", block(10, block(1, b"\x01\x02"))))
        ),
        [
            (
                "warning: node 1 'a' (byte 1): attribute comm_size must be an integer or bool, "
                "not int64_list of 2 entries [attribute-type]"
            )
        ],
    ),
    (
        "comm_size without value",
        trace_bytes(node(1, "a", COLL, TYPE, attribute("comm_size"))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute comm_size must be an integer or bool, "
                "not none [attribute-type]"
            )
        ],
    ),
    (
        "pg_name as number",
        trace_bytes(node(1, "a", COLL, TYPE, SIZE, attribute("pg_name", int64(1)))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute pg_name must be a string, not int64 "
                "[attribute-type]"
            )
        ],
    ),
    (
        "involved_dim as int",
        trace_bytes(node(1, "a", COLL, TYPE, SIZE, attribute("involved_dim", int64(1)))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute involved_dim must be a bool_list of 1 "
                "to 64 entries, not int64 [attribute-type]"
            )
        ],
    ),
    (
        "involved_dim empty",
        trace_bytes(node(1, "a", COLL, TYPE, SIZE, attribute("involved_dim", block(28, b"")))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute involved_dim must be a bool_list of 1 "
                "to 64 entries, not bool_list of 0 entries [attribute-type]"
            )
        ],
    ),
    (
        "involved_dim of 65",
        trace_bytes(
            node(
                1, "a", COLL, TYPE, SIZE, attribute("involved_dim", block(28, block(1, bytes(65))))
            )
        ),
        [
            (
                "warning: node 1 'a' (byte 1): attribute involved_dim must be a bool_list of 1 "
                "to 64 entries, not bool_list of 65 entries [attribute-type]"
            )
        ],
    ),
    (
        "inputs as string",
        trace_bytes(node(1, "a", attribute("inputs", block(29, b"x")))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute inputs must be a string_list, not "
                "string [attribute-type]"
            )
        ],
    ),
    (
        "inputs of odd length",
        trace_bytes(node(1, "a", attribute("inputs", block(30, block(1, b"x"))))),
        [
            (
                "warning: node 1 'a' (byte 1): attribute inputs must alternate tensor names "
                "and sizes in bytes [attribute-value]"
            )
        ],
    ),
    (
        "outputs with a size in words",
        trace_bytes(
            node(1, "a", attribute("outputs", block(30, block(1, b"x") + block(1, b"many"))))
        ),
        [
            (
                "warning: node 1 'a' (byte 1): attribute outputs must alternate tensor names "
                "and sizes in bytes [attribute-value]"
            )
        ],
    ),
    (
        "unknown node type",
        trace_bytes(node(1, "a", node_type(8))),
        [
            (
                "error: node 1 'a' (byte 1): type 8 is none of Chakra's node types, 0 to 7 "
                "[unknown-node-type]"
            )
        ],
    ),
    (
        "negative node type",
        trace_bytes(node(1, "a", node_type(2**64 - 1))),
        [
            (
                "error: node 1 'a' (byte 1): type -1 is none of Chakra's node types, 0 to 7 "
                "[unknown-node-type]"
            )
        ],
    ),
    (
        "collective without attributes",
        trace_bytes(node(1, "a", COLL)),
        [
            (
                "error: node 1 'a' (byte 1): a COMM_COLL_NODE needs the attribute comm_type "
                "[missing-attribute]"
            ),
            (
                "error: node 1 'a' (byte 1): a COMM_COLL_NODE needs the attribute comm_size "
                "[missing-attribute]"
            ),
        ],
    ),
    (
        "unknown collective",
        trace_bytes(node(1, "a", COLL, SIZE, attribute("comm_type", int64(10)))),
        [
            (
                "error: node 1 'a' (byte 1): comm_type 10 is none of Chakra's collectives, 0 "
                "to 9 [unknown-collective]"
            )
        ],
    ),
    (
        "negative size",
        trace_bytes(node(1, "a", COLL, TYPE, attribute("comm_size", int64(-1)))),
        [
            (
                "error: node 1 'a' (byte 1): comm_size is -1; it must be at least 0 and below "
                "2^63 [negative-size]"
            )
        ],
    ),
    (
        "send without attributes",
        trace_bytes(node(1, "a", node_type(5))),
        [
            (
                "error: node 1 'a' (byte 1): a COMM_SEND_NODE needs the attribute comm_dst "
                "[missing-attribute]"
            ),
            (
                "error: node 1 'a' (byte 1): a COMM_SEND_NODE needs the attribute comm_size "
                "[missing-attribute]"
            ),
            (
                "error: node 1 'a' (byte 1): a COMM_SEND_NODE needs the attribute comm_tag "
                "[missing-attribute]"
            ),
        ],
    ),
    (
        "receive without attributes",
        trace_bytes(node(1, "a", node_type(6))),
        [
            (
                "error: node 1 'a' (byte 1): a COMM_RECV_NODE needs the attribute comm_src "
                "[missing-attribute]"
            ),
            (
                "error: node 1 'a' (byte 1): a COMM_RECV_NODE needs the attribute comm_size "
                "[missing-attribute]"
            ),
            (
                "error: node 1 'a' (byte 1): a COMM_RECV_NODE needs the attribute comm_tag "
                "[missing-attribute]"
            ),
        ],
    ),
    (
        "load without a size",
        trace_bytes(node(1, "a", node_type(2))),
        [
            (
                "error: node 1 'a' (byte 1): a MEM_LOAD_NODE needs the attribute tensor_size "
                "[missing-attribute]"
            )
        ],
    ),
    (
        "collective on the CPU",
        trace_bytes(node(1, "a", COLL, TYPE, SIZE, attribute("is_cpu_op", number(27, 1)))),
        [
            (
                "error: node 1 'a' (byte 1): a COMM_COLL_NODE cannot run on the CPU; is_cpu_op "
                "must be false [communication-on-cpu]"
            )
        ],
    ),
    (
        "unknown field",
        trace_bytes(node(1, "a", number(12, 1))),
        [
            (
                "warning: trace (byte 7): field 12 is not in the Chakra schema; it is kept, not "
                "understood [unknown-field]"
            )
        ],
    ),
    (
        "field of an older layout",
        trace_bytes(node(1, "a", block(11, b"x"))),
        [
            (
                "warning: trace (byte 7): field 11 is not in the Chakra schema; it is "
                "kept, not understood; layouts before 0.0.4 keep attributes there, but the file "
                "fits none of them [unknown-field]"
            )
        ],
    ),
]


@pytest.mark.parametrize(
    ("content", "findings"), [case[1:] for case in FLAWED], ids=[case[0] for case in FLAWED]
)
def test_a_flawed_trace_is_read_and_its_flaws_are_listed(
    content: bytes, findings: list[str]
) -> None:
    assert [str(finding) for finding in chakra.validate(content)] == findings


def test_the_first_flaw_is_raised_with_the_number_of_others() -> None:
    findings = chakra.validate(
        trace_bytes(node(1, "a", data_deps(8, 9)), node(2, "b", node_type(70)))
    )
    with pytest.raises(TraceError) as caught:
        chakra.raise_errors(findings, "step.0.et")
    assert str(caught.value) == (
        "step.0.et: node 1 'a' (byte 1): its data dependency 8 names no node of this trace "
        "(and 2 more errors)"
    )


def test_warnings_alone_raise_nothing() -> None:
    chakra.raise_errors(chakra.validate(trace_bytes()), "step.0.et")


def test_many_findings_of_a_kind_are_counted_not_listed() -> None:
    findings = chakra.validate(trace_bytes(node(1, "a", data_deps(*range(100, 150)))))
    assert len(findings) == 20
    assert str(findings[-1]) == (
        "error: node 1 'a' (byte 1): its data dependency 119 names no node of this trace "
        "(and 30 more of this kind) [dangling-dependency]"
    )


def test_a_malformed_trace_is_one_finding_of_validate() -> None:
    (finding,) = chakra.validate(trace_bytes(node(7))[:-1])
    assert finding.code == "malformed"
    assert str(finding) == (
        "error: trace (byte 1): node record 1: a record of 2 bytes begins here; "
        "1 byte is left; the file is truncated or no Chakra trace [malformed]"
    )
