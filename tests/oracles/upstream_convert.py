"""Upstream's conversion of PyTorch traces, from its description: slow, recursive, over the JSON."""

from __future__ import annotations

from typing import Any

from yantra.chakra import Attribute, IOInfo, Kind, Metadata, Node, NodeType, Trace

Json = dict[str, Any]
_THREAD = "[pytorch|profiler|execution_trace|thread]"
_ORDER = ("allreduce", "alltoall", "allgather", "reducescatter", "broadcast")
_TYPES = {"allreduce": 0, "alltoall": 6, "allgather": 2, "reducescatter": 7, "broadcast": 5}


def convert(trace: Json) -> Trace:
    nodes = {node["id"]: node for node in trace["nodes"]}
    made: dict[int, Node] = {}
    for json in nodes.values():
        if "cat" in json:
            continue
        for one in (
            json,
            *(n for n in nodes.values() if n["ctrl_deps"] == json["id"] and "cat" in n),
        ):
            made[one["id"]] = _node(one, nodes, one["ctrl_deps"] in made)
    for json in nodes.values():
        if json["name"] == _THREAD and json["id"] in made:
            _chain(json, nodes, made, set(), [None, None])
    named = {parent for node in made.values() for parent in node.data_deps}
    kept = [made[id] for id in sorted(made) if made[id].data_deps or id in named]
    about = [
        Attribute(name, trace[name], Kind.STRING if name in ("schema", "time") else Kind.UINT64)
        for name in ("schema", "pid", "time", "start_ts", "finish_ts")
    ]
    return Trace(kept, Metadata(attributes=tuple(about)))


def _node(json: Json, nodes: dict[int, Json], parent_known: bool) -> Node:
    attrs = {attr["name"]: attr["value"] for attr in json["attrs"]}
    type, comm = _kind(json, nodes)
    micros = 0 if "Optimizer.step" in json["name"] else int(json.get("exclusive_dur", 0))
    rows = [
        *((name, attrs[name], Kind.INT64) for name in ("rf_id", "fw_parent", "seq_id")),
        *((name, attrs[name], Kind.INT64) for name in ("scope", "tid", "fw_tid")),
        ("op_schema", attrs["op_schema"], Kind.STRING),
        ("is_cpu_op", "cat" not in json, Kind.BOOL),
        ("stream", json.get("stream", 0), Kind.INT64),
        *comm,
    ]
    return Node(
        json["id"],
        json["name"],
        type,
        micros,
        ctrl_deps=[json["ctrl_deps"]] if parent_known else [],
        attributes=[Attribute(*row) for row in rows],
        inputs=IOInfo(*(str(json["inputs"][part]) for part in ("values", "shapes", "types"))),
        outputs=IOInfo(*(str(json["outputs"][part]) for part in ("values", "shapes", "types"))),
    )


def _kind(json: Json, nodes: dict[int, Json]) -> tuple[NodeType, list[tuple[str, Any, Kind]]]:
    name, group = json["name"], json.get("pg_name", "")
    if "process_group:init" in name:
        return NodeType.METADATA, []
    if "cat" not in json or not ("ncclKernel" in name or "ncclDevKernel" in name):
        return NodeType.COMP, []
    size = [("comm_size", _bytes(json["inputs"]), Kind.INT64)]
    if "ncclDevKernel_SendRecv" in name:
        caller = nodes[json["ctrl_deps"]]
        if caller["name"] == "record_param_comms":
            group = caller.get("pg_name", "") or group
            caller = nodes[caller["ctrl_deps"]]
        for word, type in (("send", NodeType.COMM_SEND), ("recv", NodeType.COMM_RECV)):
            if word in caller["name"]:
                return type, [*size, *([("pg_name", group, Kind.STRING)] if group else [])]
    plain = name.replace("_", "").replace("-", "").lower()
    kind = next((_TYPES[word] for word in _ORDER if word in plain), _TYPES["alltoall"])
    more = [("pg_name", group, Kind.STRING)] if group else []
    return NodeType.COMM_COLL, [("comm_type", kind, Kind.INT64), *size, *more]


def _bytes(inputs: Json) -> int:
    total = 0
    for value, type in zip(inputs["values"], inputs["types"], strict=False):
        if "Tensor" in type:
            for tensor in value if type.startswith("GenericList[Tensor") else [value]:
                total += tensor[3] * tensor[4]
    return total


def _chain(
    json: Json,
    nodes: dict[int, Json],
    made: dict[int, Node],
    seen: set[int],
    last: list[int | None],
) -> None:
    if json["id"] in seen:
        return
    seen.add(json["id"])
    node = made[json["id"]]
    if "cat" in json and "process_group:init" not in json["name"]:
        _append(node, last[1])
        last[1] = last[0]
    else:
        _append(node, json.get("inter_thread_dep") or None)
        _append(node, last[0])
        last[:] = [node.id, node.id]
    children = [n for n in nodes.values() if n["ctrl_deps"] == json["id"] and n["id"] in made]
    for child in sorted(children, key=lambda child: child["id"]):
        _chain(child, nodes, made, seen, last)


def _append(node: Node, parent: int | None) -> None:
    if parent is not None and parent not in node.data_deps:
        node.data_deps.append(parent)
