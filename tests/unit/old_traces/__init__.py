"""Small files of every layout before today's: NAME.et by `WRITTEN` with protobuf; NAME.json by the
jsonizer, checked by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.oracles.chakra_layouts import IO, MEMBERS, write

FOLDER = Path(__file__).parent

_PROPERTIES: list[dict[str, Any]] = [
    {"id": 0, "name": "load", "node_type": 1, "tensor_loc": 2, "tensor_size": 4096},
    {"id": 1, "name": "compute", "node_type": 3, "parent": [0], "simulated_run_time": 5},
    {
        "id": 2,
        "name": "all-to-all",
        "node_type": 6,
        "parent": [0, 1],
        "comm_type": 2,
        "involved_dim": [True, False],
        "communicator_id": 3,
        "comm_size": 2**20,
        "comm_priority": 1,
    },
    {"id": 3, "name": "send", "node_type": 4, "comm_src": 0, "comm_dst": 1, "comm_tag": 9},
]


def _with_attributes(layout: str) -> list[dict[str, Any]]:
    whole = MEMBERS[layout].index("i")
    flags = MEMBERS[layout].index("ints" if layout == "0.0.2" else "bools")
    comp, coll = (3, 6) if layout == "0.0.2" else (4, 7)
    texts = dict(zip(IO, ("[1]", "[[2]]", "['Int']", "[]", "[]", "[]"), strict=True))
    return [
        {
            "id": 0,
            "name": "compute",
            "type": comp,
            "attribute": [
                {"name": "runtime", "type": whole, "i": 5},
                {"name": "seq_id", "type": whole, "i": -1},
                {"name": "op_schema", "type": whole + 1, "s": "f() -> ()", "doc_string": "d"},
            ],
        }
        | texts,
        {
            "id": 1,
            "name": "reduce-scatter",
            "type": coll,
            "parent": [0],
            "attribute": [
                {"name": "comm_type", "type": whole, "i": 3},
                {"name": "comm_size", "type": whole, "i": 2**20},
                {"name": "involved_dim", "type": flags, MEMBERS[layout][flags]: [1, 1]},
            ],
        },
    ]


def _without_metadata() -> bytes:
    from tests.oracles.chakra_wire import ctrl_deps, node, node_type, number, record

    first = node(1, "COMP_NODE_a_FWD", node_type(4), number(7, 5))
    return record(first) + record(node(2, "COMP_NODE_b_FWD", node_type(4), ctrl_deps(1)))


WRITTEN = {
    "0.0.1": write("0.0.1", _PROPERTIES),
    "0.0.2": write("0.0.2", _with_attributes("0.0.2")),
    "0.0.3a": write("0.0.3a", _with_attributes("0.0.3a")),
    "0.0.3": write("0.0.3", _with_attributes("0.0.3"), [{"name": "pid", "type": 2, "u": 7}]),
    "0.0.4a": _without_metadata(),
}
