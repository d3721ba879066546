"""Recordings of PyTorch, changed as real ones are found changed, and what must hold of each.

A seed gives a small training step, with some of what profilers, tools and lost buffers do to such
files. `judged` reads it as users do and returns what is wrong: a sum that does not add up, or work
lost without a message.

    python -m tests.oracles.mutated_recordings 500
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from yantra.base.errors import TraceError, UnsupportedError
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.stats import job_stats
from yantra.tracing.pytorch.convert import convert_job
from yantra.tracing.pytorch.sources import Recordings

Events = list[dict[str, Any]]
NO_WORK = {"M", "i", "I", "C", "s", "t", "f"}  # phases
SET_ASIDE = {"python_function", "gpu_user_annotation", "overhead", "Trace"}  # categories
_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


class Mutated(NamedTuple):
    data: bytes
    events: Events
    changes: list[str]


class Judged(NamedTuple):
    """`refused` is the text of the refusal, or empty; `wrong` are the laws that do not hold."""

    refused: str
    wrong: list[str]


def recording(random: random.Random) -> Events:
    events: Events = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "GPU 0"}},
    ]
    at, number = 100.0, 1
    for step in range(random.randint(1, 3)):
        begin = at
        for _ in range(random.randint(1, 5)):
            kind = random.choice(("aten::mm", "aten::copy_", "aten::zero_", "all_reduce"))
            events += _operator(kind, at, number)
            at += random.randint(20, 90)
            number += 1
        sync = _span("cuda_runtime", "cudaDeviceSynchronize", at, 120, correlation=9000 + step)
        events += [sync, _span("user_annotation", f"ProfilerStep#{step}", begin, at + 120 - begin)]
        at += 150
    events.append(_span("python_function", "train.py(3): step", 100, at - 100))
    return events


def _span(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X", "cat": cat, "name": name, "pid": 7, "tid": 7, "ts": ts, "dur": dur, "args": args
    }  # fmt: skip


def _operator(kind: str, at: float, number: int) -> Events:
    numbers = {"Record function id": number, "External id": number}
    work = {
        "aten::mm": ("kernel", "cudaLaunchKernel", "gemm", 7),
        "aten::copy_": ("gpu_memcpy", "cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", 7),
        "aten::zero_": ("gpu_memset", "cudaMemsetAsync", "Memset (Device)", 7),
        "all_reduce": ("kernel", "cudaLaunchKernelExC", "ncclDevKernel_AllReduce_Sum_f32", 20),
    }
    cat, call, name, stream = work[kind]
    operator = _span("cpu_op", kind, at, 18, **numbers)
    if kind == "all_reduce":
        about = {"Collective name": "allreduce", "In msg nelems": 64, "dtype": "Float"}
        operator["name"] = "record_param_comms"
        operator["args"] |= about | {"Group size": 1, "Process Group Name": "0"}
    device = _span(cat, name, at + 12, 30, correlation=number, device=0, stream=stream)
    device |= {"pid": 0, "tid": stream}
    flow = {"id": number, "cat": "ac2g", "name": "ac2g"}
    return [
        operator,
        _span("cuda_runtime", call, at + 5, 4, correlation=number),
        device,
        {"ph": "s", "pid": 7, "tid": 7, "ts": at + 5, **flow},
        {"ph": "f", "pid": 0, "tid": stream, "ts": at + 12, "bp": "e", **flow},
    ]


Change = Callable[[random.Random, Events], Events]


def _some(random: random.Random, events: Events) -> list[dict[str, Any]]:
    spans = [event for event in events if event["ph"] == "X"]
    share = random.choice((0.1, 0.3, 1.0))
    return [event for event in spans if random.random() < share]


def _without_categories(random: random.Random, events: Events) -> Events:
    for event in _some(random, events):
        event.pop("cat", None)
    return events


def _pairs(random: random.Random, events: Events) -> Events:
    chosen = {id(event) for event in _some(random, events)}
    made: Events = []
    for event in events:
        times = event.get("ts"), event.get("dur")
        if id(event) not in chosen or not all(isinstance(time, int | float) for time in times):
            made.append(event)
            continue
        begin = {key: value for key, value in event.items() if key != "dur"} | {"ph": "B"}
        end = {key: event[key] for key in ("pid", "tid", "name") if key in event}
        made += [begin, end | {"ph": "E", "ts": event["ts"] + event["dur"]}]
    if random.random() < 0.3:
        made.append({"ph": random.choice("BE"), "name": "x", "pid": 7, "tid": 7, "ts": 5})
    return made


def _lost_kernels(random: random.Random, events: Events) -> Events:
    share = random.choice((0.2, 1.0))
    return [e for e in events if e.get("cat") not in _DEVICE or random.random() >= share]


def _lost_launches(random: random.Random, events: Events) -> Events:
    share = random.choice((0.2, 1.0))
    return [e for e in events if e.get("cat") != "cuda_runtime" or random.random() >= share]


def _no_numbers(random: random.Random, events: Events) -> Events:
    for event in events:
        args = event.get("args")
        if event.get("cat") == "kernel" and "nccl" in str(event["name"]) and isinstance(args, dict):
            args["correlation"] = random.choice((0, 0, None))
    return events


def _merged(random: random.Random, events: Events) -> Events:
    made: Events = []
    label = random.choice(("[TP{:02}] {}", "rank{}-{}", "{}{:03}"))
    for rank in (0, 1):
        for event in events:
            pid: Any = label.format(rank + 1, event["pid"])
            made.append(event | {"pid": int(pid) if pid.isdigit() else pid})
    return made


def _texts_for_numbers(random: random.Random, events: Events) -> Events:
    form = random.choice(("{}", "thread {}"))
    for event in events:
        event["tid"] = form.format(event.get("tid"))
    return events


def _impossible(random: random.Random, events: Events) -> Events:
    for event in _some(random, events):
        key, value = random.choice((("dur", -5), ("ts", None), ("ts", "soon"), ("dur", 1e300)))
        event[key] = value
    return events


def _odd_types(random: random.Random, events: Events) -> Events:
    for event in _some(random, events):
        key, value = random.choice((("name", 5), ("args", None), ("args", []), ("tid", None)))
        event[key] = value
    return events


def _other_phases(random: random.Random, events: Events) -> Events:
    for phase in random.choices(("i", "C", "b", "e", "n", "R", "S", "?", ""), k=6):
        events.append({"ph": phase, "name": "x", "pid": 7, "tid": 7, "ts": 150, "id": 1})
    return events


def _other_categories(random: random.Random, events: Events) -> Events:
    for event in _some(random, events):
        if event.get("cat") in (*_DEVICE, "cpu_op"):
            event["cat"] = random.choice(("mtia_ccp_events", "hpu_op", "Op", "enqueue"))
    return events


def _other_device(random: random.Random, events: Events) -> Events:
    """Rows of an NPU, as Ascend's profiler writes them: no category, flows from the operators."""
    made: Events = [
        event for event in events if event.get("cat") not in (*_DEVICE, "cuda_runtime", "ac2g")
    ]
    named = {"ph": "M", "name": "process_name", "pid": 200, "args": {"name": "Ascend Hardware"}}
    operators = [
        event
        for event in made
        if event.get("cat") == "cpu_op" and isinstance(event.get("ts"), int | float)
    ]
    for number, operator in enumerate(operators):
        start = operator["ts"] + 25
        flow = {"cat": "async_npu", "name": "async_npu", "id": str(number), "bp": "e"}
        task = {"ph": "X", "name": "MatMul", "pid": 200, "tid": 4, "ts": start, "dur": 9}
        made += [task | {"args": {"Stream Id": 4}}]
        if random.random() < 0.9:
            host = {"ph": "s", "pid": 7, "tid": 7, "ts": operator["ts"] + 2}
            made += [host | flow, {"ph": "f", "pid": 200, "tid": 4, "ts": start} | flow]
    return [named, *made]


