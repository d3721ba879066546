"""Upstream's linker as its rules read: lists searched from end to end, nothing indexed. Source:
behaviour of MLCommons Chakra 1.0.0 (21585d8); tests/golden compares both this and ours with what it
wrote.
"""

from __future__ import annotations

import copy
import json
from typing import Any

Json = dict[str, Any]

LAUNCHES = {
    *("cuLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernel", "cudaLaunchKernelExC"),
    *("cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpyFromSymbol", "cudaMemcpyToSymbol"),
    *("cudaLaunchCooperativeKernel", "hipLaunchKernel", "hipExtLaunchKernel"),
    *("hipExtModuleLaunchKernel", "hipModuleLaunchKernel", "hipMemcpyWithStream"),
    "hipMemcpyAsync",
}


class Refused(Exception):  # noqa: N818
    """The case is one that upstream refuses."""


def link(host: Json, device: Json, syncs: dict[int, list[int]]) -> str:
    events = sorted((_event(event) for event in device["traceEvents"]), key=lambda e: e["ts"])
    cpu = [e for e in events if _is_cpu(e)]
    launches: dict[Any, Json] = {}
    for event in events:
        if event["cat"] in ("cuda_runtime", "cuda_driver") and event["name"] in LAUNCHES:
            if event["correlation"] in launches:
                raise Refused
            launches[event["correlation"]] = event
    for op in cpu:
        _exclusive(op, [other for other in cpu if other["tid"] == op["tid"]])
    for tid in {op["tid"] for op in cpu}:
        _order_thread(cpu, tid)
    _synchronise(events, cpu, syncs)
    by_record = {op["record"]: op for op in cpu if op["record"] is not None}
    groups: dict[int, list[Json]] = {}
    candidates = _with_roots(events, cpu)
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            parent = _parent(event, launches.get(event["correlation"]), candidates)
            if parent is not None:
                groups.setdefault(parent["external"], []).append(event)
    return _write(copy.deepcopy(host), by_record, groups)


def _event(raw: Json) -> Json:
    args = raw.get("args", {})
    return {
        "cat": raw.get("cat", ""),
        "name": raw.get("name", ""),
        "ph": raw.get("ph"),
        "tid": raw.get("tid", 0),
        "ts": raw.get("ts", 0),
        "dur": raw.get("dur", 0),
        "exclusive": raw.get("dur", 0),
        "external": int(args.get("External id", -1)),
        "record": args.get("Record function id"),
        "correlation": args.get("correlation", -1),
        "stream": args.get("stream"),
        "group": args.get("Process Group Name"),
        "dep": None,
        "waiting": [],
        "host": None,
    }


def _is_cpu(event: Json) -> bool:
    return event["cat"] in ("cpu_op", "user_annotation") and "ProfilerStep" not in event["name"]


def _exclusive(op: Json, thread: list[Json]) -> None:
    ops = sorted(thread, key=lambda e: (e["ts"], e["dur"]))
    place = next(i for i, other in enumerate(ops) if other is op)
    end = op["ts"] + op["dur"]
    union: list[list[float]] = []
    for other in ops[place + 1 :]:
        begin, until = other["ts"], other["ts"] + other["dur"]
        if until > end:
            continue
        if union and begin <= union[-1][1]:
            union[-1][1] = max(union[-1][1], until)
        else:
            union.append([begin, until])
    for begin, until in union:
        op["exclusive"] -= until - begin
    if op["exclusive"] < 0:
        raise Refused


def _order_thread(cpu: list[Json], tid: int) -> None:
    ops = [op for op in cpu if op["tid"] == tid]
    threads = list(dict.fromkeys(op["tid"] for op in cpu))
    record = None
    for i, op in enumerate(ops):
        if i == 0 or op["ts"] - ops[i - 1]["ts"] - ops[i - 1]["dur"] > 1000:
            record, latest = None, 0
            for other in (o for t in threads if t != tid for o in cpu if o["tid"] == t):
                if latest < other["ts"] < op["ts"]:
                    record, latest = other["record"], other["ts"]
        if record:
            op["dep"] = record


