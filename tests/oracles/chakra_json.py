"""The jsonizer's text as protobuf itself writes it, from the messages of `chakra_protobuf`."""

from __future__ import annotations

import json

from google.protobuf.json_format import MessageToDict

from tests.oracles.chakra_protobuf import parse

_KINDS = "INVALID METADATA MEM_LOAD MEM_STORE COMP COMM_SEND COMM_RECV COMM_COLL"
NODE_TYPES = [f"{kind}_NODE" for kind in _KINDS.split(" ")]


def jsonized(data: bytes) -> str:
    metadata, nodes = parse(data)
    trees = [MessageToDict(metadata), *map(MessageToDict, nodes)]
    for tree in trees:
        if tree.get("type") in range(len(NODE_TYPES)):
            tree["type"] = NODE_TYPES[tree["type"]]
    return "".join(json.dumps(tree, indent=2) for tree in trees)