def _shuffled(random: random.Random, events: Events) -> Events:
    random.shuffle(events)
    return events


def _twice(random: random.Random, events: Events) -> Events:
    return events + [dict(event) for event in _some(random, events)]


CHANGES: tuple[Change, ...] = (
    _without_categories, _pairs, _lost_kernels, _lost_launches, _no_numbers, _merged,
    _texts_for_numbers, _impossible, _odd_types, _other_phases, _other_categories, _other_device,
    _shuffled, _twice,
)  # fmt: skip


def _as_numbers(random: random.Random, text: bytes) -> bytes:
    word = random.choice((b"inf", b"-inf", b"nan", b"-nan", b"NaN", b"-Infinity"))
    return text.replace(b'"device":0', b'"memory bandwidth (GB/s)":' + word + b',"device":0')


def _not_utf8(random: random.Random, text: bytes) -> bytes:
    bad = random.choice((b"\xff", b"\x80", b"\xed\xa0\x80", b"\xc3", b"\x01"))
    old = random.choice((b"gemm", b"aten::", b"python_function", b"cpu_op"))
    return text.replace(old, old[:2] + bad + old[2:])


def _two_texts(random: random.Random, text: bytes) -> bytes:
    return text + random.choice((b"", b"\n")) + text


def _cut(random: random.Random, text: bytes) -> bytes:
    return text[: random.randint(1, len(text) - 1)]


