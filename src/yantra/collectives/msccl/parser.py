"""Reads an MSCCL program from XML, strictly: what MSCCL's runtime would guess is an error here.

Document types are refused, so no entities are expanded and no other file is read. Source:
msccl-tools' grammar and the checks of MSCCL's loader.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NoReturn, cast

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.regular import open_regular
from yantra.collectives.msccl.program import (
    BUFFERS,
    KINDS,
    READS_SOURCE,
    RECEIVES,
    SENDS,
    WRITES,
    Buffer,
    Dependency,
    Gpu,
    Place,
    Program,
    Step,
    StepKind,
    ThreadBlock,
)

_MOST = 2**31 - 1
_LONGEST = 1 << 28  # bytes; the field's largest programs have some 10 MB
_CHILD = {"": "algo", "algo": "gpu", "gpu": "tb", "tb": "step", "step": ""}
_ATTRIBUTES: dict[str, tuple[frozenset[str], frozenset[str]]] = {  # needed, allowed
    "algo": (
        frozenset({"name", "ngpus", "coll", "inplace"}),
        frozenset({"proto", "nchannels", "nchunksperloop", "outofplace", "minBytes", "maxBytes"}),
    ),
    "gpu": (frozenset({"id", "i_chunks", "o_chunks", "s_chunks"}), frozenset()),
    "tb": (frozenset({"id", "send", "recv", "chan"}), frozenset()),
    "step": (
        frozenset(
            {
                *("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff"),
                *("cnt", "depid", "deps", "hasdep"),
            }
        ),
        frozenset(),
    ),
}


def read_program(path: str | os.PathLike[str]) -> Program:
    """Read the program in the file at `path`. Raises ConfigError naming file and line."""
    where = os.fspath(path)
    try:
        with open_regular(path) as file:
            data = file.read(_LONGEST + 1)
    except OSError as error:
        raise ConfigError(where, f"cannot be read: {error.strerror}") from None
    if len(data) > _LONGEST:
        raise ConfigError(where, f"is longer than {_LONGEST} bytes; expected an MSCCL program")
    return parse_program(data, where)


def parse_program(data: bytes, where: str = "program") -> Program:
    root = _Elements(where).parse(data)
    gpus = _gpus(root)
    _check_blocks(where, gpus)
    in_place, channels = root.flag("inplace"), root.number("nchannels", 1, default=0)
    out_of_place = root.flag("outofplace", default=not in_place)
    if not (in_place or out_of_place):
        root.fail("inplace and outofplace are both 0; a program serves at least one kind of call")
    used = 1 + max((b.channel for gpu in gpus for b in gpu.blocks if _connected(b)), default=0)
    if channels and used > channels:
        root.fail(f"nchannels is {channels}, but channel {used - 1} is used")
    for name in ("nchunksperloop", "minBytes", "maxBytes"):
        root.number(name, 0, 2**63 - 1, default=0)
    return Program(
        where,
        data.decode("utf-8", "replace"),
        root.attributes["name"],
        root.attributes["coll"],
        in_place,
        out_of_place,
        channels or used,
        gpus,
    )


class _Element:
    __slots__ = ("attributes", "children", "line", "name", "where")

    def __init__(self, where: str, line: int, name: str, attributes: dict[str, str]) -> None:
        self.where = where
        self.line = line
        self.name = name
        self.attributes = attributes
        self.children: list[_Element] = []

    def fail(self, problem: str) -> NoReturn:
        raise ConfigError(f"{self.where}:{self.line}", problem)

    def number(
        self, name: str, lowest: int, highest: int = _MOST, default: int | None = None
    ) -> int:
        text = self.attributes.get(name)
        if text is None and default is not None:
            return default
        value = _whole(text or "")
        if value is None or not lowest <= value <= highest:
            expected = f"a whole number from {lowest} to {highest}"
            self.fail(f"attribute {name} of <{self.name}>: {expected_got(expected, text)}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.number(name, 0, 1, default=int(default)))

    def word(self, name: str, known: Mapping[str, str]) -> str:
        text = self.attributes[name]
        if text not in known:
            listed = ", ".join(f"{key} ({meaning})" for key, meaning in known.items())
            problem = expected_got(f"one of {listed}", text)
            self.fail(f"attribute {name} of <{self.name}>: {problem}{did_you_mean(text, known)}")
        return text


class _Elements:
    def __init__(self, where: str) -> None:
        self.where = where
        self.open: list[_Element] = []
        self.root: _Element | None = None

    def parse(self, data: bytes) -> _Element:
        from xml.parsers import expat

        parser = self.parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _: self.open.pop() and None
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, str(error))
            problem = f"this is not well-formed XML: {reason}{_hint(reason)}"
            raise ConfigError(f"{self.where}:{error.lineno}", problem) from None
        except (ValueError, LookupError) as error:  # an encoding Python cannot give to expat
            raise ConfigError(f"{self.where}:1", f"this cannot be read as XML: {error}") from None
        if self.root is None:
            raise ConfigError(self.where, "there is no <algo> element")
        return self.root

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        parent = self.open[-1].name if self.open else ""
        element = _Element(self.where, self.parser.CurrentLineNumber, name, attributes)
        expected = _CHILD[parent]
        if name != expected:
            inside = f" in <{parent}>" if parent else ""
            element.fail(
                f"expected <{expected}>{inside}, got <{name}>"
                if expected
                else f"expected nothing{inside}, got <{name}>"
            )
        needed, allowed = _ATTRIBUTES[name]
        for key in sorted(needed - attributes.keys()):
            element.fail(f"<{name}> lacks the attribute {key}")
        for key in attributes.keys() - needed - allowed:
            hint = did_you_mean(key, sorted(needed | allowed))
            element.fail(f"<{name}> has no attribute {key}{hint}")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _text(self, text: str) -> None:
        if text.strip():
            line = self.parser.CurrentLineNumber
            problem = f"{expected_got('only elements', text.strip())} as text"
            raise ConfigError(f"{self.where}:{line}", problem)

    def _doctype(self, name: str, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        problem = f"a document type ({name}) is not read; take the <!DOCTYPE> out of the file"
        raise ConfigError(f"{self.where}:{line}", problem)


def _hint(reason: str) -> str:
    return "; a file holds one <algo>" if reason.startswith("junk after") else ""


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        return None
    return int(text)


def _gpus(root: _Element) -> tuple[Gpu, ...]:
    count = root.number("ngpus", 1)
    if len(root.children) != count:
        root.fail(f"ngpus is {count}, but there are {len(root.children)} <gpu> elements")
    gpus = tuple(_gpu(element, count) for element in root.children)
    _distinct(root.children, "gpu")
    return gpus


def _gpu(element: _Element, gpus: int) -> Gpu:
    id = element.number("id", 0, gpus - 1)
    chunks = [element.number(f"{buffer}_chunks", 0) for buffer in BUFFERS]
    _distinct(element.children, "tb")
    blocks = tuple(_block(child, id, gpus) for child in element.children)
    return Gpu(element.line, id, chunks[0], chunks[1], chunks[2], blocks)


def _distinct(elements: Iterable[_Element], name: str) -> None:
    lines: dict[int, int] = {}
    for element in elements:
        id = element.number("id", 0)
        if id in lines:
            element.fail(f"<{name}> {id} is on line {lines[id]} already")
        lines[id] = element.line


def _block(element: _Element, gpu: int, gpus: int) -> ThreadBlock:
    peers = [element.number(name, -1, gpus - 1) for name in ("send", "recv")]
    for name, peer in zip(("send", "recv"), peers, strict=True):
        if peer == gpu:
            element.fail(f"attribute {name} of <tb> is {peer}, the GPU itself")
    send, receive = (None if peer < 0 else peer for peer in peers)
    block = ThreadBlock(
        element.line,
        element.number("id", 0),
        send,
        receive,
        element.number("chan", -1 if send is None and receive is None else 0),
        tuple(_step(child, number) for number, child in enumerate(element.children)),
    )
    for step in block.steps:
        if step.kind in SENDS and send is None:
            _fail(element.where, step, f"type {step.kind} sends, but the thread block's send is -1")
        if step.kind in RECEIVES and receive is None:
            problem = f"type {step.kind} receives, but the thread block's recv is -1"
            _fail(element.where, step, problem)
    return block


def _step(element: _Element, number: int) -> Step:
    given = element.number("s", 0)
    if given != number:
        element.fail(f"attribute s of <step>: {expected_got(str(number), given)}")
    kind = cast(StepKind, element.word("type", KINDS))
    places = [
        Place(cast(Buffer, element.word(f"{side}buf", BUFFERS)), element.number(f"{side}off", -1))
        for side in ("src", "dst")
    ]
    if (kind in READS_SOURCE and places[0].offset < 0) or (kind in WRITES and places[1].offset < 0):
        side = "srcoff" if places[0].offset < 0 and kind in READS_SOURCE else "dstoff"
        element.fail(f"attribute {side} of <step> is -1, but type {kind} uses it")
    block, step = element.number("depid", -1), element.number("deps", -1)
    if (block < 0) != (step < 0):
        element.fail(f"depid is {block} and deps is {step}; expected both or neither to be -1")
    return Step(
        element.line,
        number,
        kind,
        places[0],
        places[1],
        element.number("cnt", 0 if kind == "nop" else 1),
        None if block < 0 else Dependency(block, step),
        element.flag("hasdep"),
    )


def _connected(block: ThreadBlock) -> bool:
    return block.send is not None or block.receive is not None


def _check_blocks(where: str, gpus: tuple[Gpu, ...]) -> None:
    for gpu in gpus:
        blocks = {block.id: block for block in gpu.blocks}
        taken: dict[tuple[str, int, int], ThreadBlock] = {}
        for block in gpu.blocks:
            _check_connections(where, block, taken)
            for step in block.steps:
                if step.dependency is not None:
                    _check_dependency(where, block, step, step.dependency, blocks)


def _check_connections(
    where: str, block: ThreadBlock, taken: dict[tuple[str, int, int], ThreadBlock]
) -> None:
    for way, peer in (("send to", block.send), ("receive from", block.receive)):
        if peer is None:
            continue
        other = taken.setdefault((way, peer, block.channel), block)
        if other is not block:
            raise ConfigError(
                f"{where}:{block.line}",
                f"thread blocks {other.id} and {block.id} both {way} GPU {peer} on channel "
                f"{block.channel}; which message is whose would be chance",
            )


def _check_dependency(
    where: str,
    block: ThreadBlock,
    step: Step,
    dependency: Dependency,
    blocks: dict[int, ThreadBlock],
) -> None:
    id, number = dependency
    if id not in blocks or number >= len(blocks[id].steps):
        _fail(where, step, f"depends on step {number} of thread block {id}, which does not exist")
    needed = blocks[id].steps[number]
    if not needed.signals:
        _fail(
            where,
            step,
            f"depends on step {number} of thread block {id} (line {needed.line}), whose hasdep is "
            f"0: MSCCL would not signal it",
        )
    if id == block.id and number >= step.number:
        _fail(where, step, f"depends on step {number} of its own thread block, which comes later")


def _fail(where: str, step: Step, problem: str) -> NoReturn:
    raise ConfigError(f"{where}:{step.line}", problem)
