"""Traces as JSON text: the jsonizer's form and the workloads of the v1 feeder."""

from __future__ import annotations

from yantra import chakra

FORM = "json"

_JSONIZER = b"""{
  "version": "1.0.0",
  "attr": [{"name": "schema", "docString": "d", "stringVal": "x"}]
}{
  "name": "a",
  "type": "COMP_NODE",
  "durationMicros": "5",
  "inputs": {"values": "[]", "shapes": "[]", "types": "[]"},
  "attr": [
    {"name": "is_cpu_op", "boolVal": false},
    {"name": "num_ops", "int64Val": "12"},
    {"name": "f", "floatVal": 0.1},
    {"name": "d", "doubleList": {"values": ["NaN", 1.5, "-Infinity"]}},
    {"name": "b", "bytesVal": "AAE="},
    {"name": "l", "boolList": {}}
  ]
}{
  "id": "1",
  "type": 7,
  "dataDeps": ["0"],
  "ctrlDeps": [0],
  "attr": [{"name": "comm_type", "int64Val": "0"}]
}"""

_WORKLOAD = b"""{"workload_name": "w", "ngpus": 2, "soc": "s", "workload_graph": [
  {"Id": 1, "Name": "a", "NodeType": 4, "is_cpu_op": true, "runtime": 3, "data_deps": [],
   "ctrlDeps": [1], "tensor_size": 8},
  {"Id": 2, "Name": "c", "NodeType": 7, "is_cpu_op": false, "runtime": 3, "data_deps": [1],
   "comm_type": 0, "comm_priority": 1, "comm_size": 64},
  {"Id": 3, "Name": "s", "NodeType": 5, "data_deps": [2], "comm_src": 0, "comm_dst": 1,
   "comm_size": 64, "comm_tag": 7}
]}"""


def seeds() -> list[bytes]:
    return [_JSONIZER, _WORKLOAD]


def read(data: bytes) -> object:
    return chakra.read(data)