def _with_mark(random: random.Random, text: bytes) -> bytes:
    return b"\xef\xbb\xbf" + text


BYTES = (_as_numbers, _not_utf8, _two_texts, _cut, _with_mark)


_CLEAR = {  # changes after which numbers alone show which launches have no kernel
    change.__name__ for change in (_lost_kernels, _shuffled, _other_phases, _as_numbers, _with_mark)
}


def mutated(seed: int) -> Mutated:
    draw = random.Random(seed)
    events = recording(draw)
    changes = []
    for change in draw.sample(CHANGES, draw.randint(0, 3)):
        events = change(draw, events)
        changes.append(change.__name__)
    whole: Any = events if draw.random() < 0.2 else {"schemaVersion": 1, "traceEvents": events}
    text = json.dumps(whole, separators=(",", ":")).encode()
    if draw.random() < 0.4:
        spoil = draw.choice(BYTES)
        text = spoil(draw, text)
        changes.append(spoil.__name__)
    return Mutated(gzip.compress(text) if draw.random() < 0.2 else text, events, changes)


def judged(made: Mutated, folder: Path) -> Judged:
    path = folder / "recording.json"
    path.write_bytes(made.data)
    recordings = Recordings([str(path)])
    content: list[bytes] = []

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        content.extend(pieces)

    try:
        convert_job(recordings.sources(), take)
    except (TraceError, UnsupportedError) as error:
        return Judged(str(error), [])
    trace = Trace.from_bytes(b"".join(content))
    (balance,) = job_stats([RankTrace(0, str(path), trace)]).recordings.values()
    said = recordings.problems()
    wrong = [
        f"{number} of {name} not accounted for" for name, number in balance.unaccounted.items()
    ]
    if balance.events.total != len(made.events):
        wrong.append(f"{len(made.events)} events, {balance.events.total} counted")
    on_device = sum(not (node.get("is_cpu_op") or node.get("part")) for node in trace)
    if on_device != balance.became.total or balance.became.total != balance.device_ops.total:
        wrong.append(f"{balance.device_ops.total} device ops, {on_device} nodes")
    quiet = sum(_is_no_work(event) for event in made.events)
    left_out = sum(balance.events.left_out.values())
    if left_out > quiet and not said:
        wrong.append(f"{left_out - quiet} events of work left out without a word")
    lost = _lost(made.events) if _CLEAR.issuperset(made.changes) else 0
    if lost and not said:
        wrong.append(f"{lost} launches without a kernel, and no word")
    return Judged("", wrong)


def _is_no_work(event: dict[str, Any]) -> bool:
    return event["ph"] in NO_WORK or event.get("cat") in SET_ASIDE


def _lost(events: Events) -> int:
    numbers = {e["args"].get("correlation") for e in events if e.get("cat") in _DEVICE}
    calls = [e for e in events if e.get("cat") == "cuda_runtime" and "Synchronize" not in e["name"]]
    return sum(call["args"].get("correlation") not in numbers for call in calls)


def main(count: int) -> None:
    refused = bad = 0
    with TemporaryDirectory() as folder:
        for seed in range(count):
            made = mutated(seed)
            found = judged(made, Path(folder))
            refused += bool(found.refused)
            bad += bool(found.wrong)
            if found.wrong:
                print(seed, ", ".join(made.changes), "; ".join(found.wrong))
    print(f"{count} recordings: {count - refused} read, {refused} refused, {bad} wrong")


if __name__ == "__main__":
    main(int(sys.argv[1]))