def _synchronise(events: list[Json], cpu: list[Json], syncs: dict[int, list[int]]) -> None:
    last_with = {event["external"]: event for event in events}
    for tid in dict.fromkeys(event["tid"] for event in events):
        for event in (e for e in events if e["tid"] == tid):
            for external in syncs.get(event["external"], []):
                later = [op for op in cpu if op["ts"] > event["ts"]]
                if external in last_with and later:
                    last_with[external]["waiting"].append(later[0])


def _with_roots(events: list[Json], cpu: list[Json]) -> list[Json]:
    begins: dict[int, float] = {}
    for event in events:
        if event["tid"] is not None:
            begins.setdefault(event["tid"], event["ts"])
    ops = [_event({"ts": min(begins.values())}), *cpu]
    for tid, begin in begins.items():
        places = [i for i, op in enumerate(ops) if op["tid"] == tid and op["ts"] >= begin]
        ops.insert(places[0] if places else len(ops), _event({"ts": begin}))
    return sorted(ops, key=lambda op: op["ts"])


def _parent(event: Json, launch: Json | None, ops: list[Json]) -> Json | None:
    if launch is None:
        return None
    fallback = None
    for op in reversed([op for op in ops if op["ts"] < launch["ts"]]):
        if "nccl" in event["name"].lower() and op["name"] == "nccl:coalesced":
            continue
        if op["tid"] == launch["tid"]:
            if op["external"] == event["external"]:
                return op
            fallback = fallback or op
    return fallback


def _write(host: Json, by_record: dict[int, Json], groups: dict[int, list[Json]]) -> str:
    ops = _match(host, by_record)
    new_ids: dict[Any, int] = {}
    counter = iter(range(1 << 60))
    out: list[Json] = []
    targets: dict[int, list[int]] = {}
    for node in sorted(host["nodes"], key=lambda node: node["id"]):
        old = node["id"]
        if old not in new_ids:
            new_ids[old] = next(counter)
        node["id"] = new_ids[old]
        out.append(node)
        if old not in ops:
            continue
        op, dep = ops[old]
        node |= {"inclusive_dur": op["dur"], "exclusive_dur": op["exclusive"], "ts": op["ts"]}
        node["inter_thread_dep"] = new_ids.get(dep, dep)
        for event in sorted(groups.get(op["external"], []), key=lambda event: event["ts"]):
            made = copy.deepcopy(node) | {"id": next(counter), "ctrl_deps": old}
            made |= {"cat": event["cat"], "name": event["name"], "ph": event["ph"]}
            made |= {"inclusive_dur": event["dur"], "exclusive_dur": event["dur"]}
            made |= {"ts": event["ts"], "stream": event["stream"]}
            if "ncclDevKernel" in event["name"] and event["group"] is not None:
                made["pg_name"] = event["group"]
            out.append(made)
            known = [new_ids.get(o["host"], o["host"]) for o in event["waiting"] if o["host"]]
            for target in dict.fromkeys(known):
                targets.setdefault(target, []).append(made["id"])
    for node in out:
        for key, waited in targets.items():
            if new_ids.get(key, key) == node["id"]:
                node["sync_dep"] = waited
        if node["ctrl_deps"] not in new_ids:
            new_ids[node["ctrl_deps"]] = next(counter)
        node["ctrl_deps"] = new_ids[node["ctrl_deps"]]
    host["nodes"] = out
    return json.dumps(host, indent=4)


def _match(host: Json, by_record: dict[int, Json]) -> dict[int, tuple[Json, int | None]]:
    below = {1}
    while True:
        more = {n["id"] for n in host["nodes"] if n["id"] != 1 and n["ctrl_deps"] in below}
        if more <= below:
            break
        below |= more
    matched: dict[int, tuple[Json, int | None]] = {}
    for node in sorted(host["nodes"], key=lambda node: node["id"]):
        record = next(attr["value"] for attr in node["attrs"] if attr["name"] == "rf_id")
        if node["id"] in below and record in by_record:
            op = by_record[record]
            op["host"] = node["id"]
            matched[node["id"]] = (op, by_record[op["dep"]]["host"] if op["dep"] else None)
    return matched
