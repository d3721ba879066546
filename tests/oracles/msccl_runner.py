"""Runs an MSCCL program on numbers, thread blocks interleaved at random.

It knows nothing of the proof: it reads the XML with ElementTree, and picks at each turn any thread
block whose next step can run.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from typing import Any
from xml.etree import ElementTree

MODULUS = 2**61 - 1


class StuckError(Exception):
    """No step can run and some are left."""


def run(xml: str, seed: int) -> tuple[dict[Any, int], dict[Any, int]]:
    """Return the inputs (gpu, chunk) and the memory (gpu, buffer, chunk) at the end."""
    draw = random.Random(seed)
    root = ElementTree.fromstring(xml)
    collective, n = root.get("coll"), int(root.get("ngpus", 0))
    in_place = root.get("inplace") == "1"
    inputs: dict[Any, int] = {}
    memory: dict[Any, int] = {}
    blocks: dict[Any, deque[dict[str, Any]]] = {}
    about: dict[Any, tuple[int, int, int]] = {}
    for gpu in root:
        g = int(gpu.get("id", 0))
        chunks = {b: int(gpu.get(f"{b}_chunks", 0)) for b in "io"}
        held = "o" if collective == "allgather" and in_place else "i"
        each = chunks["o"] // n
        for k in range(each if held == "o" else chunks["i"]):
            inputs[g, k] = draw.randrange(1, MODULUS)
            memory[g, held, k + (g * each if held == "o" else 0)] = inputs[g, k]
        shard = (chunks[held] // n) * g if collective in ("allgather", "reducescatter") else 0
        shared = {"o" if held == "i" else "i": (held, shard)}
        if not in_place or collective == "alltonext":
            shared = {}
        for tb in gpu:
            key = g, int(tb.get("id", 0))
            about[key] = tuple(int(tb.get(a, 0)) for a in ("send", "recv", "chan"))  # type: ignore
            blocks[key] = deque(_decoded(step, shared) for step in tb)
    done: dict[Any, int] = defaultdict(int)
    queues: dict[Any, deque[list[int]]] = defaultdict(deque)
    while any(blocks.values()):
        keys = [key for key in blocks if _can_run(key, blocks, about, done, queues)]
        if not keys:
            raise StuckError
        key = draw.choice(keys)
        _step(key, blocks[key].popleft(), about[key], memory, queues)
        done[key] += 1
    return inputs, memory


def _decoded(step: Any, shared: dict[str, tuple[str, int]]) -> dict[str, Any]:
    """A step with numbers for texts, and one name for memory that has two when in place."""
    names = ("type", "srcbuf", "dstbuf")
    made = {key: text if key in names else int(text) for key, text in step.items()}
    for side in ("src", "dst"):
        buffer, by = shared.get(made[f"{side}buf"], (made[f"{side}buf"], 0))
        made[f"{side}buf"] = buffer
        made[f"{side}off"] += by
    return made


def _can_run(key: Any, blocks: Any, about: Any, done: Any, queues: Any) -> bool:
    if not blocks[key]:
        return False
    step = blocks[key][0]
    if step["depid"] >= 0 and done[key[0], step["depid"]] <= step["deps"]:
        return False
    _, recv, channel = about[key]
    return (
        not step["type"].startswith("r")
        or step["type"] == "re"
        or bool(queues[recv, key[0], channel])
    )


def _step(key: Any, step: Any, about: Any, memory: Any, queues: Any) -> None:
    gpu = key[0]
    send, recv, channel = about
    kind, count = step["type"], step["cnt"]
    src = [(gpu, step["srcbuf"], step["srcoff"] + k) for k in range(count)]
    dst = [(gpu, step["dstbuf"], step["dstoff"] + k) for k in range(count)]
    values: list[int] = []
    if kind in ("r", "rcs", "rrs", "rrc", "rrcs"):
        values = queues[recv, gpu, channel].popleft()
    if kind in ("s", "cpy"):
        values = [memory[spot] for spot in src]
    if kind in ("rrs", "rrc", "rrcs"):
        values = [(a + memory[b]) % MODULUS for a, b in zip(values, src, strict=True)]
    if kind == "re":
        values = [(memory[a] + memory[b]) % MODULUS for a, b in zip(src, dst, strict=True)]
    if kind not in ("s", "rrs", "nop"):
        memory.update(zip(dst, values, strict=True))
    if kind in ("s", "rcs", "rrs", "rrcs"):
        queues[gpu, send, channel].append(values)


def holds(xml: str, inputs: dict[Any, int], memory: dict[Any, int]) -> bool:
    root = ElementTree.fromstring(xml)
    n, kind = int(root.get("ngpus", 0)), root.get("coll")
    in_place = root.get("inplace") == "1"
    sizes = {int(gpu.get("id", 0)): gpu for gpu in root}

    def out(g: int, k: int) -> int | None:
        buffer = "i" if in_place and kind != "allgather" else "o"
        each = int(sizes[g].get("i_chunks", 0)) // n
        shift = g * each if in_place and kind == "reducescatter" else 0
        return memory.get((g, buffer, k + shift))

    def total(k: int) -> int:
        return sum(inputs[g, k] for g in range(n)) % MODULUS

    c = 1 + max(k for _, k in inputs)
    each = c // n
    gpus = range(n)
    if kind == "allreduce":
        return all(out(g, k) == total(k) for g in gpus for k in range(c))
    if kind == "allgather":
        return all(out(g, r * c + k) == inputs[r, k] for g in gpus for r in gpus for k in range(c))
    if kind == "reducescatter":
        return all(out(g, k) == total(g * each + k) for g in gpus for k in range(each))
    if kind == "alltoall":
        return all(
            out(g, r * each + k) == inputs[r, g * each + k]
            for g in gpus
            for r in gpus
            for k in range(each)
        )
    if kind == "broadcast":
        return any(all(out(g, k) == inputs[r, k] for g in gpus for k in range(c)) for r in gpus)
    if kind == "reduce":
        return any(all(out(r, k) == total(k) for k in range(c)) for r in gpus)
    return all(out(g, k) == inputs[g - 1, k] for g in range(1, n) for k in range(c))
