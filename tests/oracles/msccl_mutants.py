"""Single mistakes in an MSCCL program: what a proof must notice or show to be harmless."""

from __future__ import annotations

import random
from collections.abc import Callable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

Draw = random.Random


def mutant(xml: str, name: str, seed: int) -> str | None:
    root = ElementTree.fromstring(xml)
    if not MISTAKES[name](root, random.Random(seed)):
        return None
    return ElementTree.tostring(root, encoding="unicode")


def _step(root: Element, draw: Draw, *kinds: str) -> Element | None:
    steps = [step for step in root.iter("step") if not kinds or step.get("type") in kinds]
    return draw.choice(steps) if steps else None


def _drop(root: Element, draw: Draw) -> bool:
    gpu = draw.choice([gpu for gpu in root if len(list(gpu.iter("step")))])
    block = draw.choice([block for block in gpu if len(block)])
    gone = draw.randrange(len(block))
    block.remove(block[gone])
    for number, step in enumerate(block):
        step.set("s", str(number))
    for step in gpu.iter("step"):
        if step.get("depid") == block.get("id"):
            target = int(step.get("deps", 0))
            if target == gone:
                step.set("depid", "-1")
                step.set("deps", "-1")
            elif target > gone:
                step.set("deps", str(target - 1))
    return True


def _channel(root: Element, draw: Draw) -> bool:
    blocks = [b for b in root.iter("tb") if b.get("send") != "-1" or b.get("recv") != "-1"]
    block = draw.choice(blocks)
    count = int(root.get("nchannels", 1))
    root.set("nchannels", str(count + 1))
    others = [str(c) for c in range(count + 1) if str(c) != block.get("chan")]
    block.set("chan", draw.choice(others))
    return True


def _offset(root: Element, draw: Draw) -> bool:
    step = _step(root, draw, "s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re")
    if step is None:
        return False
    side = draw.choice(["srcoff", "dstoff"])
    step.set(side, str(int(step.get(side, 0)) + draw.choice([-1, 1])))
    return True


def _peer(root: Element, draw: Draw) -> bool:
    side = draw.choice(["send", "recv"])
    block = draw.choice(list(root.iter("tb")))
    peers = [str(p) for p in range(-1, int(root.get("ngpus", 0))) if str(p) != block.get(side)]
    block.set(side, draw.choice(peers))
    return True


def _dependency(root: Element, draw: Draw) -> bool:
    steps = [step for step in root.iter("step") if step.get("depid") != "-1"]
    if not steps:
        return False
    step = draw.choice(steps)
    step.set("depid", "-1")
    step.set("deps", "-1")
    return True


def _swap(root: Element, draw: Draw) -> bool:
    blocks = [block for block in root.iter("tb") if len(block) > 1]
    if not blocks:
        return False
    block = draw.choice(blocks)
    at = draw.randrange(len(block) - 1)
    first, second = block[at], block[at + 1]
    block[at], block[at + 1] = second, first
    for number, step in enumerate(block):
        step.set("s", str(number))
    return True


def _count(root: Element, draw: Draw) -> bool:
    step = _step(root, draw, "s", "r", "rrc", "cpy", "re")
    if step is None:
        return False
    step.set("cnt", str(int(step.get("cnt", 1)) + 1))
    return True


def _kind(root: Element, draw: Draw) -> bool:
    step = _step(root, draw, "rrc", "r", "re", "cpy")
    if step is None:
        return False
    step.set("type", {"rrc": "r", "r": "rrc", "re": "cpy", "cpy": "re"}[step.get("type", "")])
    return True


def _buffer(root: Element, draw: Draw) -> bool:
    step = _step(root, draw)
    if step is None:
        return False
    side = draw.choice(["srcbuf", "dstbuf"])
    step.set(side, draw.choice([b for b in "ios" if b != step.get(side)]))
    return True


MISTAKES: dict[str, Callable[[Element, Draw], bool]] = {
    "drop a step": _drop,
    "another channel": _channel,
    "another offset": _offset,
    "another peer": _peer,
    "no dependency": _dependency,
    "another order": _swap,
    "another count": _count,
    "another kind": _kind,
    "another buffer": _buffer,
}
